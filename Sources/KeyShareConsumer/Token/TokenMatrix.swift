internal import Diagnostics
internal import KeyOperations
internal import KeyShareProtocol
internal import OpenSSL
package import PersistentToken
package import SecretMemory

/// The operations that the sample consumer tries with a token, and operations with elliptic-curve keys, which the
/// sample does not try.
///
/// As in the sample, this process verifies and encrypts with the certificate's public key. Only signing, decrypting
/// and key exchange use the token.
package enum TokenMatrix {
    /// A group of related operations.
    package enum Group: String, Sendable, Hashable, CaseIterable {
        /// `SecKeyRawSign`, with six paddings.
        case oldSign = "sign-old"
        /// `SecKeyCreateSignature`, with 22 algorithms.
        case sign = "sign"
        /// `SecKeyDecrypt`, with three paddings.
        case oldDecrypt = "decrypt-old"
        /// `SecKeyCreateDecryptedData`, with twelve algorithms.
        case decrypt = "decrypt"
        /// `SecKeyCreateSignature` with elliptic-curve keys and twelve algorithms.
        case curveSign = "sign-ec"
        /// `SecKeyCreateDecryptedData` with elliptic-curve keys and eighteen algorithms.
        case curveDecrypt = "decrypt-ec"
        /// `SecKeyCopyKeyExchangeResult` with twelve algorithms.
        case keyExchange = "key-exchange"

        /// Whether the sample consumer tries the operations of the group.
        package var isOfTheSample: Bool {
            switch self {
            case .oldSign, .sign, .oldDecrypt, .decrypt: true
            case .curveSign, .curveDecrypt, .keyExchange: false
            }
        }

        /// The query that the sample consumer uses to find keys for the operations of the group.
        package var query: TokenKeychain.Query {
            switch self {
            case .oldSign, .sign, .curveSign: .canSign
            case .oldDecrypt, .decrypt, .curveDecrypt: .canDecrypt
            case .keyExchange: .canDerive
            }
        }
    }

    /// One operation with one algorithm.
    package struct Row: Sendable, Hashable {
        /// The group of the operation.
        package let group: Group
        /// The name of the padding or algorithm constant in the Security framework.
        package let name: String
        /// The algorithm of the operation.
        package let algorithm: SecKeyAlgorithm
        /// The data to sign or encrypt; empty for a key exchange.
        let input: [UInt8]
    }

    /// The actual or expected outcome of an operation.
    package enum Outcome: Sendable, Hashable {
        /// The operation returned the correct result.
        case success
        /// The token rejected the operation with this code.
        case refused(TokenError.Code)
        /// The operation returned a wrong result: an invalid signature, a different plaintext or a different secret.
        case wrongResult
    }

    /// The result of one operation.
    package struct Result: Sendable {
        /// The operation that was performed.
        package let row: Row
        /// The outcome that the operation should have.
        package let expected: Outcome
        /// The outcome that the operation had.
        package let actual: Outcome
        /// The token's error if it rejected the operation; otherwise nil.
        package let error: TokenError?

        /// Whether the actual outcome equals the expected one.
        package var isAsExpected: Bool { expected == actual }
    }

    /// All operations. The 43 operations of the sample come first.
    package static let rows: [Row] = oldSign + sign + oldDecrypt + decrypt + curves

    /// The message that the sample signs, either itself or as a digest.
    private static let message = Array("abc".utf8)

    private static func digest(_ digest: SecKeyDigest) -> [UInt8] {
        // Computing a digest is not expected to fail. If it fails, the input is empty and the operation visibly fails.
        (try? DigestStream(digest.algorithm)).flatMap { stream in
            try? stream.update(message)
            return try? stream.finish()
        } ?? []
    }

    private static var oldSign: [Row] {
        SecKeyDigest.allCases.map { digest in
            Row(
                group: .oldSign, name: "kSecPaddingPKCS1\(digest.rawValue)",
                algorithm: .rsaSignaturePKCS1v15(.digest, digest), input: Self.digest(digest))
        }
            // The sample signs 64 uninitialized bytes. In practice they contain the previous SHA-512 digest.
            + [
                Row(
                    group: .oldSign, name: "kSecPaddingNone", algorithm: .rsaSignatureRaw,
                    input: digest(.sha512))
            ]
    }

    private static var sign: [Row] {
        func row(_ algorithm: SecKeyAlgorithm, _ input: [UInt8]) -> Row {
            Row(group: .sign, name: "kSecKeyAlgorithm\(algorithm.name)", algorithm: algorithm, input: input)
        }
        let all = SecKeyDigest.allCases
        return [row(.rsaSignatureRaw, message)]
            + all.map { row(.rsaSignaturePKCS1v15(.message, $0), message) }
            + all.map { row(.rsaSignaturePSS(.message, $0), message) }
            + [row(.rsaSignatureDigestPKCS1v15Raw, digest(.sha512))]
            + all.map { row(.rsaSignaturePKCS1v15(.digest, $0), digest($0)) }
            + all.map { row(.rsaSignaturePSS(.digest, $0), digest($0)) }
    }

    private static var oldDecrypt: [Row] {
        let paddings: [(String, SecKeyAlgorithm)] = [
            ("PKCS1", .rsaEncryptionPKCS1), ("None", .rsaEncryptionRaw), ("OAEP", .rsaEncryptionOAEP(.sha1)),
        ]
        return paddings.map { name, algorithm in
            Row(
                group: .oldDecrypt, name: "kSecPadding\(name)", algorithm: algorithm, input: digest(.sha256))
        }
    }

    private static var decrypt: [Row] {
        SecKeyAlgorithm.allCases.filter { $0.family == .rsa && $0.operation == .decrypt }.map { algorithm in
            Row(
                group: .decrypt, name: "kSecKeyAlgorithm\(algorithm.name)", algorithm: algorithm,
                input: digest(.sha256))
        }
    }

    private static var curves: [Row] {
        SecKeyAlgorithm.allCases.filter { $0.family == .ec }.map { algorithm in
            let group: Group =
                switch algorithm.operation {
                case .sign: .curveSign
                case .decrypt: .curveDecrypt
                case .keyExchange: .keyExchange
                }
            let input =
                algorithm.takesMessage ? message : digest(algorithm.digest ?? .sha256)
            return Row(
                group: group, name: "kSecKeyAlgorithm\(algorithm.name)", algorithm: algorithm, input: input)
        }
    }
}

extension TokenMatrix {
    /// Returns the expected outcome of an operation.
    ///
    /// - Parameters:
    ///   - row: The operation.
    ///   - identity: The identity whose key is used.
    ///   - isLikeTheSample: Whether the token behaves like the sample provider's.
    package static func expected(
        _ row: Row, _ identity: TokenIdentity, isLikeTheSample: Bool
    ) -> Outcome {
        let entry = identity.entry
        guard entry.hasKey else { return .refused(.objectNotFound) }
        let operation = row.algorithm.operation
        let isAllowed =
            entry.properties.allows(operation)
            || (row.group == .curveDecrypt && entry.properties.canPerformKeyExchange)
        // The sample's extension ignores the key usage and supports only RSA algorithms.
        let isPermitted = isLikeTheSample ? row.algorithm.family == .rsa : isAllowed
        let key = identity.certificate.publicKey
        guard isPermitted, row.algorithm.isSupported(by: key.type, bits: key.bits) else {
            return .refused(.badParameter)
        }
        return .success
    }

    /// Performs an operation with the token's key, and compares the outcome with the expected one.
    ///
    /// - Parameters:
    ///   - row: The operation.
    ///   - identity: The identity whose key is used.
    ///   - isLikeTheSample: Whether the token behaves like the sample provider's.
    ///   - use: Performs one key use.
    /// - Throws: The errors that `use` throws, except `TokenError`; `OpenSSLError` if the other key of a key exchange
    ///   cannot be generated.
    package static func run(
        _ row: Row, _ identity: TokenIdentity, isLikeTheSample: Bool,
        use: (TokenUse) async throws -> SecretBytes
    ) async throws -> Result {
        let expected = expected(row, identity, isLikeTheSample: isLikeTheSample)
        var refusal: TokenError?
        let actual: Outcome
        do {
            actual = try await isRight(row, identity, use) ? .success : .wrongResult
        } catch let error as TokenError {
            refusal = error
            actual = .refused(error.code)
        }
        return Result(row: row, expected: expected, actual: actual, error: refusal)
    }

    /// Performs an operation with the token's key, and returns whether the result is correct.
    private static func isRight(
        _ row: Row, _ identity: TokenIdentity, _ use: (TokenUse) async throws -> SecretBytes
    ) async throws -> Bool {
        let key = identity.certificate.publicKey
        switch row.algorithm.operation {
        case .sign:
            let signature = try await use(
                TokenUse(objectID: identity.entry.objectID, row.algorithm, data: row.input))
            return try signature.withTransientArray { bytes in
                // The input of a raw signature may be shorter than the modulus; verifying pads it in the same way.
                try key.verify(bytes, of: row.input, row.algorithm)
            }
        case .decrypt:
            // If the key does not support the algorithm, use arbitrary bytes instead of a ciphertext.
            let ciphertext =
                row.algorithm.isSupported(by: key.type, bits: key.bits)
                ? try key.encrypt(SecretBytes(row.input), row.algorithm)
                : [UInt8](repeating: 1, count: 256)
            let plaintext = try await use(
                TokenUse(objectID: identity.entry.objectID, row.algorithm, data: ciphertext))
            return plaintext.withTransientArray { bytes in
                // Raw decryption keeps leading zeros, so compare only the end of the plaintext, as the sample does.
                row.algorithm == .rsaEncryptionRaw
                    ? Array(bytes.suffix(row.input.count)) == row.input : bytes == row.input
            }
        case .keyExchange:
            let curve = KeyAlgorithm.allCases.first { $0.curve != nil && $0.curve == key.curve }
            let other = try PrivateKey.generate(curve ?? .p256)
            let parameters =
                row.algorithm.derives
                ? KeyOperationParameters(requestedSize: 32, sharedInfo: Array("shared".utf8))
                : KeyOperationParameters()
            let secret = try await use(
                TokenUse(
                    objectID: identity.entry.objectID, row.algorithm, parameters: parameters,
                    data: Array(other.publicKey.keyOctets)))
            return try secret
                == other.exchangeKey(with: Array(key.keyOctets), row.algorithm, parameters: parameters)
        }
    }
}

extension SecKeyAlgorithm {
    /// Whether the key exchange includes a key derivation.
    fileprivate var derives: Bool {
        if case .ecdhKeyExchange(_, .some) = self { true } else { false }
    }
}
