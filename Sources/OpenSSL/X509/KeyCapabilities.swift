package import KeySharing

/// The operations that one half of a key pair permits, as a keychain shows them.
///
/// The seven flags are Apple's `kSecAttrCanEncrypt`, `kSecAttrCanDecrypt` and so on. They follow from the type of key,
/// the half, and the certificate's key usage.
package struct KeyCapabilities: Sendable, Hashable {
    /// A half of a key pair.
    package enum Half: Sendable, Hashable { case `private`, `public` }

    /// Whether the key can encrypt data. True for the public half of an RSA key that permits encipherment.
    package let canEncrypt: Bool
    /// Whether the key can decrypt data. True for the private half of an RSA key that permits encipherment.
    package let canDecrypt: Bool
    /// Whether the key can sign. True for the private half of a key that permits signatures.
    package let canSign: Bool
    /// Whether the key can verify signatures. True for the public half of a key that permits signatures.
    package let canVerify: Bool
    /// Whether the key can derive shared secrets. True for the private half of a key that permits key agreement.
    package let canDerive: Bool
    /// Whether the key can encrypt other keys. True for the public half of an RSA key with keyEncipherment.
    package let canWrap: Bool
    /// Whether the key can decrypt other keys. True for the private half of an RSA key with keyEncipherment.
    package let canUnwrap: Bool

    /// Determines the flags for `half` of a key of the type `type`.
    ///
    /// - Parameters:
    ///   - half: The private or the public key.
    ///   - type: The type of key.
    ///   - usage: The certificate's key usage. Without it the key is unrestricted (RFC 5280, 4.2.1.3), and only the
    ///     type decides. A key of an unknown type permits nothing.
    package init(_ half: Half, type: KeyType, usage: KeyUsage?) {
        func allows(_ bits: KeyUsage) -> Bool { usage.map { !$0.isDisjoint(with: bits) } ?? true }
        let signs = type.signs && allows([.digitalSignature, .nonRepudiation, .keyCertSign, .cRLSign])
        let enciphers = type.enciphers && allows([.keyEncipherment, .dataEncipherment])
        let wraps = type.enciphers && allows(.keyEncipherment)
        let isPrivate = half == .private
        canEncrypt = enciphers && !isPrivate
        canDecrypt = enciphers && isPrivate
        canSign = signs && isPrivate
        canVerify = signs && !isPrivate
        canDerive = type.agrees && allows(.keyAgreement) && isPrivate
        canWrap = wraps && !isPrivate
        canUnwrap = wraps && isPrivate
    }
}

extension KeyType {
    fileprivate var signs: Bool {
        switch self {
        case .rsa, .ec, .ed25519, .ed448, .dsa: true
        case .x25519, .x448, .other: false
        }
    }

    fileprivate var enciphers: Bool { self == .rsa }

    fileprivate var agrees: Bool {
        switch self {
        case .ec, .x25519, .x448: true
        case .rsa, .ed25519, .ed448, .dsa, .other: false
        }
    }
}
