package import KeySharing

/// What one half of a key pair can do, as a keychain shows it.
///
/// The seven flags are Apple's `kSecAttrCanEncrypt`, `kSecAttrCanDecrypt` and so on. They follow from the kind of key,
/// from the half, and from the certificate's key usage.
package struct KeyCapabilities: Sendable, Hashable {
    /// A half of a key pair.
    package enum Half: Sendable, Hashable { case `private`, `public` }

    /// Whether the key encrypts data: the public half of an RSA key for enciphering.
    package let canEncrypt: Bool
    /// Whether the key decrypts data: the private half of an RSA key for enciphering.
    package let canDecrypt: Bool
    /// Whether the key signs: the private half of a key for signatures.
    package let canSign: Bool
    /// Whether the key verifies signatures: the public half of a key for signatures.
    package let canVerify: Bool
    /// Whether the key derives a shared secret: the private half of a key for key agreement.
    package let canDerive: Bool
    /// Whether the key encrypts other keys: the public half of an RSA key with keyEncipherment.
    package let canWrap: Bool
    /// Whether the key decrypts other keys: the private half of an RSA key with keyEncipherment.
    package let canUnwrap: Bool

    /// Finds the flags for `half` of a key of the kind `type`.
    ///
    /// - Parameters:
    ///   - half: the private or the public key.
    ///   - type: the kind of key.
    ///   - usage: the certificate's key usage. Without one the key is not restricted (RFC 5280, 4.2.1.3),
    ///     and its kind alone decides. A key of an unknown kind can do nothing.
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
