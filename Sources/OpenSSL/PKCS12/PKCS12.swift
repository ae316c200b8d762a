/// PKCS #12 (RFC 7292), the format in which a private key travels with its certificates under a password. Files end in
/// `.p12` or `.pfx`.
///
/// A file is a sequence of *safes*, each encrypted or in the clear; a safe is a sequence of *bags*; a bag holds a key, a
/// certificate or something else, with a name for people. A MAC over all safes shows that the file was not changed and
/// that the password is right.
///
/// ``read(_:password:limits:allowNoMAC:share:)`` opens a file, ``inspect(_:password:limits:share:)`` tells what can be
/// known about one that may not open, and `create` writes a file with one identity:
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
/// Everything that RFC 7292, RFC 8018 and RFC 9579 describe and this OpenSSL has the primitives for is read, in DER or
/// BER. The structure is parsed here; key derivations and ciphers are OpenSSL's. The limits bound the time of every call,
/// whatever iterations the file asks for.
package enum PKCS12 {
    /// Opens a file.
    ///
    /// Where several things are wrong, a refusal is thrown before an unsupported algorithm, that before a broken
    /// structure, and that before a wrong password (docs/rules.md R7.10).
    ///
    /// - Parameters:
    ///   - bytes: The whole file.
    ///   - password: The password; nil tries none and then the empty one (docs/rules.md R7.11).
    ///   - limits: The bounds of sizes, counts and work.
    ///   - allowNoMAC: Whether a file without a MAC is read, although nothing shows then that it was not changed
    ///     (docs/rules.md R7.9).
    ///   - share: What the file has of the budget of the archive that it is in; nil for a file by itself.
    /// - Returns: Everything in the file; `requireIdentities` tells whether an identity is among it.
    /// - Throws: Every code of `PKCS12Error` except `noIdentity` and `keyMismatch`.
    package static func read(
        _ bytes: [UInt8], password: PKCS12Password?, limits: PKCS12Limits = .standard,
        allowNoMAC: Bool = false, share: ArchiveShare? = nil
    ) throws(PKCS12Error) -> PKCS12Contents {
        var reader = PKCS12Reader(limits: limits, allowsNoMAC: allowNoMAC, share: share)
        try reader.read(bytes, password: password)
        return reader.contents
    }

    /// Reports everything that can be known about a file, whether it opens or not. A file without a MAC is read too; a
    /// note says so.
    ///
    /// - Parameters:
    ///   - bytes: The whole file.
    ///   - password: The password; nil tries none and then the empty one.
    ///   - limits: The bounds of sizes, counts and work.
    ///   - share: What the file has of the budget of the archive that it is in; nil for a file by itself.
    /// - Returns: A verdict and the contents; after a failure, the contents that were known before it.
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
