/// Reading and writing PKCS #12 (RFC 7292) files: private keys with their certificates under a password.
///
/// Everything that RFC 7292, RFC 8018 and RFC 9579 describe and this OpenSSL has the primitives for is read,
/// DER or BER; structures are walked here, derivations and ciphers are OpenSSL's. No call holds a core longer
/// than the limits allow, whatever the file asks for.
package enum PKCS12 {
    /// Opens a file.
    ///
    /// Refusals come first, then algorithms that are not there and broken structure, then the password.
    ///
    /// - Parameters:
    ///   - bytes: The whole file.
    ///   - password: The password; nil tries none and then the empty one.
    ///   - limits: How much is looked at and how much work is done.
    ///   - allowNoMAC: Whether a file without a MAC is read; nothing tells then whether it was changed.
    /// - Returns: Everything in the file; whether an identity is among it is for the caller to ask.
    /// - Throws: every code of `PKCS12Error` but `noIdentity` and `keyMismatch`, which the contents tell.
    package static func read(
        _ bytes: [UInt8], password: PKCS12Password?, limits: PKCS12Limits = .standard,
        allowNoMAC: Bool = false
    ) throws(PKCS12Error) -> PKCS12Contents {
        var reader = PKCS12Reader(limits: limits, allowsNoMAC: allowNoMAC)
        try reader.read(bytes, password: password)
        return reader.contents
    }

    /// Looks at a file and tells everything that can be known about it, whether it opens or not. A file
    /// without a MAC is looked at too; its notes say so.
    ///
    /// - Parameters:
    ///   - bytes: The whole file.
    ///   - password: The password; nil tries none and then the empty one.
    ///   - limits: How much is looked at and how much work is done.
    /// - Returns: The verdict and what was found, with a failure what was known before it.
    package static func inspect(
        _ bytes: [UInt8], password: PKCS12Password?, limits: PKCS12Limits = .standard
    ) -> PKCS12Report {
        var reader = PKCS12Reader(limits: limits, allowsNoMAC: true)
        do {
            try reader.read(bytes, password: password)
            return PKCS12Report(contents: reader.contents, error: nil)
        } catch {
            return PKCS12Report(contents: reader.contents, error: error)
        }
    }
}

extension PKCS12Contents {
    /// The identities, of which there must be one at least.
    ///
    /// - Throws: `keyMismatch` where there is none because a certificate is for another key, `malformed` where
    ///   its key is damaged or has a password of its own, `unsupportedAlgorithm` where OpenSSL has no use for it,
    ///   `refused` where loading it would take too much work, else `noIdentity`.
    package func requireIdentities() throws(PKCS12Error) -> [PKCS12Identity] {
        guard identities.isEmpty else { return identities }
        if !mismatchedKeys.isEmpty { throw PKCS12Error(.keyMismatch) }
        if let error = closedKeys.first { throw error }
        if let key = unknownKeys.first {
            if key.isRefused { throw .refused(.keyLoading) }
            throw PKCS12Error(.unsupportedAlgorithm(oid: key.algorithm, name: key.name))
        }
        throw PKCS12Error(.noIdentity)
    }
}

extension PKCS12Contents {
    /// What stands in the way of importing everything: keys that are not their certificate's or stay closed, and
    /// files without any identity; empty where there is nothing.
    package var obstacles: [PKCS12Error] {
        do {
            _ = try requireIdentities()
        } catch {
            return [error]
        }
        return mismatchedKeys.map { _ in PKCS12Error(.keyMismatch) } + closedKeys
    }

    /// The keys that did not open and those that are none. The password is not to blame: it was proved, or
    /// is not asked for.
    private var closedKeys: [PKCS12Error] {
        unreadableKeys.map { .malformed($0.place, expected: "a private key") }
            + lockedKeys.map { .unopened($0.place) }
    }
}
