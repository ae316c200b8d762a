import CertificateReading
import Foundation
import KeySharing
import OpenSSL
import Testing

@Suite("IdentitySummary of a certificate")
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

    @Test("The facts of a certificate are its key usage, its kind of key and its kinds of names")
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
        #expect(summary.filename(.keySharing2025) == "signature_048F.p12")
        #expect(summary.notBefore == Date(timeIntervalSince1970: 1_700_000_000))
    }

    @Test("A summary read from its tag equals the one that wrote the tag, for every combination of facts")
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

    @Test("A tag of another version, or one cut short, gives no summary")
    func otherTags() {
        for tag in [[], [1, 0, 0], [2, 0, 0, 0, 0x30]] as [[UInt8]] {
            #expect(IdentitySummary(label: "A1", notBefore: Date(timeIntervalSince1970: 0), tag: tag) == nil)
        }
    }
}
