internal import KeyShareProtocol
package import OpenSSL
package import PersistentToken

extension SecKeyAlgorithm {
    /// Returns the token algorithm for an operation that OpenSSL requests from an external key, and the data for the
    /// token.
    ///
    /// - Throws: `badParameter` for paddings that token keys do not support: PSS and OAEP, which OpenSSL applies and
    ///   removes itself.
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
