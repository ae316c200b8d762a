/// The key usage extension of a certificate (RFC 5280, 4.2.1.3). Bit n of the raw value is bit n of the extension.
///
/// ```swift
/// let usage: KeyUsage = [.digitalSignature, .nonRepudiation]
/// let names = usage.names  // ["digitalSignature", "nonRepudiation"]
/// ```
public struct KeyUsage: OptionSet, Sendable, Hashable {
    /// The bits of the extension in the nine lowest bits. Higher bits have no meaning.
    public let rawValue: UInt16

    /// Creates a key usage from its bits.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Signing data other than certificates and revocation lists.
    public static let digitalSignature = KeyUsage(rawValue: 1 << 0)
    /// Signing that commits the signer to the content. X.509 now calls this bit contentCommitment.
    public static let nonRepudiation = KeyUsage(rawValue: 1 << 1)
    /// Encrypting keys (RSA key transport).
    public static let keyEncipherment = KeyUsage(rawValue: 1 << 2)
    /// Encrypting data directly.
    public static let dataEncipherment = KeyUsage(rawValue: 1 << 3)
    /// Agreeing on keys (Diffie-Hellman on an elliptic curve).
    public static let keyAgreement = KeyUsage(rawValue: 1 << 4)
    /// Signing certificates.
    public static let keyCertSign = KeyUsage(rawValue: 1 << 5)
    /// Signing revocation lists.
    public static let cRLSign = KeyUsage(rawValue: 1 << 6)
    /// With keyAgreement, restricts the agreed key to enciphering.
    public static let encipherOnly = KeyUsage(rawValue: 1 << 7)
    /// With keyAgreement, restricts the agreed key to deciphering.
    public static let decipherOnly = KeyUsage(rawValue: 1 << 8)

    /// The names of all bits in RFC 5280, in bit order.
    package static let bitNames = [
        "digitalSignature", "nonRepudiation", "keyEncipherment", "dataEncipherment", "keyAgreement",
        "keyCertSign", "cRLSign", "encipherOnly", "decipherOnly",
    ]

    /// The names of the bits that are set, spelled as in RFC 5280, in bit order.
    public var names: [String] {
        Self.bitNames.enumerated().filter { rawValue & (1 << $0.offset) != 0 }.map(\.element)
    }

    /// Decodes the octets of the extension's BIT STRING. Its first bit is the highest bit of the first octet.
    package init(bitString octets: [UInt8]) {
        var value: UInt16 = 0
        for bit in 0..<Self.bitNames.count where bit / 8 < octets.count {
            if octets[bit / 8] & (0x80 >> UInt8(bit % 8)) != 0 {
                value |= 1 << bit
            }
        }
        rawValue = value
    }
}
