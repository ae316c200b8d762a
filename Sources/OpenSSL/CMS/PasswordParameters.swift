internal import Synchronization
internal import SwiftASN1

/// Limits the work of opening one message with all its recipients, layers and parts: the processor time of key derivations
/// for passwords, and the number of failed attempts with private keys. Several threads may use it concurrently.
package final class OpeningWork: Sendable {
    private let limits: PKCS12Limits
    /// The time that is left, in nanoseconds.
    private let left: Mutex<Int>
    private let failedAttempts = Mutex(0)

    /// Creates an unused budget of ``PKCS12Limits/patience``.
    package init(limits: PKCS12Limits = .standard) {
        self.limits = limits
        left = Mutex(limits.patience.nanoseconds)
    }

    /// Counts an attempt to open an encrypted content key, or the content, with a private key that failed.
    ///
    /// - Throws: `CMSError.Code.overLimit` if there were more than ``CMSLimits/failedAttempts``.
    func countFailedAttempt() throws(CMSError) {
        let count = failedAttempts.withLock { count in
            count += 1
            return count
        }
        guard count <= CMSLimits.failedAttempts else {
            throw CMSError(
                .overLimit,
                "refused: more than \(CMSLimits.failedAttempts) attempts to open the message with a private key failed"
            )
        }
    }

    /// Reserves the time for a number of key derivations before the first one begins.
    ///
    /// - Throws: `CMSError.Code.overLimit`.
    func take(_ parameters: PasswordParameters, count: Int) throws(CMSError) {
        try parameters.check(limits)
        let work = parameters.processorTime * count
        let isTaken = left.withLock { left in
            guard work <= left else { return false }
            left -= work
            return true
        }
        guard isTaken else {
            throw CMSError(
                .overLimit,
                "refused: the password of the message requires more than \(limits.patience.secondsText) s of processor time for all recipients"
            )
        }
    }
}

/// The parameters of a recipient with a password (PasswordRecipientInfo, RFC 5652, 6.2.4): PBKDF2 and the cipher that
/// encrypts the content's key (RFC 3211).
package struct PasswordParameters: Sendable, Hashable {
    /// The digest of PBKDF2's HMAC by its usual name, such as `SHA-256`.
    package let digest: String
    /// The iterations of PBKDF2.
    package let iterations: Int
    /// The size of the salt in bytes.
    package let saltLength: Int
    /// The cipher that encrypts the content's key, as a dotted object identifier.
    let cipher: String
    /// OpenSSL's name of the digest.
    private let digestName: String

    /// The ciphers that are supported for the content's key.
    private static let ciphers: Set<String> = [
        OID.aes128CBC, OID.aes192CBC, OID.aes256CBC, OID.tripleDESCBC,
    ]

    /// Reads a PasswordRecipientInfo; nil if its algorithms are not supported. OpenSSL 3.0 offers no access to them.
    fileprivate init?(_ recipient: ASN1Node) {
        let fields = recipient.parts
        // Without the derivation, sender and recipient would have to agree on it in another way.
        guard let encoded = fields.first(where: { $0.identifier == .context(0) }),
            let derived = try? PBES2Derivation(
                encoded, tag: .context(0), limits: .unlimitedWork, at: "the password"),
            case .pbkdf2(let digestName) = derived.derivation,
            let wrapping = fields.first(where: { $0.identifier == .sequence }),
            let algorithm = try? AlgorithmIdentifier(wrapping, at: "the password"),
            algorithm.oid == OID.passwordKeyEncryption, let parameters = algorithm.parameters,
            let cipher = try? AlgorithmIdentifier(parameters, at: "the password").oid,
            Self.ciphers.contains(cipher)
        else { return nil }
        self.digestName = digestName
        self.cipher = cipher
        digest = DigestName.display(digestName)
        iterations = derived.work
        saltLength = derived.salt.count
    }

    /// The estimated processor time of one key derivation, in nanoseconds.
    fileprivate var processorTime: Int {
        DerivationWork.pbkdf2(digest: digestName, iterations: iterations, length: 32)
    }

    /// Checks the work of the key derivation before it begins, as for PKCS #12 (docs/rules.md R7.13).
    ///
    /// - Throws: `CMSError.Code.overLimit`.
    fileprivate func check(_ limits: PKCS12Limits) throws(CMSError) {
        // The first condition also keeps the estimate from overflowing.
        guard iterations <= limits.iterations, .nanoseconds(processorTime) <= limits.patience else {
            throw CMSError(
                .overLimit,
                "refused: the password of the message requires \(iterations) iterations of PBKDF2; the limit is \(limits.iterations) iterations and \(limits.patience) of processor time"
            )
        }
    }
}

extension CMSStructure {
    /// The parameters of each recipient with a password, in order; nil for parameters that are not supported.
    var passwordParameters: [PasswordParameters?] {
        guard kind != .signedData, let root = try? ASN1Node.parse(encoded[...], at: "the message"),
            let enveloped = root.parts.last?.parts.first,
            let recipients = enveloped.parts.first(where: { $0.identifier == .set })
        else { return [] }
        return recipients.parts.filter { $0.identifier == .context(3) }.map(PasswordParameters.init)
    }
}

extension ASN1Node {
    /// The nodes inside; empty for a primitive node.
    fileprivate var parts: [ASN1Node] {
        guard case .constructed(let nodes) = content else { return [] }
        return Array(nodes)
    }
}
