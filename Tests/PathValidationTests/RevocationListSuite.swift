import OpenSSL
import PathValidation

/// A suite about the revocation lists of one certificate and its issuer.
protocol RevocationListSuite {
    var root: TestAuthority { get }
    /// A certificate that `root` issued.
    var leaf: Certificate { get }
}

extension RevocationListSuite {
    /// The check of revocation with these lists, in this and in the opposite order.
    func outcomes(
        _ lists: [EncodedRevocationList], _ leaf: Certificate? = nil, untrusted: [TestAuthority] = []
    ) -> Set<Verification.Outcome> {
        Set(
            [lists, lists.reversed()].map { lists in
                let trial = Trial(
                    trusted: [root.certificate], untrusted: untrusted.map(\.certificate), lists: lists)
                return trial.validate(leaf ?? self.leaf).verification.check(.revocation).outcome
            })
    }
}
