internal import KeyShareProtocol
package import OpenSSL
package import PersistentToken
package import SecretMemory

extension PrivateKey {
    /// Creates a signature like `SecKeyCreateSignature`.
    ///
    /// - Parameters:
    ///   - data: A message, a digest or raw bytes, depending on the algorithm.
    ///   - algorithm: A signature algorithm.
    ///   - parameters: For PSS, a salt length or mask digest other than the algorithm's; for ECDSA, the signature's
    ///     form.
    /// - Returns: The signature in the algorithm's format.
    /// - Throws: `badParameter` if the key does not support the algorithm or the data has the wrong length.
    package func sign(
        _ data: [UInt8], _ algorithm: SecKeyAlgorithm,
        parameters: KeyOperationParameters = KeyOperationParameters()
    ) throws(TokenError) -> [UInt8] {
        guard algorithm.operation == .sign, algorithm.isSupported(by: type, bits: bits) else {
            throw .unsupported(algorithm, type, bits: bits)
        }
        let input = try preparedInput(data, algorithm)
        return try TokenError.reporting("signing") { () throws(OpenSSLError) -> [UInt8]? in
            if let padding = algorithm.padding(parameters) { return try signRSA(input, padding: padding) }
            let signature = try signECDSA(input)
            return algorithm == .ecdsaSignatureRFC4754 || parameters.isSignatureConcatenated
                ? ECDSASignature.concatenated(signature, bits: bits) : signature
        }
    }

    /// Decrypts like `SecKeyCreateDecryptedData`.
    ///
    /// - Parameters:
    ///   - data: The ciphertext.
    ///   - algorithm: An encryption algorithm.
    ///   - parameters: For ECIES, the shared information and the associated data; for OAEP, a label, or a mask digest
    ///     other than the algorithm's.
    /// - Throws: `badParameter` if the key does not support the algorithm, or if OpenSSL rejects the key;
    ///   `corruptedData` if the data cannot be decrypted, for example because it is too short.
    package func decrypt(
        _ data: [UInt8], _ algorithm: SecKeyAlgorithm,
        parameters: KeyOperationParameters = KeyOperationParameters()
    ) throws(TokenError) -> SecretBytes {
        guard algorithm.operation == .decrypt, algorithm.isSupported(by: type, bits: bits) else {
            throw .unsupported(algorithm, type, bits: bits)
        }
        let plaintext: SecretBytes?
        do throws(OpenSSLError) {
            switch algorithm {
            case .rsaEncryptionOAEPAESGCM:
                plaintext = try HybridEncryption.decrypt(data, key: self, algorithm)
            case .eciesEncryption:
                plaintext = try IntegratedEncryption(algorithm, bits: bits, parameters: parameters)?
                    .decrypt(data, key: self)
            default:
                plaintext = try decryptRSA(padded(data), padding: algorithm.padding(parameters) ?? .none)
            }
        } catch {
            throw .refusal("decrypting", error)
        }
        guard let plaintext else {
            throw TokenError(
                .corruptedData, "the data cannot be decrypted with this key and \(algorithm.name)",
                obstacle: .undecryptable)
        }
        return plaintext
    }

    /// Computes a shared secret like `SecKeyCopyKeyExchangeResult`.
    ///
    /// - Parameters:
    ///   - point: The other public key, an encoded point (SEC 1, 2.3.3).
    ///   - algorithm: A key exchange algorithm.
    ///   - parameters: The requested number of bytes and the shared information, for algorithms that derive a key from
    ///     the shared secret; ignored by the others.
    /// - Throws: `badParameter` if the key does not support the algorithm, the point is not on its curve, or a
    ///   derivation of zero bytes is requested.
    package func exchangeKey(
        with point: [UInt8], _ algorithm: SecKeyAlgorithm, parameters: KeyOperationParameters
    ) throws(TokenError) -> SecretBytes {
        guard case .ecdhKeyExchange(_, let digest) = algorithm, algorithm.isSupported(by: type, bits: bits)
        else {
            throw .unsupported(algorithm, type, bits: bits)
        }
        return try TokenError.reporting("the key exchange") { () throws(OpenSSLError) -> SecretBytes? in
            let secret = try sharedSecret(with: point)
            guard let secret, let digest else { return secret }
            return try X963KeyDerivation.derive(
                from: secret, digest: digest.algorithm, sharedInfo: parameters.sharedInfo,
                count: parameters.requestedSize)
        }
    }

    /// Converts `data` to the input of OpenSSL's signature functions: digests a message, checks the length of a digest,
    /// or pads raw bytes.
    private func preparedInput(_ data: [UInt8], _ algorithm: SecKeyAlgorithm) throws(TokenError) -> [UInt8] {
        let size = (bits + 7) / 8
        switch algorithm {
        case .rsaSignatureRaw:
            guard data.count <= size else {
                throw .wrongLength(data.count, "at most \(size) bytes", algorithm)
            }
            return padded(data)
        case .rsaSignatureDigestPKCS1v15Raw:
            guard data.count <= size - 11 else {
                throw .wrongLength(data.count, "at most \(size - 11) bytes", algorithm)
            }
            return data
        case .ecdsaSignatureRFC4754, .ecdsaSignatureDigestX962Raw:
            guard (1...DigestAlgorithm.sha512.byteCount).contains(data.count) else {
                throw .wrongLength(
                    data.count, "a digest of 1 to \(DigestAlgorithm.sha512.byteCount) bytes", algorithm)
            }
            return data
        default: return try algorithm.digested(data)
        }
    }

    /// Returns the data, left-padded with zeros to the length of the modulus.
    private func padded(_ data: [UInt8]) -> [UInt8] {
        [UInt8](repeating: 0, count: max(0, (bits + 7) / 8 - data.count)) + data
    }
}

extension SecKeyAlgorithm {
    /// Returns the digest of a message, or the data itself if the algorithm requires a digest.
    ///
    /// - Throws: `badParameter` if a digest has the wrong length.
    func digested(_ data: [UInt8]) throws(TokenError) -> [UInt8] {
        guard let digest else { return data }
        guard takesMessage else {
            guard data.count == digest.byteCount else {
                throw .wrongLength(data.count, "a digest of \(digest.byteCount) bytes", self)
            }
            return data
        }
        do {
            let stream = try DigestStream(digest.algorithm)
            try stream.update(data)
            return try stream.finish()
        } catch {
            throw TokenError(.communicationError, "the message could not be digested: \(error)")
        }
    }
}
