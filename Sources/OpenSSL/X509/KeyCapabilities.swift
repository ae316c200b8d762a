package import KeySharing
/// What a key can do, as a keychain shows it: seven flags that follow from the kind of key, from the half
/// of the pair it is, and from the certificate's key usage.
package struct KeyCapabilities: Sendable, Hashable {
    /// Which half of the pair is described.
    package enum Half: Sendable, Hashable { case `private`, `public` }

    /// Encrypting data: the public half of a key for encryption.
    package let canEncrypt: Bool
    /// Decrypting data: the private half of it.
    package let canDecrypt: Bool
    /// Signing: the private half of a key for signatures.
    package let canSign: Bool
    /// Verifying: the public half of it.
    package let canVerify: Bool
    /// Agreeing on a shared secret: the private half of a key for key agreement.
    package let canDerive: Bool
    /// Encrypting keys.
    package let canWrap: Bool
    /// Decrypting keys.
    package let canUnwrap: Bool

    /// The flags for one half of a key of `type`.
    ///
    /// Without a key usage extension nothing is restricted (RFC 5280 4.2.1.3), and the kind of key alone
    /// decides. A key of an unknown kind can do nothing.
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
