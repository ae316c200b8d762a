internal import KeyShareProtocol
package import OpenSSL
package import PersistentToken

extension SecKeyDigest {
    /// The corresponding digest of OpenSSL.
    package var algorithm: DigestAlgorithm {
        switch self {
        case .sha1: .sha1
        case .sha224: .sha224
        case .sha256: .sha256
        case .sha384: .sha384
        case .sha512: .sha512
        }
    }
}

extension SecKeyAlgorithm {
    /// The padding of an RSA algorithm with its default parameters; nil for EC algorithms.
    var padding: RSAPadding? { padding(KeyOperationParameters()) }

    /// Returns the padding of an RSA algorithm with the parameters of an operation; nil for EC algorithms.
    func padding(_ parameters: KeyOperationParameters) -> RSAPadding? {
        let mask = parameters.maskDigest?.algorithm
        return switch self {
        case .rsaSignatureRaw, .rsaEncryptionRaw: RSAPadding.none
        case .rsaSignatureDigestPKCS1v15Raw, .rsaEncryptionPKCS1: .pkcs1(nil)
        case .rsaSignaturePKCS1v15(_, let digest): .pkcs1(digest.algorithm)
        case .rsaSignaturePSS(_, let digest):
            .pss(
                digest.algorithm, mask: mask ?? digest.algorithm,
                saltLength: parameters.saltLength ?? digest.byteCount)
        case .rsaEncryptionOAEP(let digest), .rsaEncryptionOAEPAESGCM(let digest):
            .oaep(digest.algorithm, mask: mask ?? digest.algorithm, label: parameters.label)
        case .ecdsaSignatureRFC4754, .ecdsaSignatureDigestX962Raw, .ecdsaSignatureX962, .ecdhKeyExchange,
            .eciesEncryption:
            nil
        }
    }

    /// Returns whether a key of this type and size supports the algorithm, like `SecKeyIsAlgorithmSupported` for a
    /// software key.
    ///
    /// - Parameters:
    ///   - type: The key type.
    ///   - bits: The key size in bits.
    package func isSupported(by type: KeyType, bits: Int) -> Bool {
        let bytes = (bits + 7) / 8
        switch self {
        case .rsaSignatureRaw, .rsaEncryptionRaw, .rsaSignatureDigestPKCS1v15Raw, .rsaEncryptionPKCS1:
            return type == .rsa
        // The digest's identifier has up to 19 bytes, and the padding at least 11 (RFC 8017, 9.2).
        case .rsaSignaturePKCS1v15(_, let digest):
            return type == .rsa && bytes >= digest.byteCount + (digest == .sha1 ? 15 : 19) + 11
        // emBits is one less than the size of the modulus, and emLen covers the digest, the salt and two bytes (RFC
        // 8017, 9.1.1).
        case .rsaSignaturePSS(_, let digest): return type == .rsa && bits >= 16 * digest.byteCount + 9
        case .rsaEncryptionOAEP(let digest), .rsaEncryptionOAEPAESGCM(let digest):
            return type == .rsa && bytes >= 2 * digest.byteCount + 2
        case .ecdsaSignatureRFC4754, .ecdsaSignatureDigestX962Raw, .ecdsaSignatureX962, .ecdhKeyExchange,
            .eciesEncryption:
            if case .ec = type { return true }
            return false
        }
    }
}

extension SecKeyAlgorithm {
    /// Returns the algorithm and the data for the token that performs an operation, which OpenSSL requests from an
    /// external key.
    ///
    /// - Throws: `badParameter` for PSS and OAEP, because OpenSSL applies and removes these paddings itself, and for
    ///   digests that token keys do not support.
    package static func of(_ use: PrivateKeyUse) throws(TokenError) -> (
        algorithm: SecKeyAlgorithm, data: [UInt8]
    ) {
        switch use {
        case .signRSA(let bytes, .none): return (.rsaSignatureRaw, bytes)
        case .signRSA(let bytes, .pkcs1(nil)): return (.rsaSignatureDigestPKCS1v15Raw, bytes)
        case .signRSA(let bytes, .pkcs1(let digest?)):
            guard let digest = SecKeyDigest.allCases.first(where: { $0.algorithm == digest }) else { break }
            return (.rsaSignaturePKCS1v15(.digest, digest), bytes)
        case .decryptRSA(let bytes, .none): return (.rsaEncryptionRaw, bytes)
        case .decryptRSA(let bytes, .pkcs1(nil)): return (.rsaEncryptionPKCS1, bytes)
        case .signECDSA(let digest):
            let known = SecKeyDigest.allCases.first { $0.byteCount == digest.count }
            return (known.map { .ecdsaSignatureX962(.digest, $0) } ?? .ecdsaSignatureDigestX962Raw, digest)
        case .agree(let point): return (.ecdhKeyExchange(isCofactor: false, nil), point)
        case .signRSA, .decryptRSA: break
        }
        throw TokenError(
            .badParameter, "the token\u{2019}s keys do not support this padding", obstacle: .wrongAlgorithm)
    }
}

extension TokenError {
    /// The error for an algorithm that a key of this type and size does not support.
    package static func unsupported(_ algorithm: SecKeyAlgorithm, _ type: KeyType, bits: Int) -> TokenError {
        TokenError(
            .badParameter,
            "the algorithm \(algorithm.name) does not support \(type.name) keys of \(bits) bits",
            obstacle: .wrongAlgorithm)
    }

    /// The error for input of the wrong length.
    static func wrongLength(_ count: Int, _ expected: String, _ algorithm: SecKeyAlgorithm) -> TokenError {
        TokenError(
            .badParameter, "\(algorithm.name) requires \(expected), not \(count) bytes",
            obstacle: .wrongLength)
    }

    /// The error for input that OpenSSL rejects because it does not fit the key.
    static func refusal(_ operation: String, _ error: OpenSSLError) -> TokenError {
        TokenError(.badParameter, "\(operation) failed: \(error.reason)", obstacle: .wrongLength)
    }

    /// Returns the result of `body`.
    ///
    /// - Throws: `badParameter` if OpenSSL fails, or if `body` returns nil because the keys are on different curves.
    static func reporting<Result>(
        _ operation: String, _ body: () throws(OpenSSLError) -> Result?
    ) throws(TokenError) -> Result {
        let result: Result?
        do throws(OpenSSLError) {
            result = try body()
        } catch {
            throw refusal(operation, error)
        }
        guard let result else {
            throw TokenError(
                .badParameter, "\(operation) failed: the keys are on different curves",
                obstacle: .wrongAlgorithm
            )
        }
        return result
    }
}
