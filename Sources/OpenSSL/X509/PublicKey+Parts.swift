internal import SwiftASN1

extension PublicKey {
    /// The parts of a public key that have their own PKCS #11 attributes.
    package enum Parts: Sendable, Hashable {
        /// Modulus and exponent (RFC 8017, A.1.1), as big-endian magnitudes without leading zeros.
        case rsa(modulus: [UInt8], exponent: [UInt8])
        /// The curve as `ECParameters` in DER (RFC 5480, 2.1.1), and the encoded point in an `OCTET STRING` in DER.
        case ec(parameters: [UInt8], point: [UInt8])
    }

    /// The parts of an RSA or elliptic-curve key; nil for other keys and for invalid DER.
    package var parts: Parts? {
        switch type {
        case .rsa:
            return RSANumbers(keyOctets).map {
                .rsa(modulus: Array($0.modulus), exponent: Array($0.exponent))
            }
        case .ec:
            guard let parameters = algorithmParameters else { return nil }
            var serializer = DER.Serializer()
            guard (try? serializer.serialize(ASN1OctetString(contentBytes: keyOctets))) != nil else {
                return nil
            }
            return .ec(parameters: parameters, point: serializer.serializedBytes)
        default: return nil
        }
    }

    /// Whether the algorithm has no parameters that the owner of the key can choose, such as a curve or its base point.
    package var hasStandardParameters: Bool {
        switch type {
        case .rsa, .ed25519, .ed448: true
        // The parameters of a named curve are an OBJECT IDENTIFIER (RFC 5480, 2.1.1).
        case .ec: algorithmParameters?.first == 0x06
        default: false
        }
    }

    /// The second field of the `AlgorithmIdentifier` (RFC 5280, 4.1.1.2) in DER; nil if it is absent.
    private var algorithmParameters: [UInt8]? {
        guard let root = try? DER.parse(spki), case .constructed(let fields) = root.content,
            let algorithm = fields.first(where: { _ in true }),
            case .constructed(let parts) = algorithm.content
        else { return nil }
        return parts.dropFirst().first(where: { _ in true }).map { Array($0.encodedBytes) }
    }
}

extension Certificate {
    /// The serial number as an `INTEGER` in DER; nil if it is negative and thus has no magnitude to encode.
    package var encodedSerialNumber: [UInt8]? {
        guard !isSerialNegative else { return nil }
        var serializer = DER.Serializer()
        let magnitude = serialNumber.isEmpty ? [0] : serialNumber
        let octets = (magnitude.first ?? 0) < 0x80 ? magnitude : [0] + magnitude
        serializer.appendPrimitiveNode(identifier: .integer) { $0 += octets }
        return serializer.serializedBytes
    }
}
