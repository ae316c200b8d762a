import CertificateReading
import Foundation
import KeySharing
import OpenSSL
import Testing

@Suite("CertificateFinding", .timeLimit(.minutes(10)))
struct CertificateFindingTests {
    private static let fascn = ["9700", "0001", "123456", "0", "1", "5557779001", "1", "9700", "2"]

    private static func number(person: String) -> FASCN? {
        var fields = fascn
        fields[5] = person
        return FASCN(fields: fields)
    }

    private static let good: [GeneralName] =
        [.userPrincipalName("5557779001197002@mil"), .uniformResourceIdentifier("urn:uuid:\(UUID())")]
        + (number(person: "5557779001").map { [.fascn($0)] } ?? [])

    private func findings(
        _ names: [GeneralName], commonName: String = "DOE.JANE.Q.5557779001", serial: [UInt8] = [4, 0x8F],
        isNegative: Bool = false, extensions: [CertificateExtension] = []
    ) throws -> [CertificateFinding.Code] {
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", commonName)]), serialNumber: serial,
            notBefore: Date(timeIntervalSince1970: 1_700_000_000),
            notAfter: Date(timeIntervalSince1970: 1_800_000_000))
        template.isSerialNegative = isNegative
        template.subjectAlternativeNames = names
        template.extensions = extensions
        let issuer = try CertificateIssuer(selfSigned: template, privateKey: .generate(.p256))
        return CertificateFinding.all(in: issuer.certificate).map(\.code)
    }

    @Test("A certificate whose names all identify the same person has no findings")
    func consistent() throws {
        #expect(try findings(Self.good) == [])
    }

    @Test("A FASC-N that identifies a different person than the common name is reported")
    func foreignNumber() throws {
        let other = try #require(Self.number(person: "5557779002"))
        #expect(try findings([.fascn(other)]) == [.foreignFASCN])
        #expect(try findings([.fascn(other)], commonName: "device.example") == [])
    }

    @Test(
        "A principal name that does not match the FASC-N is reported, regardless of the common name",
        arguments: [
            ("5557779001@mil", nil), ("5557779001197002@mil", nil),
            ("5557779002@mil", .foreignPrincipalName), ("5557779001121005@mil", .foreignAffiliation),
        ] as [(String, CertificateFinding.Code?)])
    func pairs(name: String, code: CertificateFinding.Code?) throws {
        let number = try #require(Self.number(person: "5557779001"))
        let names = [GeneralName.fascn(number), .userPrincipalName(name)]
        for commonName in ["device.example", "DOE.JANE.Q.5557779001"] {
            #expect(try findings(names, commonName: commonName) == (code.map { [$0] } ?? []))
        }
    }

    @Test("An affiliation is compared only with the FASC-N of the same person")
    func affiliationOfAnother() throws {
        let other = try #require(Self.number(person: "5557779002"))
        #expect(
            try findings([.fascn(other), .userPrincipalName("5557779001121005@mil")]) == [.foreignFASCN])
    }

    @Test("A principal name or a FASC-N of the wrong ASN.1 type is reported")
    func wrongTypes() throws {
        let swapped: [GeneralName] = [
            .otherName(type: GeneralName.userPrincipalNameType, value: .octetString([1])),
            .otherName(type: GeneralName.fascnType, value: .utf8String("9700")),
        ]
        #expect(try findings(swapped) == [.malformedPrincipalName, .damagedFASCN])
    }

    @Test("A FASC-N with an invalid check character is reported")
    func damagedNumber() throws {
        var octets = try #require(Self.number(person: "5557779001")).octets
        octets[24] ^= 2
        let name = GeneralName.otherName(type: GeneralName.fascnType, value: .octetString(octets))
        #expect(try findings([name]) == [.damagedFASCN])
    }

    @Test(
        "A principal name with digits is reported only if they are another person's number",
        arguments: [
            ("5557779001@mil", false), ("5557779002@mil", true), ("5557779002197002@mil", true),
            ("jane.doe@mail.example", false), ("12345@mil", false),
            // As long as a person's number, and as a number with an affiliation.
            ("jane.smith@mail.example", false), ("jane.smith-baker@mail.example", false), ("", false),
        ])
    func principalNames(name: String, isOdd: Bool) throws {
        #expect(try findings([.userPrincipalName(name)]) == (isOdd ? [.foreignPrincipalName] : []))
    }

    @Test("A security identifier is reported if it is malformed or if a URI names another account")
    func securityIdentifiers() throws {
        let account = try #require(SecurityIdentifier("S-1-5-21-1-2-3-1001"))
        let own = try account.certificateExtension()
        let damaged = CertificateExtension(oid: own.oid, value: [0x30, 0])
        #expect(try findings([], extensions: [own]) == [])
        #expect(try findings([], extensions: [damaged]) == [.damagedSecurityIdentifier])
        for (text, expected) in [
            ("\(account)", []), ("\(account)0", [.foreignSecurityIdentifier]),
        ] as [(String, [CertificateFinding.Code])] {
            let name = GeneralName.uniformResourceIdentifier(SecurityIdentifier.uriPrefix + text)
            #expect(try findings([name], extensions: [own]) == expected)
        }
        // A URI that is not an account.
        let home = GeneralName.uniformResourceIdentifier("https://person.example/\(account)0")
        #expect(try findings([home], extensions: [own]) == [])
    }

    @Test("A urn:uuid URI without a UUID is reported")
    func malformedUUID() throws {
        for scheme in ["urn:uuid:", "URN:UUID:"] {
            #expect(try findings([.uniformResourceIdentifier(scheme + "1234")]) == [.malformedUUID])
            #expect(try findings([.uniformResourceIdentifier(scheme + UUID().uuidString)]) == [])
        }
        #expect(try findings([.uniformResourceIdentifier("https://example.com")]) == [])
    }

    @Test(
        "A serial number that RFC 5280 forbids is reported",
        arguments: [
            ([0], false, .serialNotPositive), ([1], true, .serialNotPositive), ([1], false, nil),
            ([UInt8](repeating: 1, count: 20), false, nil),
            ([UInt8](repeating: 1, count: 21), false, .serialTooLong),
            ([UInt8](repeating: 0xFF, count: 20), false, .serialTooLong),
        ] as [([UInt8], Bool, CertificateFinding.Code?)])
    func serialNumbers(serial: [UInt8], isNegative: Bool, code: CertificateFinding.Code?) throws {
        #expect(try findings([], serial: serial, isNegative: isNegative) == (code.map { [$0] } ?? []))
    }
}
