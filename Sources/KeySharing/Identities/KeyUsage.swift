/// The uses that a certificate allows its key (RFC 5280, 4.2.1.3); bit n of the raw value is bit n of the
/// extension.
///
/// ```swift
/// let usage: KeyUsage = [.digitalSignature, .nonRepudiation]
/// let names = usage.names  // ["digitalSignature", "nonRepudiation"]
/// ```
public struct KeyUsage: OptionSet, Sendable, Hashable {
    /// The nine bits; bits past the ninth mean nothing.
    public let rawValue: UInt16

    /// Makes a key usage of its bits.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Signatures other than on certificates and revocation lists.
    public static let digitalSignature = KeyUsage(rawValue: 1 << 0)
    /// Signatures that bind their maker; X.509 now calls it contentCommitment.
    public static let nonRepudiation = KeyUsage(rawValue: 1 << 1)
    /// Encrypting keys: RSA key transport.
    public static let keyEncipherment = KeyUsage(rawValue: 1 << 2)
    /// Encrypting data directly.
    public static let dataEncipherment = KeyUsage(rawValue: 1 << 3)
    /// Agreeing on keys: Diffie-Hellman on a curve.
    public static let keyAgreement = KeyUsage(rawValue: 1 << 4)
    /// Signing certificates.
    public static let keyCertSign = KeyUsage(rawValue: 1 << 5)
    /// Signing revocation lists.
    public static let cRLSign = KeyUsage(rawValue: 1 << 6)
    /// With keyAgreement: for enciphering only.
    public static let encipherOnly = KeyUsage(rawValue: 1 << 7)
    /// With keyAgreement: for deciphering only.
    public static let decipherOnly = KeyUsage(rawValue: 1 << 8)

    /// The names of the bits in RFC 5280, in the order of the bits.
    package static let bitNames = [
        "digitalSignature", "nonRepudiation", "keyEncipherment", "dataEncipherment", "keyAgreement",
        "keyCertSign", "cRLSign", "encipherOnly", "decipherOnly",
    ]

    /// The names of the bits that are set, as RFC 5280 writes them and in its order.
    public var names: [String] {
        Self.bitNames.enumerated().filter { rawValue & (1 << $0.offset) != 0 }.map(\.element)
    }

    /// Reads the octets of the extension's BIT STRING, whose first bit is the highest bit of the first octet.
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
