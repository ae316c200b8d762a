internal import KeyShareProtocol
package import OpenSSL
package import PersistentToken
package import SecretMemory

extension PublicKey {
    /// Verifies a signature like `SecKeyVerifySignature`. Returns whether it is valid.
    ///
    /// - Parameters:
    ///   - signature: The signature in the algorithm's format.
    ///   - data: The signed data: a message, a digest or raw bytes, depending on the algorithm.
    ///   - algorithm: A signature algorithm.
    /// - Throws: `badParameter` if the key does not support the algorithm or the data has the wrong length.
    package func verify(
        _ signature: [UInt8], of data: [UInt8], _ algorithm: SecKeyAlgorithm
    ) throws(TokenError) -> Bool {
        let bits = bits
        guard algorithm.operation == .sign, algorithm.isSupported(by: type, bits: bits) else {
            throw .unsupported(algorithm, type, bits: bits)
        }
        let input = try algorithm.digested(data)
        if let padding = algorithm.padding {
            return verifyRSA(signature, of: padded(input, algorithm, bits: bits), padding: padding)
        }
        guard algorithm == .ecdsaSignatureRFC4754 else { return verifyECDSA(signature, of: input) }
        guard signature.count == 2 * ((bits + 7) / 8), let der = ECDSASignature.der(signature) else {
            return false
        }
        return verifyECDSA(der, of: input)
    }

    /// Encrypts like `SecKeyCreateEncryptedData`.
    ///
    /// - Parameters:
    ///   - plaintext: The bytes to encrypt.
    ///   - algorithm: An encryption algorithm.
    ///   - parameters: The shared information and the associated data, for ECIES algorithms.
    ///   - random: The source of the session key or the ephemeral key. RSA padding always uses OpenSSL's generator.
    /// - Throws: `badParameter` if the key does not support the algorithm or the plaintext is too long.
    package func encrypt(
        _ plaintext: SecretBytes, _ algorithm: SecKeyAlgorithm,
        parameters: KeyOperationParameters = KeyOperationParameters(), random: RandomSource = .system
    ) throws(TokenError) -> [UInt8] {
        let bits = bits
        guard algorithm.operation == .decrypt, algorithm.isSupported(by: type, bits: bits) else {
            throw .unsupported(algorithm, type, bits: bits)
        }
        return try TokenError.reporting("encrypting") { () throws(OpenSSLError) -> [UInt8]? in
            switch algorithm {
            case .rsaEncryptionOAEPAESGCM:
                return try HybridEncryption.encrypt(plaintext, to: self, algorithm, random: random)
            case .eciesEncryption:
                // Ephemeral keys can be generated for the same curves as other keys.
                guard
                    let curve = KeyAlgorithm.allCases.first(where: {
                        $0.curve != nil && $0.curve == self.curve
                    })
                else { return nil }
                let ephemeral = try PrivateKey.generate(curve, seed: random.seed)
                return try IntegratedEncryption(algorithm, bits: bits, parameters: parameters)?
                    .encrypt(plaintext, to: self, ephemeral: ephemeral)
            case .rsaEncryptionRaw:
                let bytes = unsafe plaintext.withUnsafeBytes { unsafe Array($0) }
                return try encryptRSA(SecretBytes(padded(bytes, algorithm, bits: bits)), padding: .none)
            default: return try encryptRSA(plaintext, padding: algorithm.padding ?? .none)
            }
        }
    }

    /// Returns the data, left-padded with zeros to the length of the modulus if the algorithm is raw RSA; for other
    /// algorithms, returns the data unchanged.
    private func padded(_ data: [UInt8], _ algorithm: SecKeyAlgorithm, bits: Int) -> [UInt8] {
        guard algorithm == .rsaSignatureRaw || algorithm == .rsaEncryptionRaw else { return data }
        return [UInt8](repeating: 0, count: max(0, (bits + 7) / 8 - data.count)) + data
    }
}

extension KeyAlgorithm {
    /// The name of the curve, as in `PublicKey.curve`; nil for RSA.
    package var curve: String? {
        switch self {
        case .rsa: nil
        case .p256: "P-256"
        case .p384: "P-384"
        }
    }
}
