package import OpenSSL
package import PersistentToken

extension SecKeyAlgorithm {
    /// The algorithm by which a token does what OpenSSL asks of a key that is elsewhere, and what the token gets.
    ///
    /// - Throws: `badParameter` for a padding that no token's key has: PSS and OAEP, which OpenSSL makes and takes off
    ///   itself.
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
            .badParameter, "the token\u{2019}s keys do not take this padding", obstacle: .wrongAlgorithm)
    }
}
