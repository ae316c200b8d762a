import CertificateReading
import Foundation
import KeySharing
import OpenSSL
import Testing

/// Generates the certificates of the vectors and classifies them.
@Suite("Alias types of certificates", .timeLimit(.minutes(10)))
struct AliasVectorTests {
    /// Key usage (`none`: no extension, `empty`: no bit), names in order, alias type, rule, types of legacy and 2025,
    /// and warnings. `upn:n` is a principal name, and `on:n` another otherName, whose otherName has n bytes.
    /// The keys are elliptic-curve keys. W1 to W4 are like the certificates of the sample provider.
    private static let table = """
        V1  | ds    | upn:38 fasc uri  | PIV Authentication | long-other-name      | authentication/authentication |
        V2  | ds    | upn:32           | Identity           | short-other-name     | authentication/authentication | piv
        V3  | ds    | fasc upn:32      | PIV Authentication | long-other-name      | authentication/authentication | order
        V4  | ds    | fasc             | PIV Authentication | long-other-name      | authentication/device         |
        V5  | ds    | upn:32 fasc      | Identity           | short-other-name     | authentication/authentication | order piv
        V6  | ds    | uri upn:38       | PIV Authentication | long-other-name      | authentication/authentication |
        V7  | ds    | upn:33           | PIV Authentication | long-other-name      | authentication/authentication |
        V8  | ds    | upn:35           | PIV Authentication | long-other-name      | authentication/authentication |
        V9  | ds    | no-names         | Other              | no-deciding-name     | authentication/device         | device
        V10 | ds    |                  | Other              | no-deciding-name     | authentication/device         | device
        V11 | ds nr | email upn:32     | Digital Signature  | email-name-first     | signature/signature           |
        V12 | ds nr | upn:32 email     | Identity           | short-other-name     | signature/signature           | order piv
        V13 | ds nr | upn:38 email     | PIV Authentication | long-other-name      | signature/signature           | order
        V14 | ds nr |                  | Other              | no-deciding-name     | signature/signature           |
        V15 | ds    | email            | Digital Signature  | email-name-first     | signature/signature           |
        V16 | nr    | email            | Digital Signature  | email-name-first     | unknown/unknown               |
        V17 | ke    | email            | Encryption         | enciphers            | encryption/encryption         |
        V18 | ds ke |                  | Device             | signs-and-enciphers  | multi/device                  |
        V19 | ka    | email            | Digital Signature  | email-name-first     | encryption/encryption         | ka
        V20 | ds ka | email            | Digital Signature  | email-name-first     | multi/device                  | ka
        V21 | de    | email            | Digital Signature  | email-name-first     | unknown/unknown               |
        V22 | none  |                  | Other              | no-deciding-name     | device/unknown                | device
        V23 | none  | email            | Digital Signature  | email-name-first     | device/unknown                |
        V24 | none  | upn:32           | Identity           | short-other-name     | device/unknown                | piv
        V25 | empty | email            | Digital Signature  | email-name-first     | device/unknown                |
        V26 | empty |                  | Other              | no-deciding-name     | device/unknown                | device
        V27 | cs    |                  | Other              | no-deciding-name     | unknown/unknown               |
        V28 | ds    | dns ip dir rid uri | Other            | no-deciding-name     | authentication/device         | device
        V29 | ds    | on:32            | Identity           | short-other-name     | authentication/authentication | piv
        V30 | ds    | on:33            | PIV Authentication | long-other-name      | authentication/authentication |
        V31 | ds    | truncated        | Other              | no-deciding-name     | authentication/device         | device
        W1  | ds nr | email upn:32     | Digital Signature  | email-name-first     | signature/signature           |
        W2  | ke    | email            | Encryption         | enciphers            | encryption/encryption         |
        W3  | ds    | upn:32           | Identity           | short-other-name     | authentication/authentication | piv
        W4  | none  |                  | Other              | no-deciding-name     | device/unknown                | device
        """

    private static let warnings: [String: AliasClassification.Warning] = [
        "order": .nameOrder, "piv": .identityInsteadOfPIV, "device": .otherInsteadOfDevice,
        "ka": .keyAgreementIgnored,
    ]

    private static let usages: [String: KeyUsage] = [
        "ds": .digitalSignature, "nr": .nonRepudiation, "ke": .keyEncipherment, "de": .dataEncipherment,
        "ka": .keyAgreement, "cs": .keyCertSign, "empty": [],
    ]

    /// Returns an alternative name, or nil for the marks of extensions that are written as octets.
    private static func name(_ mark: String) throws -> GeneralName {
        let parts = mark.split(separator: ":")
        let length = parts.count == 2 ? Int(parts[1]) ?? 0 : 0
        switch parts[0] {
        case "upn":
            // The encoding has 18 bytes in addition to the characters.
            let names = [
                14: "1234567890@mil", 15: "12345678901@mil", 17: "dana@mail.example",
                20: "1234567890117004@mil",
            ]
            return .userPrincipalName(try #require(names[length - 18]))
        case "on":
            // 11 bytes and the characters: the tags and lengths, and the three octets of 1.2.3.4.
            return .otherName(
                type: "1.2.3.4", value: .utf8String(String(repeating: "x", count: length - 11)))
        case "fasc": return .otherName(type: GeneralName.fascnType, value: .octetString(Array(1...25)))
        case "email": return .rfc822Name("dana@mail.example")
        case "uri": return .uniformResourceIdentifier("urn:uuid:00000000-0000-0000-0000-000000000000")
        case "dns": return .dNSName("device.example")
        case "ip": return .iPAddress([192, 0, 2, 1])
        case "rid": return .registeredID("1.2.3.4")
        default: return .directoryName(try DistinguishedName([.init("CN", "DOE.JANE.Q.5557779001")]))
        }
    }

    private func certificate(
        usage: KeyUsage?, names: [GeneralName], nameExtension: [UInt8]? = nil
    ) throws -> Certificate {
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", "DOE.JANE.Q.5557779001")]), serialNumber: [4, 0x8F],
            notBefore: Date(timeIntervalSince1970: 1_700_000_000),
            notAfter: Date(timeIntervalSince1970: 1_800_000_000))
        template.keyUsage = usage
        template.subjectAlternativeNames = names
        if let nameExtension {
            template.extensions = [CertificateExtension(oid: "2.5.29.17", value: nameExtension)]
        }
        return try CertificateIssuer(selfSigned: template, privateKey: .generate(.p256)).certificate
    }

    @Test(
        "Vectors V1 to V31, and certificates like the sample provider's, have the documented types and warnings"
    )
    func vectors() throws {
        let extensions: [String: [UInt8]] = [
            "no-names": [0x30, 0], "truncated": [0x30, 19, 0x81, 17, 0x61, 0x62],
        ]
        var count = 0
        for line in Self.table.split(separator: "\n") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            let usages = try cells[1].split(separator: " ").filter { $0 != "none" }
                .map { try #require(Self.usages[String($0)]) }
            let nameExtension = extensions[cells[2]]
            let certificate = try certificate(
                usage: usages.isEmpty ? nil : usages.reduce([]) { $0.union($1) },
                names: nameExtension == nil
                    ? try cells[2].split(separator: " ").map { try Self.name(String($0)) } : [],
                nameExtension: nameExtension)
            let alias = AliasClassification(certificate)
            #expect(alias.type.rawValue == cells[3], "\(line)")
            #expect(alias.rule.rawValue == cells[4], "\(line)")
            let warnings = try cells[6].split(separator: " ").map { try #require(Self.warnings[String($0)]) }
            #expect(alias.warnings == warnings, "\(line)")
            let facts = CertificateFacts(certificate)
            #expect(AliasClassification(facts) == alias)
            let types = [Mechanism.legacy, .keySharing2025].map {
                Classification(facts, under: $0).type.rawValue
            }
            #expect(types.joined(separator: "/") == cells[5], "\(line)")
            count += 1
        }
        #expect(count == 35)
    }

    @Test("The length of an otherName is that of its whole encoding, and names keep their order")
    func lengths() throws {
        let principal = { GeneralName.userPrincipalName(String(repeating: "x", count: $0)) }
        let certificate = try certificate(
            usage: nil,
            names: [
                .dNSName("device.example"), principal(14), .rfc822Name("a@b.example"),
                .otherName(type: GeneralName.fascnType, value: .octetString(Array(1...25))), principal(111),
                principal(112),
            ])
        // From 112 characters, the lengths of the outer elements need a second octet.
        #expect(
            CertificateFacts(certificate).alternativeNames == [
                .other, .otherName(encodedLength: 32), .rfc822, .otherName(encodedLength: 41),
                .otherName(encodedLength: 129), .otherName(encodedLength: 131),
            ])
    }

    @Test("An e-mail name with NUL or a byte above 127 is omitted, as Android's parser does")
    func prunedNames() throws {
        for byte: UInt8 in [0, 0x80, 0xFF] {
            let email: [UInt8] = [0x81, 3, 0x61, byte, 0x62]
            let principal: [UInt8] = [
                0xA0, 13, 0x06, 3, 0x2A, 3, 4, 0xA0, 6, 0x0C, 4, 0x61, 0x62, 0x63, 0x64,
            ]
            let certificate = try certificate(
                usage: nil, names: [],
                nameExtension: [0x30, UInt8(email.count + principal.count)] + email + principal)
            #expect(CertificateFacts(certificate).alternativeNames == [.otherName(encodedLength: 15)])
        }
    }

    @Test("An extension with a name that cannot be decoded contains no names")
    func undecodableNames() throws {
        // An e-mail name, and a name with the tag [9], which does not exist.
        let certificate = try certificate(
            usage: nil, names: [], nameExtension: [0x30, 8, 0x81, 3, 0x61, 0x40, 0x62, 0x89, 1, 0x78])
        #expect(certificate.subjectAlternativeNames.isEmpty)
        #expect(CertificateFacts(certificate).alternativeNames == [])
    }

    @Test("A summary of an identity does not contain the order of the names, which no list carries")
    func summaries() throws {
        let certificate = try certificate(usage: nil, names: [.rfc822Name("a@b.example")])
        #expect(IdentitySummary(certificate).facts.alternativeNames == nil)
        #expect(CertificateFacts(certificate).alternativeNames == [.rfc822])
    }
}
