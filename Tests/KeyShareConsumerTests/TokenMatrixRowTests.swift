import KeyShareProtocol
import KeySharing
import OpenSSL
import PersistentToken
import SecretMemory
import Testing

@testable import KeyShareConsumer

@Suite("Rows of the token matrix", .timeLimit(.minutes(10)))
struct TokenMatrixRowTests {
    private static func identity(
        _ usage: KeyUsage, _ key: PrivateKey, hasKey: Bool = true
    ) throws -> TokenIdentity {
        let certificate = try TestIdentity("a", key: key, usage: usage).certificate
        let family: SecKeyAlgorithm.KeyFamily = certificate.publicKey.type == .rsa ? .rsa : .ec
        return try TokenIdentity(
            TokenEntry(
                tokenID: "token", objectID: certificate.label, label: "label", certificate: certificate.der,
                keyFamily: family, keyBits: certificate.publicKey.bits,
                properties: TokenKeyProperties(usage: usage, family: family, rule: .rfc5280), hasKey: hasKey,
                rule: .rfc5280))
    }

    private static func row(_ algorithm: SecKeyAlgorithm) throws -> TokenMatrix.Row {
        try #require(
            TokenMatrix.rows.first {
                $0.algorithm == algorithm && $0.group != .oldSign && $0.group != .oldDecrypt
            })
    }

    private static func wrongResult(_ use: TokenUse) -> SecretBytes { SecretBytes([1, 2, 3]) }

    @Test("A wrong signature, plaintext or shared secret is a wrong result")
    func wrongResults() async throws {
        let (curve, rsa) = (try PrivateKey.generate(.p256), try PrivateKey.generate(.rsa(bits: 2048)))
        let rows: [(SecKeyAlgorithm, TokenIdentity)] = [
            (.ecdsaSignatureX962(.message, .sha256), try Self.identity(.digitalSignature, curve)),
            (.rsaEncryptionOAEP(.sha256), try Self.identity(.keyEncipherment, rsa)),
            (.rsaEncryptionRaw, try Self.identity(.keyEncipherment, rsa)),
            (.ecdhKeyExchange(isCofactor: false, nil), try Self.identity(.keyAgreement, curve)),
        ]
        for (algorithm, identity) in rows {
            let result = try await TokenMatrix.run(
                try Self.row(algorithm), identity, isLikeTheSample: false, use: Self.wrongResult)
            #expect(result.expected == .success, "\(algorithm.name)")
            #expect(result.actual == .wrongResult && !result.isAsExpected, "\(algorithm.name)")
        }
    }

    @Test("The sample ignores the key usage and supports only RSA; other tokens apply the key usage")
    func expectations() throws {
        let (curve, rsa) = (try PrivateKey.generate(.p256), try PrivateKey.generate(.rsa(bits: 2048)))
        let signing = try Self.row(.rsaSignaturePKCS1v15(.message, .sha256))
        let curveSigning = try Self.row(.ecdsaSignatureX962(.message, .sha256))
        let refused = TokenMatrix.Outcome.refused(.badParameter)
        let cases: [(TokenMatrix.Row, TokenIdentity, Bool, TokenMatrix.Outcome)] = [
            (signing, try Self.identity(.digitalSignature, rsa), true, .success),
            (signing, try Self.identity(.digitalSignature, rsa), false, .success),
            (signing, try Self.identity(.keyEncipherment, rsa), true, .success),
            (signing, try Self.identity(.keyEncipherment, rsa), false, refused),
            (curveSigning, try Self.identity(.digitalSignature, curve), true, refused),
            (curveSigning, try Self.identity(.digitalSignature, curve), false, .success),
            (signing, try Self.identity(.digitalSignature, curve), true, refused),
            (
                signing, try Self.identity(.digitalSignature, rsa, hasKey: false), false,
                .refused(.objectNotFound)
            ),
        ]
        for (index, (row, identity, isLikeTheSample, expected)) in cases.enumerated() {
            let outcome = TokenMatrix.expected(row, identity, isLikeTheSample: isLikeTheSample)
            #expect(outcome == expected, "case \(index)")
        }
    }
}
