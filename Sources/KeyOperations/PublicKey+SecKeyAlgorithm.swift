package import OpenSSL
package import PersistentToken
package import SecretMemory

extension PublicKey {
    /// Verifies as `SecKeyVerifySignature` does.
    ///
    /// - Parameters:
    ///   - signature: The signature in the form that the algorithm has.
    ///   - data: What was signed: a message, a digest or raw bytes, as the algorithm says.
    ///   - algorithm: An algorithm for signatures.
    /// - Throws: `badParameter` where the algorithm is not for this key or the data do not have its length.
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

    /// Encrypts as `SecKeyCreateEncryptedData` does.
    ///
    /// - Parameters:
    ///   - plaintext: The bytes to encrypt.
    ///   - algorithm: An algorithm for encryption.
    ///   - parameters: What an ECIES algorithm takes besides.
    ///   - random: Where the session key or the ephemeral key comes from. RSA's padding always draws from OpenSSL.
    /// - Throws: `badParameter` where the algorithm is not for this key or the plaintext is too long for it.
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
                // Ephemeral keys are made for the curves that keys are made for.
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

    /// The data with zeros in front, as many bytes as the modulus has, where the algorithm pads with nothing else.
    private func padded(_ data: [UInt8], _ algorithm: SecKeyAlgorithm, bits: Int) -> [UInt8] {
        guard algorithm == .rsaSignatureRaw || algorithm == .rsaEncryptionRaw else { return data }
        return [UInt8](repeating: 0, count: max(0, (bits + 7) / 8 - data.count)) + data
    }
}

extension KeyAlgorithm {
    /// The name of the curve, as `PublicKey.curve` has it; nil for RSA.
    package var curve: String? {
        switch self {
        case .rsa: nil
        case .p256: "P-256"
        case .p384: "P-384"
        }
    }
}
