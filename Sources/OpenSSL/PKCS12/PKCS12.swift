/// PKCS #12 (RFC 7292), the format for a private key with its certificates under a password. Files have the extension
/// `.p12` or `.pfx`.
///
/// A file is a sequence of *safes*, each encrypted or in the clear. A safe is a sequence of *bags*. A bag contains a
/// key, a certificate or another object, with an optional readable name. A MAC over all safes proves that the file was
/// not changed and that the password is correct.
///
/// ``read(_:password:limits:allowNoMAC:share:)`` opens a file, ``inspect(_:password:limits:share:)`` reports everything
/// known about a file, even if it cannot be opened, and `create` writes a file with one identity:
///
/// ```swift
/// let contents = try PKCS12.read(bytes, password: .text(password))
/// for identity in try contents.requireIdentities() {
///     print(identity.friendlyName ?? "-", identity.certificate.subject)
///     let copy = try PKCS12.create(
///         privateKey: identity.privateKey, certificate: identity.certificate, friendlyName: "Signature",
///         password: password, profile: .modern)
/// }
/// ```
///
/// Supports everything in RFC 7292, RFC 8018 and RFC 9579 for which OpenSSL has the primitives, in DER or BER. The
/// structure is parsed here; key derivations and ciphers are OpenSSL's. The limits bound the time of every call,
/// however many iterations the file requires.
package enum PKCS12 {
    /// Opens a file.
    ///
    /// If a file has several problems, a refusal is thrown before any other error. The errors that follow are, in this
    /// order: a MAC that is unsupported or malformed, a malformed structure, a password that does not match the MAC, and
    /// an unsupported encryption of a safe or key (docs/rules.md R7.10).
    ///
    /// - Parameters:
    ///   - bytes: The whole file.
    ///   - password: The password; nil tries an absent password and then the empty one (docs/rules.md R7.11).
    ///   - limits: The limits on sizes, counts and work.
    ///   - allowNoMAC: Whether a file without a MAC is read. Changes to such a file cannot be detected (docs/rules.md
    ///     R7.9).
    ///   - share: The file's share of its archive's budget; nil for a file outside an archive.
    /// - Returns: The contents of the file. Call `requireIdentities` to check that they include an identity.
    /// - Throws: Every code of `PKCS12Error` except `noIdentity` and `keyMismatch`.
    package static func read(
        _ bytes: [UInt8], password: PKCS12Password?, limits: PKCS12Limits = .standard,
        allowNoMAC: Bool = false, share: ArchiveShare? = nil
    ) throws(PKCS12Error) -> PKCS12Contents {
        var reader = PKCS12Reader(limits: limits, allowsNoMAC: allowNoMAC, share: share)
        try reader.read(bytes, password: password)
        return reader.contents
    }

    /// Estimates the maximum processor time of opening the file with a wrong password, from the iteration counts that
    /// are visible without the correct password.
    ///
    /// - Parameters:
    ///   - bytes: The whole file.
    ///   - password: The password.
    ///   - limits: The limits with which the file is read.
    package static func workOfWrongPassword(
        _ bytes: [UInt8], password: PKCS12Password?, limits: PKCS12Limits = .standard
    ) -> Duration {
        guard let forms = try? PasswordForms(password) else { return .zero }
        let count = max(forms.forms(.wide).count, forms.forms(.octets).count)
        return min(.nanoseconds(PKCS12Reader.visibleWork(bytes, limits: limits)) * count, limits.patience)
    }

    /// Reports everything known about a file, even if it cannot be opened. A file without a MAC is also read, and a
    /// note records it.
    ///
    /// - Parameters:
    ///   - bytes: The whole file.
    ///   - password: The password; nil tries an absent password and then the empty one.
    ///   - limits: The limits on sizes, counts and work.
    ///   - share: The file's share of its archive's budget; nil for a file outside an archive.
    /// - Returns: A verdict and the contents; after a failure, the contents that were read before it.
    package static func inspect(
        _ bytes: [UInt8], password: PKCS12Password?, limits: PKCS12Limits = .standard,
        share: ArchiveShare? = nil
    ) -> PKCS12Report {
        var reader = PKCS12Reader(limits: limits, allowsNoMAC: true, share: share)
        do {
            try reader.read(bytes, password: password)
            return PKCS12Report(contents: reader.contents, error: nil)
        } catch {
            return PKCS12Report(contents: reader.contents, error: error)
        }
    }
}
