internal import SecretMemory
internal import COpenSSL
internal import SwiftASN1

/// The rule that decides which keys are not loaded, so that a file cannot keep a processor busy for a long time.
///
/// When OpenSSL loads a key, it may have to compute with numbers that the author of the file chose:
///
/// * For a DSA or Diffie-Hellman key it computes the public half, g^x mod p, without limiting the size of the numbers:
///   a key of 8 KB takes seconds, one of 16 KB a minute.
/// * For a compressed point on a curve with explicit parameters, it computes a square root modulo p, which takes a
///   second if p - 1 is a multiple of a high power of two.
///
/// A signature takes long to verify with some public keys, although loading them is cheap: 10 ms with an RSA exponent of
/// 3,070 bits, and 14 ms with a DSA key of 10,000 bits. FIPS 186-5, A.1.1, allows an RSA exponent of 256 bits. Named
/// curves are cheap because their numbers are fixed.
enum KeyLoadingPolicy {
    /// The maximum length of DSA's p and g, in octets: 3,072 bits (FIPS 186-4, 4.2).
    private static let modulusOctets = 384
    /// The maximum length of DSA's private number, in octets: 256 bits (FIPS 186-4, 4.2), plus the header of its
    /// INTEGER.
    private static let exponentOctets = 32 + 6

    /// The maximum length of RSA's public exponent, in octets: 256 bits.
    private static let publicExponentOctets = 32

    /// The reason why a private key is not loaded.
    ///
    /// - Parameter info: A `PKCS8_PRIV_KEY_INFO` (RFC 5958, 2), which the caller still owns.
    /// - Returns: `costlyKey`; `malformedKey` if an elliptic-curve key has no readable structure; nil if loading the
    ///   key is cheap.
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
            return unsafe costly(object, "has a public key that takes too long to compute")
        case NID_X9_62_id_ecPublicKey:
            guard let octets = unsafe octets else { return nil }
            guard
                let key = unsafe SecretBytes(UnsafeRawBufferPointer(start: octets, count: Int(count)))
                    .withTransientArray(ECPrivateKeyOutline.init)
            else { return CertificateError(.malformedKey, "a private key is malformed") }
            let curves = [parameters, key.parameters].compactMap(\.self)
            let isCompressed =
                !curves.isEmpty && key.hasCompressedPoint || curves.contains(where: hasCompressedPoint)
            return isCompressed
                ? unsafe costly(object, "has a compressed point on a curve with explicit parameters") : nil
        default: return nil
        }
    }

    /// Whether loading a public key, and verifying a signature with it, is cheap.
    ///
    /// - Parameters:
    ///   - algorithm: The key's `AlgorithmIdentifier`, which the caller still owns.
    ///   - octets: The contents of the key's BIT STRING.
    static func isCheap(_ algorithm: UnsafePointer<X509_ALGOR>?, _ octets: ArraySlice<UInt8>) -> Bool {
        var object: OpaquePointer?
        unsafe X509_ALGOR_get0(&object, nil, nil, algorithm)
        switch unsafe OBJ_obj2nid(object) {
        case NID_dsa:
            return octets.count <= modulusOctets + integerHeader
                && (unsafe parameters(of: algorithm)).map(isBounded) ?? true
        case NID_X9_62_id_ecPublicKey:
            guard let curve = unsafe parameters(of: algorithm) else { return true }
            return !isCompressed(octets) && !hasCompressedPoint(curve)
        case NID_rsaEncryption, NID_rsassaPss:
            return RSANumbers(octets).map { $0.exponent.count <= publicExponentOctets } ?? true
        default: return true
        }
    }

    /// The encoded parameters of an algorithm if they are a SEQUENCE; nil otherwise, as for a named curve.
    private static func parameters(of algorithm: UnsafePointer<X509_ALGOR>?) -> [UInt8]? {
        var type: CInt = 0
        var value: UnsafeRawPointer?
        unsafe X509_ALGOR_get0(nil, &type, &value, algorithm)
        guard type == V_ASN1_SEQUENCE, let value = unsafe value else { return nil }
        return unsafe OpenSSLASN1.octets(value.assumingMemoryBound(to: ASN1_STRING.self))
    }

    /// The length of the header of an INTEGER with ``modulusOctets``, and of the zero that may precede its first bit.
    private static let integerHeader = 5

    /// Whether every number of DSA's parameters (RFC 3279, 2.3.2) is within ``modulusOctets``.
    private static func isBounded(_ parameters: [UInt8]) -> Bool {
        guard let fields = try? ASN1Node.parse(parameters[...], at: "").children(at: "") else { return false }
        return IteratorSequence(fields).allSatisfy { $0.encodedBytes.count <= modulusOctets + integerHeader }
    }

    /// Whether the generator in ECParameters (RFC 3279, 2.3.5) is compressed; also true if it cannot be found.
    private static func hasCompressedPoint(_ parameters: [UInt8]) -> Bool {
        guard let fields = try? ASN1Node.parse(parameters[...], at: "").children(at: ""),
            let base = IteratorSequence(fields).first(where: { $0.identifier == .octetString }),
            let point = try? base.octets(at: "")
        else { return true }
        return isCompressed(point)
    }

    /// Whether a point is encoded in compressed form, which begins with 2 or 3 (SEC 1, 2.3.3).
    static func isCompressed(_ point: ArraySlice<UInt8>) -> Bool {
        point.first == 2 || point.first == 3
    }

    private static func costly(_ object: OpaquePointer?, _ why: String) -> CertificateError {
        let oid = unsafe OpenSSLASN1.dotted(object)
        return CertificateError(
            .costlyKey(oid: oid), "a private key (\(ObjectIdentifierName.name(of: oid))) \(why)")
    }
}

/// The parts of an ECPrivateKey (RFC 5915, 3) that are not secret.
private struct ECPrivateKeyOutline {
    /// The encoded parameters if the key contains explicit ones; nil if they are missing or a name.
    let parameters: [UInt8]?
    /// Whether the key contains a compressed public point.
    let hasCompressedPoint: Bool

    /// Reads the parts; nil if the octets are not an ECPrivateKey.
    init?(_ octets: [UInt8]) {
        guard let root = try? ASN1Node.parse(octets[...], at: ""), var fields = try? root.children(at: ""),
            fields.next()?.identifier == .integer, fields.next()?.identifier == .octetString
        else { return nil }
        var explicit: [UInt8]?
        var isCompressed = false
        while let field = fields.next() {
            if let curve = try? field.explicit(0, at: ""), curve.identifier == .sequence {
                explicit = Array(curve.encodedBytes)
            } else if let point = try? field.explicit(1, at: "") {
                // The first octet of a BIT STRING is the number of its unused bits. A constructed BIT STRING (BER) is
                // rejected, because no program writes one here.
                guard case .primitive(let bits) = point.content else { return nil }
                isCompressed = KeyLoadingPolicy.isCompressed(bits.dropFirst())
            }
        }
        parameters = explicit
        hasCompressedPoint = isCompressed
    }
}
