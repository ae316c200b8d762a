import OpenSSL
import Testing

@Suite("Values of limits", .timeLimit(.minutes(10)))
struct LimitValueTests {
    @Test("The limits of messages, names and paths have their documented values")
    func values() {
        #expect(CMSLimits.structure == 4_194_304)
        #expect(CMSLimits.nesting == 32)
        #expect(CMSLimits.signers == 64)
        #expect(CMSLimits.heldRecipients == 8)
        #expect(CMSLimits.ungrantedRecipients == 64)
        #expect(CMSLimits.secretRecipients == 64)
        #expect(CMSLimits.entriesOfRecipient == 16)
        #expect(CMSLimits.tag == 12)
        #expect(CMSSignature.securityLevel == 2)
        #expect(CertificateVerifier.mostLinks == 32)
        #expect(CertificateVerifier.mostNameComparisons == 262_144)
        #expect(DistinguishedName.largestTextLength == 1_024)
        #expect(DistinguishedName.longestOneLineText == 65_536)
        #expect(DistinguishedName.largestShownAttributeCount == 64)
        #expect(DistributionPoint.mostNames == 64)
        #expect(EncodedRevocationList.mostEntryIssuers == 16)
        #expect(EncodedRevocationList.mostEqualSerialNumbers == 256)
        #expect(Certificate.mostAccessLocations == 64)
    }
}
