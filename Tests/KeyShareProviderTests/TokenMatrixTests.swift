import DeviceSimulation
import Foundation
import KeyOperations
import KeySharing
import OpenSSL
import PersistentToken
import SecretMemory
import TestSupport
import Testing

@testable import KeyShareProvider

/// A key that libcrypto made, with a certificate.
struct MatrixKey: Sendable, CustomTestStringConvertible {
    let name: String
    let key: PrivateKey
    let certificate: Certificate
    let rule: TokenKeyProperties.Rule

    var testDescription: String { name }

    init?(
        _ name: String, bits: Int = 0, curve: String? = nil, usage: KeyUsage?,
        rule: TokenKeyProperties.Rule = .cryptoTokenKit
    ) {
        guard let bytes = TokenReference.key(rsaBits: bits, curve: curve),
            let key = try? PrivateKey(pkcs8: SecretBytes(bytes)),
            let subject = try? DistinguishedName([.init("CN", name)])
        else { return nil }
        var template = CertificateTemplate(
            subject: subject, serialNumber: [1], notBefore: Date(timeIntervalSince1970: 1_700_000_000),
            notAfter: Date(timeIntervalSince1970: 1_900_000_000))
        template.keyUsage = usage
        guard let issuer = try? CertificateIssuer(selfSigned: template, privateKey: key) else { return nil }
        self.name = name
        self.key = key
        self.rule = rule
        certificate = issuer.certificate
    }

    /// The keys, which are made once.
    static let all: [MatrixKey] = {
        let usage: KeyUsage = [.digitalSignature, .keyEncipherment, .keyAgreement]
        return [1024, 2048, 3072, 4096].compactMap { MatrixKey("RSA-\($0)", bits: $0, usage: usage) }
            + [
                MatrixKey("P-256", curve: "P-256", usage: usage),
                MatrixKey("P-384", curve: "P-384", usage: usage),
            ]
            .compactMap(\.self)
    }()
    static let withoutUsage = MatrixKey("without key usage", curve: "P-256", usage: nil)
    static let withoutUsageRFC5280 = MatrixKey(
        "without key usage, by RFC 5280", bits: 2048, usage: nil, rule: .rfc5280)
}

@Suite("Every algorithm with every key, against libcrypto")
struct TokenMatrixTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let keys: TokenKeys

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
        keys = TokenKeys(store, now: { .now }, sleep: { _ in })
    }

    /// What is encrypted. OAEP with SHA-384 has room for 30 bytes under a modulus of 1,024 bits.
    private static let plaintext = [UInt8](0..<30)

    private static var parameters: KeyOperationParameters {
        var parameters = KeyOperationParameters()
        parameters.requestedSize = 45
        parameters.sharedInfo = Array("shared".utf8)
        parameters.associatedData = Array("associated".utf8)
        return parameters
    }

    /// Whether an algorithm is for a key, by the sizes that RFC 8017 asks of a modulus: 9.1.1 for PSS with a salt as
    /// long as the digest, 7.1.1 for OAEP.
    private static func supports(_ algorithm: SecKeyAlgorithm, _ key: MatrixKey) -> Bool {
        let isRSA = key.certificate.publicKey.type == .rsa
        guard algorithm.name.hasPrefix("RSA") == isRSA else { return false }
        let (bits, size) = (key.certificate.publicKey.bits, key.certificate.publicKey.bits / 8)
        switch algorithm {
        case .rsaSignaturePSS(_, let digest): return bits >= 16 * digest.byteCount + 9
        case .rsaEncryptionOAEP(let digest), .rsaEncryptionOAEPAESGCM(let digest):
            return size >= 2 * digest.byteCount + 2
        default: return true
        }
    }

    /// What is signed: a message of three bytes, a digest of the right length, or 32 bytes.
    private static func input(of algorithm: SecKeyAlgorithm) -> [UInt8] {
        if algorithm.takesMessage { return Array("abc".utf8) }
        return [UInt8](repeating: 0x5A, count: algorithm.digest?.byteCount ?? 32)
    }

    /// Uses a token's key.
    ///
    /// - Returns: the result, or the status of the error.
    private func use(
        _ key: MatrixKey, _ algorithm: SecKeyAlgorithm, _ data: [UInt8]
    ) async -> Result<[UInt8], TokenError> {
        let use = TokenUse(
            objectID: key.certificate.label, algorithm, parameters: Self.parameters, data: data)
        do throws(TokenError) {
            return .success(try await keys.use(use).withTransientArray { $0.map(\.self) })
        } catch {
            return .failure(error)
        }
    }

    /// Whether the token's result with an algorithm is what libcrypto makes of it.
    private func isRight(_ key: MatrixKey, _ algorithm: SecKeyAlgorithm) async throws -> Bool {
        let publicKey = key.certificate.publicKey
        let reference = TokenReference(spki: publicKey.spki, bits: publicKey.bits)
        switch algorithm.operation {
        case .sign:
            let data = Self.input(of: algorithm)
            var signature = try await use(key, algorithm, data).get()
            guard reference.verifies(signature, of: data, algorithm) else { return false }
            // The check can fail: an altered signature does not verify.
            signature[signature.count - 1] ^= 1
            return !reference.verifies(signature, of: data, algorithm)
        case .decrypt:
            let ciphertext = try #require(reference.encrypted(Self.plaintext, algorithm, Self.parameters))
            let plaintext = try await use(key, algorithm, ciphertext).get()
            guard algorithm == .rsaEncryptionRaw else { return plaintext == Self.plaintext }
            return plaintext == [UInt8](repeating: 0, count: publicKey.bits / 8 - Self.plaintext.count)
                + Self.plaintext
        case .keyExchange:
            guard case .ecdhKeyExchange(_, let digest) = algorithm else { return false }
            let (point, secret) = try #require(reference.agreement(digest, Self.parameters))
            return try await use(key, algorithm, point).get() == secret
        }
    }

    @Test("Six keys are tried, and RSA-1024 does not take what its modulus is too short for")
    func keysAreThere() {
        #expect(
            MatrixKey.all.map(\.name) == ["RSA-1024", "RSA-2048", "RSA-3072", "RSA-4096", "P-256", "P-384"])
        let short = SecKeyAlgorithm.allCases.filter {
            $0.family == .rsa && !Self.supports($0, MatrixKey.all[0])
        }
        #expect(
            short.map(\.name) == [
                "RSASignatureDigestPSSSHA512", "RSASignatureMessagePSSSHA512", "RSAEncryptionOAEPSHA512",
                "RSAEncryptionOAEPSHA512AESGCM",
            ])
    }

    @Test("Each row is right by libcrypto's account, or refused with errSecParam", arguments: MatrixKey.all)
    func rows(key: MatrixKey) async throws {
        try TokenStore(store).add(key.certificate, key.key, rule: key.rule)
        for algorithm in SecKeyAlgorithm.allCases {
            if Self.supports(algorithm, key) {
                #expect(try await isRight(key, algorithm), "\(algorithm.name)")
            } else {
                let result = await use(key, algorithm, Self.input(of: algorithm))
                #expect(throws: TokenError(.badParameter, "")) { try result.get() }
            }
        }
    }

    @Test(
        "Without a key usage a key can nothing for CryptoTokenKit, and by RFC 5280 everything that it is for")
    func withoutKeyUsage() async throws {
        let strict = try #require(MatrixKey.withoutUsage)
        try TokenStore(store).add(strict.certificate, strict.key, rule: strict.rule)
        for algorithm in SecKeyAlgorithm.allCases where Self.supports(algorithm, strict) {
            let result = await use(strict, algorithm, Self.input(of: algorithm))
            guard case .failure(let error) = result else {
                Issue.record("\(algorithm.name) is allowed")
                continue
            }
            #expect(error.obstacle == .usageForbids && error.status == .parameter)
        }
        let open = try #require(MatrixKey.withoutUsageRFC5280)
        try TokenStore(store).add(open.certificate, open.key, rule: open.rule)
        for algorithm in SecKeyAlgorithm.allCases where Self.supports(algorithm, open) {
            #expect(try await isRight(open, algorithm), "\(algorithm.name)")
        }
    }
}
