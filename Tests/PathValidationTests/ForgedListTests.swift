import OpenSSL
import PathValidation
import Testing

@Suite("Forged lists without an authentic list of the issuer", .timeLimit(.minutes(10)))
struct ForgedListTests: RevocationListSuite {
    let root: TestAuthority
    let leaf: Certificate
    private let authority: TestAuthority

    init() throws {
        root = try TestAuthority.root("Root")
        authority = try root.authority("Authority", serial: [3])
        leaf = try authority.leaf()
    }

    /// Lists with the name of an authority that another key signed: with and without the key identifier, and with an
    /// entry without a date.
    private static func forged(_ name: String) throws -> [EncodedRevocationList] {
        let forger = try TestAuthority.root(name)
        let unusable = ListForm(rest: ListForm.rest(entries: [DERText.sequence([0x02, 0x01, 0x08])]))
        return try [
            forger.list(), EncodedRevocationList(der: ListForm().der(by: forger)),
            EncodedRevocationList(der: unusable.der(by: forger)),
        ]
    }

    @Test("A forged list of an authority's issuer does not make the certificate below the authority fail")
    func issuerOfAuthority() throws {
        for forged in try Self.forged("Root") {
            #expect(outcomes([try authority.list(), forged], untrusted: [authority]) == [.passed])
            let revoking = try authority.list([TestAuthority.entry([9])])
            #expect(outcomes([revoking, forged], untrusted: [authority]) == [.failed])
            let trial = Trial(
                trusted: [root.certificate], untrusted: [authority.certificate], lists: [forged],
                responses: [
                    try StatusResponse(
                        der: authority.issuer.statusResponse(
                            to: OCSPRequest(for: leaf, issuedBy: authority.certificate),
                            thisUpdate: TestAuthority.start, nextUpdate: TestAuthority.end
                        ) { _ in .good })
                ])
            #expect(trial.validate(leaf).verification.check(.revocation).outcome == .passed)
        }
    }

    @Test("A forged list of the certificate's issuer settles nothing")
    func issuerOfCertificate() throws {
        let all = try Self.forged("Authority")
        for forged in all {
            #expect(outcomes([forged], untrusted: [authority]) == [.unsettled])
            #expect(outcomes([try root.list(), forged], untrusted: [authority]) == [.unsettled])
            let revoking = try root.list([TestAuthority.entry([3])])
            #expect(outcomes([revoking, forged], untrusted: [authority]) == [.failed])
        }
        #expect(outcomes(all, untrusted: [authority]) == [.unsettled])
        let trial = Trial(
            trusted: [root.certificate], untrusted: [authority.certificate], lists: [all[0]])
        let explanation = trial.validate(leaf).verification.check(.revocation).explanation
        #expect(
            explanation.hasSuffix("no known certificate of that issuer signed the lists with its name"),
            "\(explanation)")
    }

    @Test(
        "A list of the issuer's new key without a key identifier can only revoke the certificate of the old key"
    )
    func newKey() throws {
        // OpenSSL takes the old key for the signer, and cannot verify the signature.
        let renewed = try root.authority("Authority", serial: [4])
        for (entries, outcome) in [([], Verification.Outcome.unsettled), ([ListForm.entry], .failed)] {
            let form = ListForm(rest: ListForm.rest(entries: entries))
            let lists = [try root.list(), try EncodedRevocationList(der: form.der(by: renewed))]
            #expect(outcomes(lists, untrusted: [authority, renewed]) == [outcome])
        }
    }
}
