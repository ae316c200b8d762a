import CTokenReference
import KeyOperations
import OpenSSL
import PersistentToken

/// What libcrypto itself says of a token's results, called without the package's code.
///
/// Digests go by their names in OpenSSL, which are those of `SecKeyDigest`.
struct TokenReference {
    /// The public key, as the certificate has it.
    let spki: [UInt8]
    /// The size of the key in bits.
    let bits: Int

    /// A private key that libcrypto makes, PKCS #8.
    static func key(rsaBits bits: Int = 0, curve: String? = nil) -> [UInt8]? {
        unsafe written(10_000) { out, count in unsafe reference_generate(Int32(bits), curve, out, &count) }
    }

    private static func written(
        _ room: Int, _ body: (UnsafeMutablePointer<UInt8>?, inout Int) -> Int32
    ) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: room)
        var count = room
        let done = unsafe bytes.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress, &count) }
        return done == 1 ? Array(bytes.prefix(count)) : nil
    }

    private static func digest(_ data: [UInt8], _ digest: SecKeyDigest) -> [UInt8] {
        unsafe written(64) { unsafe reference_digest(digest.rawValue, data, data.count, $0, &$1) } ?? []
    }

    /// Whether libcrypto verifies the signature, or finds in it what was signed.
    func verifies(_ signature: [UInt8], of data: [UInt8], _ algorithm: SecKeyAlgorithm) -> Bool {
        switch algorithm {
        case .rsaSignatureRaw:
            recovered(signature, REFERENCE_RAW) == [UInt8](repeating: 0, count: bits / 8 - data.count) + data
        case .rsaSignatureDigestPKCS1v15Raw: recovered(signature, REFERENCE_PKCS1) == data
        case .rsaSignaturePKCS1v15(let input, let digest):
            verifiesRSA(
                signature, input == .digest ? data : Self.digest(data, digest), REFERENCE_PKCS1, digest)
        case .rsaSignaturePSS(let input, let digest):
            verifiesRSA(signature, input == .digest ? data : Self.digest(data, digest), REFERENCE_PSS, digest)
        case .ecdsaSignatureRFC4754: verifiesECDSA(signature, data, isConcatenated: true)
        case .ecdsaSignatureDigestX962Raw: verifiesECDSA(signature, data)
        case .ecdsaSignatureX962(let input, let digest):
            verifiesECDSA(signature, input == .digest ? data : Self.digest(data, digest))
        default: false
        }
    }

    private func recovered(_ signature: [UInt8], _ padding: Int32) -> [UInt8]? {
        unsafe Self.written(bits / 8) {
            unsafe reference_recover(spki, spki.count, padding, signature, signature.count, $0, &$1)
        }
    }

    private func verifiesRSA(
        _ signature: [UInt8], _ data: [UInt8], _ padding: Int32, _ digest: SecKeyDigest
    ) -> Bool {
        unsafe reference_verify_rsa(
            spki, spki.count, padding, digest.rawValue, data, data.count, signature, signature.count) == 1
    }

    private func verifiesECDSA(
        _ signature: [UInt8], _ data: [UInt8], isConcatenated: Bool = false
    ) -> Bool {
        unsafe reference_verify_ecdsa(
            spki, spki.count, isConcatenated ? 1 : 0, data, data.count, signature, signature.count) == 1
    }

    /// What libcrypto encrypts, for the token to decrypt.
    func encrypted(
        _ data: [UInt8], _ algorithm: SecKeyAlgorithm, _ parameters: KeyOperationParameters
    ) -> [UInt8]? {
        unsafe Self.written(2_000) { out, count in
            switch algorithm {
            case .rsaEncryptionRaw:
                let block = [UInt8](repeating: 0, count: bits / 8 - data.count) + data
                return unsafe reference_encrypt_rsa(
                    spki, spki.count, REFERENCE_RAW, nil, block, block.count, out, &count)
            case .rsaEncryptionPKCS1:
                return unsafe reference_encrypt_rsa(
                    spki, spki.count, REFERENCE_PKCS1, nil, data, data.count, out, &count)
            case .rsaEncryptionOAEP(let digest):
                return unsafe reference_encrypt_rsa(
                    spki, spki.count, REFERENCE_OAEP, digest.rawValue, data, data.count, out, &count)
            case .rsaEncryptionOAEPAESGCM(let digest):
                return unsafe reference_encrypt_hybrid(
                    spki, spki.count, Int32(bits), digest.rawValue, data, data.count, out, &count)
            case .eciesEncryption(_, let digest, let hasVariableIV):
                return unsafe reference_encrypt_ecies(
                    spki, spki.count, Int32(bits), digest.rawValue, hasVariableIV ? 1 : 0,
                    parameters.sharedInfo, parameters.sharedInfo.count, parameters.associatedData,
                    parameters.associatedData.count, data, data.count, out, &count)
            default: return 0
            }
        }
    }

    /// A new public key of libcrypto, and the secret that it shares with the token's key.
    func agreement(
        _ digest: SecKeyDigest?, _ parameters: KeyOperationParameters
    ) -> (point: [UInt8], secret: [UInt8])? {
        var point = [UInt8](repeating: 0, count: 200)
        var pointCount = point.count
        let secret = unsafe Self.written(500) { out, count in
            unsafe reference_agree(
                spki, spki.count, digest?.rawValue, parameters.sharedInfo, parameters.sharedInfo.count,
                parameters.requestedSize, &point, &pointCount, out, &count)
        }
        return secret.map { (Array(point.prefix(pointCount)), $0) }
    }
}
