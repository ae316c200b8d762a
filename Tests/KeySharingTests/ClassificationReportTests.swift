import Testing

@testable import KeySharing

@Suite("ClassificationReport", .timeLimit(.minutes(10)))
struct ClassificationReportTests {
    @Test(
        "A classification report warns if the mechanisms differ, and about common mistakes of integrators",
        arguments: [
            (
                CertificateFacts(keyUsage: nil),
                [ClassificationReport.Warning.mechanismsDiffer, .noKeyUsage, .unknownType]
            ),
            (CertificateFacts(keyUsage: .keyAgreement, isEllipticCurve: true), [.ellipticKeyAgreement]),
            (CertificateFacts(keyUsage: .keyAgreement), [.unknownType]),
            (CertificateFacts(keyUsage: [.keyAgreement, .keyEncipherment], isEllipticCurve: true), []),
            (
                CertificateFacts(keyUsage: .digitalSignature, hasRFC822Name: true, hasUTF8OtherName: true),
                [.emailNameInAuthentication]
            ),
            (CertificateFacts(keyUsage: .digitalSignature), [.mechanismsDiffer]),
            (CertificateFacts(keyUsage: [.digitalSignature, .keyEncipherment]), [.mechanismsDiffer]),
            (CertificateFacts(keyUsage: [.digitalSignature, .nonRepudiation]), []),
            (CertificateFacts(keyUsage: .keyEncipherment), []),
        ])
    func warnings(facts: CertificateFacts, expected: [ClassificationReport.Warning]) {
        #expect(ClassificationReport(facts).warnings == expected)
    }
}
