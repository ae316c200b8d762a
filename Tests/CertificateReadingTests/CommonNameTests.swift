import CertificateReading
import Testing

@Suite("CommonName", .timeLimit(.minutes(10)))
struct CommonNameTests {
    @Test(
        "The EDIPI of a common name is the ten digits after its last dot",
        arguments: [
            ("DOE.JANE.Q.5557779001", "5557779001"), ("DOE.JANE.0123456789", "0123456789"),
            ("5557779001", "5557779001"), ("DOE.JANE.Q", nil), ("DOE.JANE.Q.555777900", nil),
            ("DOE.JANE.Q.55577790011", nil), ("DOE.JANE.Q.555777900X", nil), ("DOE JANE 5557779001", nil),
            // Digits of another script, ten bytes in UTF-8.
            ("DOE.\u{0661}\u{0662}\u{0663}\u{0664}\u{0665}", nil), ("", nil),
        ] as [(String, String?)])
    func edipi(name: String, expected: String?) {
        #expect(CommonName(name).edipi == expected)
    }
}
