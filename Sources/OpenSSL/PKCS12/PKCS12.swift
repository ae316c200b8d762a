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
}
