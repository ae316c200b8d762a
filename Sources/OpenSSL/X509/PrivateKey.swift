internal import Diagnostics
package import SecretMemory
internal import COpenSSL
internal import Synchronization

/// A private key that OpenSSL has loaded.
///
/// Copies share one C key. OpenSSL wipes it when the last copy is released. Only ``pkcs8()`` reveals the secret
/// numbers.
package struct PrivateKey: Sendable {
    /// The kind of key.
    package let type: KeyType
    /// The size of the key in bits: of the modulus for RSA, of the order for curves (EVP_PKEY_get_bits(3)).
    package let bits: Int

    private let key: Key

    /// Generates a key.
    ///
    /// - Parameters:
    ///   - algorithm: The kind and size of the key.
    ///   - seed: The seed of a reproducible test key; nil for a key from OpenSSL's random source.
    /// - Throws: `OpenSSLError` if OpenSSL rejects the parameters, such as RSA with fewer than 512 bits.
    package static func generate(
        _ algorithm: KeyAlgorithm, seed: Seed? = nil
    ) throws(OpenSSLError) -> PrivateKey {
        let operation = "generating a key (\(algorithm.rawValue))"
        let name = if case .rsa = algorithm { "RSA" } else { "EC" }
        // The search for RSA's primes draws hundreds of numbers; an elliptic-curve key needs one or two.
        let library = try LibraryContext.drawing(from: seed, octets: name == "RSA" ? 1 << 19 : 512)
        let context = unsafe EVP_PKEY_CTX_new_from_name(library.pointer, name, nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe algorithm.configure(context),
            unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key
        else { throw OpenSSLError.draining(operation) }
        return unsafe PrivateKey(adopting: key)
    }

    /// Loads a key from unencrypted PKCS #8 (RFC 5958, 2).
    ///
    /// Supports RSA, EC, Ed25519, Ed448, X25519, X448, DSA and all other types of OpenSSL's default provider except
    /// Diffie-Hellman.
    ///
    /// - Throws: `malformed` or `trailingBytes` if the bytes are not PKCS #8; `unsupportedKey` if OpenSSL does not
    ///   support the algorithm or the curve; `malformedKey` if the key's own contents are wrong; `costlyKey` if
    ///   `KeyLoadingPolicy` rejects the key.
    package init(pkcs8: SecretBytes) throws(CertificateError) {
        let (info, rest) = unsafe pkcs8.withUnsafeBytes { bytes -> (OpaquePointer?, Int) in
            guard let start = bytes.baseAddress else { return (nil, 0) }
            var cursor: UnsafePointer<UInt8>? = unsafe start.assumingMemoryBound(to: UInt8.self)
            let info = unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, &cursor, bytes.count)
            return unsafe (info, bytes.count - (cursor.map { unsafe UnsafeRawPointer($0) - start } ?? 0))
        }
        // PKCS8_PRIV_KEY_INFO_free wipes the octets of the key.
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
        guard let info = unsafe info else { throw .draining(.malformed, "decoding a private key") }
        guard rest == 0 else {
            throw CertificateError(.trailingBytes, "\(rest) bytes follow a private key")
        }
        if let refusal = unsafe KeyLoadingPolicy.refusal(for: info) {
            // A key that the policy cannot read may be on an unknown curve, which loadingError(of:) detects.
            throw refusal.code == .malformedKey ? unsafe Self.loadingError(of: info) : refusal
        }
        guard
            let key = unsafe PrivateKeyDecoder.key(of: info)
                ?? EVP_PKCS82PKEY_ex(info, LibraryContext.standard.pointer, nil)
        else {
            throw unsafe Self.loadingError(of: info)
        }
        unsafe self.init(adopting: key)
    }

    /// Adopts a C key (`EVP_PKEY`), which is freed with the last copy of this value.
    init(adopting key: OpaquePointer) {
        type = unsafe Self.type(key)
        bits = unsafe max(0, Int(EVP_PKEY_get_bits(key)))
        self.key = unsafe Key(key)
    }

    /// The key as unencrypted PKCS #8 (RFC 5958, 2).
    ///
    /// - Throws: `OpenSSLError` if OpenSSL cannot write the key.
    package func pkcs8() throws(OpenSSLError) -> SecretBytes {
        try key.encoding.withLock { _ throws(OpenSSLError) -> SecretBytes in
            let info = unsafe EVP_PKEY2PKCS8(key.raw)
            defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
            guard let info = unsafe info, let encoded = unsafe SecretBytes(encoding: info) else {
                throw OpenSSLError.draining("writing a private key")
            }
            return encoded
        }
    }

    /// The public half. Each access encodes it again.
    package var publicKey: PublicKey {
        unsafe withPointer { key in
            var wrapped: OpaquePointer?
            unsafe X509_PUBKEY_set(&wrapped, key)
            defer { unsafe X509_PUBKEY_free(wrapped) }
            return unsafe PublicKey(reading: wrapped)
        }
    }

    /// Calls `body` with the C key (`EVP_PKEY`), which must not be changed or kept after the call.
    func withPointer<Result, Failure: Error>(
        _ body: (OpaquePointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withExtendedLifetime(key) { () throws(Failure) -> Result in
            unsafe try body(key.raw)
        }
    }

    private static func type(_ key: OpaquePointer) -> KeyType {
        switch unsafe EVP_PKEY_get_base_id(key) {
        case NID_rsaEncryption: return .rsa
        case NID_X9_62_id_ecPublicKey, NID_sm2: return unsafe .ec(curve: curve(key))
        case NID_ED25519: return .ed25519
        case NID_ED448: return .ed448
        case NID_X25519: return .x25519
        case NID_X448: return .x448
        case NID_dsa: return .dsa
        case let identifier: return unsafe .other(OpenSSLASN1.dotted(OBJ_nid2obj(identifier)))
        }
    }

    private static func curve(_ key: OpaquePointer) -> String {
        let capacity = 80
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer -> String in
            var count = 0
            guard unsafe EVP_PKEY_get_group_name(key, buffer.baseAddress, capacity, &count) == 1,
                let name = buffer.baseAddress
            else {
                OpenSSLError.discardQueue()
                return "explicit"
            }
            return unsafe String(cString: EC_curve_nid2nist(OBJ_sn2nid(name)) ?? UnsafePointer(name))
        }
    }

    /// The error for a PKCS #8 structure that OpenSSL failed to load, with the reasons in the error queue.
    private static func loadingError(of info: OpaquePointer) -> CertificateError {
        let cause = OpenSSLError.draining("loading a private key")
        var algorithm: OpaquePointer?
        var parameters: UnsafePointer<X509_ALGOR>?
        var curve: UnsafeRawPointer?
        var curveType: CInt = 0
        unsafe PKCS8_pkey_get0(&algorithm, nil, nil, &parameters, info)
        unsafe X509_ALGOR_get0(nil, &curveType, &curve, parameters)
        let identifier = unsafe OBJ_obj2nid(algorithm)
        guard knownTypes.contains(identifier) else {
            let oid = unsafe OpenSSLASN1.dotted(algorithm)
            return CertificateError(
                .unsupportedKey(oid: oid), "private keys of \(oid) are not supported", cause: cause)
        }
        if identifier == NID_X9_62_id_ecPublicKey, curveType == V_ASN1_OBJECT {
            let group = unsafe EC_GROUP_new_by_curve_name(OBJ_obj2nid(curve.map(OpaquePointer.init)))
            defer { unsafe EC_GROUP_free(group) }
            if unsafe group == nil {
                OpenSSLError.discardQueue()
                let oid = unsafe OpenSSLASN1.dotted(curve.map(OpaquePointer.init))
                return CertificateError(
                    .unsupportedKey(oid: oid), "private keys on the curve \(oid) are not supported",
                    cause: cause)
            }
        }
        return CertificateError(.malformedKey, "a private key is malformed", cause: cause)
    }

    /// The algorithms that OpenSSL supports. If OpenSSL cannot load a key of such an algorithm, the key's contents are
    /// wrong.
    private static let knownTypes: Set<CInt> = [
        NID_rsaEncryption, NID_rsassaPss, NID_X9_62_id_ecPublicKey, NID_ED25519, NID_ED448, NID_X25519,
        NID_X448, NID_dsa, NID_dhKeyAgreement, NID_dhpublicnumber,
    ]

    /// The owner of the C key, which wipes and frees it.
    ///
    /// `@unchecked Sendable`: `raw` never changes, and nothing here changes the key. Several threads may read one
    /// `EVP_PKEY` (openssl-threads(7)). OpenSSL fills in some parts later (copies for other providers, the blinding of
    /// RSA) and protects them with its own locks. Encoding an EC key is the exception, and has the lock `encoding`.
    @safe private final class Key: @unchecked Sendable {
        let raw: OpaquePointer
        /// Held while the key is encoded. OpenSSL sets a flag of an EC key for that time (EC_PKEY_NO_PARAMETERS), without
        /// a lock, so a second encoding at the same time might contain the parameters.
        let encoding = Mutex(())

        init(_ raw: OpaquePointer) {
            unsafe self.raw = raw
        }

        deinit {
            unsafe EVP_PKEY_free(raw)
        }
    }
}

extension PrivateKey: CustomStringConvertible, CustomReflectable {
    /// The kind and the size, such as `EC private key, 256 bits`. Contains no secret.
    package var description: String { "\(type.name) private key, \(bits) bits" }
    /// A mirror without children, so that `dump` shows nothing of the key.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretBytes {
    /// Writes a `PKCS8_PRIV_KEY_INFO`, which the caller still owns, as DER; nil if OpenSSL cannot.
    init?(encoding info: OpaquePointer) {
        let count = unsafe i2d_PKCS8_PRIV_KEY_INFO(info, nil)
        guard count > 0 else { return nil }
        unsafe self.init(capacity: Int(count)) { output in
            var cursor = unsafe output.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe Int(i2d_PKCS8_PRIV_KEY_INFO(info, &cursor))
        }
    }
}
