internal import KeyShareProtocol
package import OpenSSL
package import PersistentToken

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
