import CertificateReading
import Foundation
import KeySharing
import OpenSSL
import Testing

@Suite("IdentitySummary of a certificate", .timeLimit(.minutes(10)))
struct IdentitySummaryTests {
    private func certificate(_ key: KeyAlgorithm, _ change: (inout CertificateTemplate) -> Void) throws
        -> Certificate
    {
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", "DOE.JANE.Q.5557779001")]), serialNumber: [4, 0x8F],
            notBefore: Date(timeIntervalSince1970: 1_700_000_000),
            notAfter: Date(timeIntervalSince1970: 1_800_000_000))
        change(&template)
        return try CertificateIssuer(selfSigned: template, privateKey: .generate(key)).certificate
    }

    @Test("The facts of a certificate contain its key usage, its key type and the types of its names")
    func facts() throws {
        let certificate = try certificate(.p256) {
            $0.keyUsage = [.digitalSignature, .nonRepudiation]
            $0.subjectAlternativeNames = [
                .rfc822Name("jane@mail.example"), .userPrincipalName("5557779001@mil"),
                .otherName(type: GeneralName.fascnType, value: .octetString([1])),
            ]
        }
        let summary = IdentitySummary(certificate)
        #expect(
            summary.facts
                == CertificateFacts(
                    keyUsage: [.digitalSignature, .nonRepudiation], isEllipticCurve: true,
                    hasRFC822Name: true,
                    hasUTF8OtherName: true, hasOtherOtherName: true))
        #expect(summary.label == certificate.label)
        #expect(summary.filename(under: .keySharing2025) == "signature_048F.p12")
        #expect(summary.notBefore == Date(timeIntervalSince1970: 1_700_000_000))
    }

    @Test("Encoding and decoding a summary returns the same summary, for every combination of facts")
    func tag() throws {
        for bits in 0..<32 {
            let facts = CertificateFacts(
                keyUsage: bits & 1 == 0 ? nil : [.decipherOnly, .keyAgreement],
                isEllipticCurve: bits & 2 != 0,
                hasRFC822Name: bits & 4 != 0, hasUTF8OtherName: bits & 8 != 0,
                hasOtherOtherName: bits & 16 != 0)
            let summary = IdentitySummary(
                label: "A1", serialNumber: "00048F", notBefore: Date(timeIntervalSince1970: 1), facts: facts)
            #expect(
                IdentitySummary(label: "A1", notBefore: summary.notBefore, tag: summary.tag) == summary)
        }
    }

    @Test("A truncated tag, or a tag of another version, does not decode to a summary")
    func otherTags() throws {
        let whole = IdentitySummary(try certificate(.p256) { _ in }).tag
        let cut = (4..<whole.count).map { Array(whole[..<$0]) }
        for tag in [[], [1, 0, 0], [3, 0, 0, 0, 0x30]] + cut {
            #expect(IdentitySummary(label: "A1", notBefore: Date(timeIntervalSince1970: 0), tag: tag) == nil)
        }
    }

    @Test("The details identify the holder of a certificate by common name, e-mail address and EDIPI")
    func details() throws {
        let certificate = try certificate(.p256) {
            $0.subjectAlternativeNames = [
                .rfc822Name("jane@mail.example"), .rfc822Name("other@mail.example"),
            ]
        }
        let summary = IdentitySummary(certificate)
        #expect(
            summary.details
                == IdentityDetails(
                    subject: "CN=DOE.JANE.Q.5557779001", commonName: "DOE.JANE.Q.5557779001",
                    email: "jane@mail.example", edipi: "5557779001",
                    notAfter: Date(timeIntervalSince1970: 1_800_000_000)))
        #expect(
            IdentitySummary(label: summary.label, notBefore: summary.notBefore, tag: summary.tag) == summary)
        for text in ["doe.jane", "JANE@", "7790"] { #expect(summary.details?.names(person: text) == true) }
        #expect(summary.details?.names(person: "5557779002") == false)
    }

    @Test("The details contain the EDIPI of the FASC-N if the common name has none")
    func numberOfFASCN() throws {
        let number = try #require(
            FASCN(fields: ["9700", "0001", "123456", "0", "1", "5557779003", "1", "9700", "2"]))
        for (commonName, expected) in [("device.example", "5557779003"), ("DOE.5557779001", "5557779001")] {
            let certificate = try certificate(.p256) {
                $0.subject = (try? DistinguishedName([.init("CN", commonName)])) ?? $0.subject
                $0.subjectAlternativeNames = [.fascn(number)]
            }
            #expect(IdentityDetails(certificate).edipi == expected)
        }
    }

    @Test("A tag contains the details up to its longest length, and has at least four bytes")
    func tagLengths() {
        func summary(_ subject: Int) -> IdentitySummary {
            IdentitySummary(
                label: "A1", serialNumber: "048F", notBefore: Date(timeIntervalSince1970: 1),
                facts: CertificateFacts(keyUsage: nil),
                details: IdentityDetails(
                    subject: String(repeating: "x", count: subject), commonName: nil, email: nil, edipi: nil,
                    notAfter: Date(timeIntervalSince1970: 2)))
        }
        // The length of the last text follows 2,047 bytes.
        let most = 2_049 - summary(0).tag.count
        let longest = IdentitySummary(
            label: "A1", notBefore: Date(timeIntervalSince1970: 1), tag: summary(most).tag)
        #expect(summary(most).tag.count == 2_049 && longest?.details?.notAfter.timeIntervalSince1970 == 2)
        #expect(summary(most + 1).tag.count == 8)
        let shortest = IdentitySummary(
            label: "A1", notBefore: Date(timeIntervalSince1970: 1), tag: [1, 0, 0, 0])
        #expect(shortest?.serialNumber.isEmpty == true)
    }

    @Test("A tag omits the certificate's details if the names exceed two kilobytes")
    func hugeNames() {
        let summary = IdentitySummary(
            label: "A1", serialNumber: "048F", notBefore: Date(timeIntervalSince1970: 1),
            facts: CertificateFacts(keyUsage: nil),
            details: IdentityDetails(
                subject: String(repeating: "x", count: 3_000), commonName: nil, email: nil, edipi: nil,
                notAfter: Date(timeIntervalSince1970: 2)))
        let read = IdentitySummary(label: "A1", notBefore: summary.notBefore, tag: summary.tag)
        #expect(read?.serialNumber == "048F")
        #expect(read?.details == nil)
    }
}
