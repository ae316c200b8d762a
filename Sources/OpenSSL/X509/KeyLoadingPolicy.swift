internal import SecretMemory
internal import COpenSSL
internal import SwiftASN1

/// Which keys are not loaded, because it is their author who says how much OpenSSL computes when it does.
///
/// * The public half of a DSA or Diffie-Hellman key is g^x mod p, and nothing bounds the numbers: a key of 8 KB
///   holds a core for seconds, one of 16 KB for a minute.
/// * A compressed point on a curve that is spelt out takes a square root modulo a number of the author's, a
///   second where that is one above a multiple of a high power of two.
///
/// RSA keys are read and not computed with, and named curves are known.
enum KeyLoadingPolicy {
    /// The octets of DSA's p and g: 3,072 bits (FIPS 186-4, 4.2).
    private static let modulusOctets = 384
    /// The octets of a DSA private number with its header: 256 bits (FIPS 186-4, 4.2).
    private static let exponentOctets = 32 + 6

    /// Why a private key is not loaded; nil where loading it is cheap.
    ///
    /// - Returns: `costlyKey`, or `malformedKey` where the structure does not tell.
    static func refusal(for info: OpaquePointer) -> CertificateError? {
        var object: OpaquePointer?
        var octets: UnsafePointer<UInt8>?
        var count: CInt = 0
        var algorithm: UnsafePointer<X509_ALGOR>?
        guard unsafe PKCS8_pkey_get0(&object, &octets, &count, &algorithm, info) == 1 else { return nil }
        let parameters = unsafe parameters(of: algorithm)
        switch unsafe OBJ_obj2nid(object) {
        case NID_dsa:
            let isBounded = count <= exponentOctets && parameters.map(isBounded) ?? true
            return isBounded ? nil : unsafe costly(object, "is larger than 3072 bits")
        case NID_dhKeyAgreement, NID_dhpublicnumber:
            return unsafe costly(object, "has a public half that takes too much work")
        case NID_X9_62_id_ecPublicKey:
            guard let octets = unsafe octets else { return nil }
            guard
                let key = unsafe SecretBytes(UnsafeRawBufferPointer(start: octets, count: Int(count)))
                    .withTransientArray(ECPrivateKeyOutline.init)
            else { return CertificateError(.malformedKey, "a private key has wrong contents") }
            let curves = [parameters, key.parameters].compactMap(\.self)
            let isCompressed =
                !curves.isEmpty && key.hasCompressedPoint || curves.contains(where: hasCompressedPoint)
            return isCompressed ? unsafe costly(object, "has a compressed point on a curve spelt out") : nil
        default: return nil
        }
    }

    /// Whether loading a public key is cheap.
    static func isCheap(_ algorithm: UnsafePointer<X509_ALGOR>?, _ octets: ArraySlice<UInt8>) -> Bool {
        var object: OpaquePointer?
        unsafe X509_ALGOR_get0(&object, nil, nil, algorithm)
        guard unsafe OBJ_obj2nid(object) == NID_X9_62_id_ecPublicKey,
            let curve = unsafe parameters(of: algorithm)
        else { return true }
        return !isCompressed(octets) && !hasCompressedPoint(curve)
    }

    /// The parameters of an algorithm where they are a SEQUENCE, encoded.
    private static func parameters(of algorithm: UnsafePointer<X509_ALGOR>?) -> [UInt8]? {
        var type: CInt = 0
        var value: UnsafeRawPointer?
        unsafe X509_ALGOR_get0(nil, &type, &value, algorithm)
        guard type == V_ASN1_SEQUENCE, let value = unsafe value else { return nil }
        return unsafe OpenSSLASN1.octets(value.assumingMemoryBound(to: ASN1_STRING.self))
    }

    /// Whether no number of DSA's parameters (RFC 3279, 2.3.2) is too large.
    private static func isBounded(_ parameters: [UInt8]) -> Bool {
        guard let fields = try? BER.parse(parameters).children(at: "") else { return false }
        return IteratorSequence(fields).allSatisfy { $0.encodedBytes.count <= modulusOctets + 5 }
    }

    /// Whether the generator of ECParameters (RFC 3279, 2.3.5) is compressed, or is not to be found.
    private static func hasCompressedPoint(_ parameters: [UInt8]) -> Bool {
        guard let fields = try? BER.parse(parameters).children(at: ""),
            let base = IteratorSequence(fields).first(where: { $0.identifier == .octetString }),
            let point = try? base.octets(at: "")
        else { return true }
        return isCompressed(point)
    }

    static func isCompressed(_ point: ArraySlice<UInt8>) -> Bool {
        point.first == 2 || point.first == 3
    }

    private static func costly(_ object: OpaquePointer?, _ words: String) -> CertificateError {
        let oid = unsafe OpenSSLASN1.dotted(object)
        return CertificateError(
            .costlyKey(oid: oid), "a private key (\(ObjectIdentifierName.name(of: oid))) \(words)")
    }
}

/// What of an ECPrivateKey (RFC 5915, 3) is no secret.
private struct ECPrivateKeyOutline {
    /// The encoded parameters where they are spelt out.
    let parameters: [UInt8]?
    let hasCompressedPoint: Bool

    /// nil where the octets are none.
    init?(_ octets: [UInt8]) {
        guard let root = try? BER.parse(octets), var fields = try? root.children(at: ""),
            fields.next()?.identifier == .integer, fields.next()?.identifier == .octetString
        else { return nil }
        var spelt: [UInt8]?
        var isCompressed = false
        while let field = fields.next() {
            if let curve = try? field.explicit(0, at: ""), curve.identifier == .sequence {
                spelt = Array(curve.encodedBytes)
            } else if let point = try? field.explicit(1, at: "") {
                // The first octet of a BIT STRING counts its unused bits; one in pieces is nobody's.
                guard case .primitive(let bits) = point.content else { return nil }
                isCompressed = KeyLoadingPolicy.isCompressed(bits.dropFirst())
            }
        }
        parameters = spelt
        hasCompressedPoint = isCompressed
    }
}
