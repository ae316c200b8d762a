import Foundation

/// Functions that write DER, for objects that no library would write.
enum Raw {
    /// One element with its contents.
    static func tlv(_ tag: UInt8, _ contents: [UInt8]...) -> [UInt8] {
        let contents = contents.flatMap(\.self)
        return [tag] + length(contents.count) + contents
    }

    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [UInt8(count)] }
        var octets: [UInt8] = []
        var rest = count
        while rest > 0 {
            octets.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(octets.count)] + octets
    }

    static func sequence(_ contents: [UInt8]...) -> [UInt8] { tlv(0x30, contents.flatMap(\.self)) }

    static func oid(_ dotted: String) -> [UInt8] {
        let parts = dotted.split(separator: ".").compactMap { UInt64($0) }
        let numbers = [parts[0] * 40 + parts[1]] + parts.dropFirst(2)
        return tlv(
            6,
            numbers.flatMap { number in
                var octets = [UInt8(number & 0x7F)]
                var rest = number >> 7
                while rest > 0 {
                    octets.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
                    rest >>= 7
                }
                return octets
            })
    }

    static func integer(_ octets: [UInt8]) -> [UInt8] { tlv(2, octets) }
    static func octets(_ octets: [UInt8]) -> [UInt8] { tlv(4, octets) }
    static let null: [UInt8] = [5, 0]
    static let yes: [UInt8] = [1, 1, 0xFF]
    static let no: [UInt8] = [1, 1, 0]
    static func utc(_ text: String) -> [UInt8] { tlv(23, Array(text.utf8)) }
    static func generalized(_ text: String) -> [UInt8] { tlv(24, Array(text.utf8)) }

    /// A name with one attribute in each relative name.
    static func name(_ attributes: (type: String, tag: UInt8, value: [UInt8])...) -> [UInt8] {
        sequence(
            attributes.flatMap { tlv(0x31, sequence(oid($0.type), tlv($0.tag, $0.value))) })
    }

    static func name(_ commonName: String) -> [UInt8] {
        name((type: "2.5.4.3", tag: 12, value: Array(commonName.utf8)))
    }

    /// An AlgorithmIdentifier without parameters.
    static func algorithm(_ identifier: String, _ parameters: [UInt8] = []) -> [UInt8] {
        sequence(oid(identifier), parameters)
    }

    static let ecdsaSHA256 = algorithm("1.2.840.10045.4.3.2")

    /// The public key of an RSA key with these numbers.
    static func rsa(
        _ modulus: [UInt8], exponent: [UInt8] = [1, 0, 1], parameters: [UInt8] = Raw.null
    ) -> [UInt8] {
        sequence(
            algorithm("1.2.840.113549.1.1.1", parameters),
            tlv(3, [0], sequence(integer([0] + modulus), integer(exponent))))
    }

    /// An RSA key with a modulus of this number of octets.
    static func rsa(octets: Int) -> [UInt8] { rsa([UInt8](repeating: 0xC5, count: octets)) }

    /// An elliptic-curve public key.
    static func ec(_ curve: String, point: [UInt8]) -> [UInt8] {
        sequence(algorithm("1.2.840.10045.2.1", oid(curve)), tlv(3, [0], point))
    }

    /// The base point of P-256 (FIPS 186-4, D.1.2.3).
    static let p256 = ec(
        "1.2.840.10045.3.1.7",
        point: [4]
            + hex("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296")
            + hex("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"))

    static func hex(_ text: String) -> [UInt8] {
        let digits = Array(text)
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
    }

    /// An extension of a certificate, a list or an entry.
    struct Extension {
        var oid: String
        /// The flag as it is encoded; nil leaves it out.
        var critical: Bool?
        var value: [UInt8]
        /// The octet of the critical flag, in place of `critical`.
        var flag: UInt8?

        var der: [UInt8] {
            let boolean = flag.map { Raw.tlv(1, [$0]) } ?? critical.map { $0 ? Raw.yes : Raw.no }
            return Raw.sequence(Raw.oid(oid), boolean ?? [], Raw.octets(value))
        }
    }

    /// A list of extensions in its explicit tag; empty without extensions.
    static func wrapped(_ extensions: [Extension]?, _ tag: UInt8) -> [UInt8] {
        guard let extensions else { return [] }
        return tlv(tag, sequence(extensions.flatMap(\.der)))
    }
}

extension [Raw.Extension] {
    /// Replaces the extension of a type, or adds it.
    mutating func set(_ oid: String, _ value: [UInt8], critical: Bool? = nil) {
        let item = Raw.Extension(oid: oid, critical: critical, value: value)
        if let index = firstIndex(where: { $0.oid == oid }) { self[index] = item } else { append(item) }
    }

    /// Changes only the critical flag.
    mutating func mark(_ oid: String, critical: Bool?) {
        if let index = firstIndex(where: { $0.oid == oid }) { self[index].critical = critical }
    }

    mutating func remove(_ oid: String) { removeAll { $0.oid == oid } }
}
