import Foundation
import KeyOperations
import KeyShareClient
import KeyShareProtocol
import KeyShareServer
import KeyShareWire
import KeySharing
import LocalSockets
import OpenSSL
import PersistentToken
import SecretMemory
import SimulatedKeychain
import TestSupport
import Testing

@testable import KeyShareConsumer

@Suite("Keys of a token", .timeLimit(.minutes(10)))
struct TokenPrivateKeyTests {
    /// A token with one entry, whose key uses have a given result.
    private struct StandInToken: TokenService {
        let entry: TokenEntry
        let result: @Sendable (TokenUse) throws(TokenError) -> SecretBytes

        func tokens(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenPage {
            TokenPage(entries: [entry], changeCount: 1, nextCursor: nil)
        }
        func tokenStatus() async throws(ProviderFailure) -> TokenStatus {
            throw ProviderFailure(.serviceFailed, "")
        }
        func tokenObjects(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenObjectPage
        {
            throw ProviderFailure(.serviceFailed, "")
        }
        func message(for use: TokenUse) throws(TokenError) -> any MultipartSignature {
            throw TokenError(.notImplemented, "")
        }
        func openedKey(for use: TokenUse) -> OpenedTokenUse? { nil }
        func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation {
            { [result] () throws(TokenError) in try result(use) }
        }
    }

    private static func entry(
        _ certificate: Certificate, _ family: SecKeyAlgorithm.KeyFamily, usage: KeyUsage
    ) -> TokenEntry {
        TokenEntry(
            tokenID: "token", objectID: certificate.label, label: "label", certificate: certificate.der,
            keyFamily: family, keyBits: certificate.publicKey.bits,
            properties: TokenKeyProperties(usage: usage, family: family, rule: .rfc5280), hasKey: true,
            rule: .rfc5280)
    }

    /// Calls `body` with the key of a token whose key uses have a given result.
    private static func withKey<Result: Sendable>(
        _ entry: TokenEntry, result: @escaping @Sendable (TokenUse) throws(TokenError) -> SecretBytes,
        _ body: @Sendable (TokenPrivateKey) async throws -> Result
    ) async throws -> Result {
        var provider = StandInProvider()
        provider.token = StandInToken(entry: entry, result: result)
        return try await provider.serving { client in
            let identity = try #require(try await TokenKeychain(client).identities().first)
            return try await body(TokenPrivateKey(identity, through: client))
        }
    }

    /// A result computed with a private key.
    private static func computed(
        _ key: PrivateKey
    ) -> @Sendable (TokenUse) throws(TokenError) -> SecretBytes {
        { (use) throws(TokenError) in
            guard let algorithm = SecKeyAlgorithm(named: use.algorithm) else {
                throw TokenError(.badParameter, "")
            }
            return use.operation == .sign
                ? SecretBytes(try key.sign(use.data, algorithm)) : try key.decrypt(use.data, algorithm)
        }
    }

    @Test("A signature is returned only if the certificate's key verifies it")
    func signatures() async throws {
        let (own, other) = (try TestIdentity("own"), try TestIdentity("other"))
        let entry = Self.entry(own.certificate, .ec, usage: .digitalSignature)
        let digest = [UInt8](repeating: 7, count: 32)
        try await Self.withKey(entry, result: Self.computed(own.privateKey)) { (key) async throws in
            #expect(try await key.provesPossession())
            let signature = try #require(try key.result(of: .signECDSA(digest)))
            let use = TokenUse(
                objectID: entry.objectID, .ecdsaSignatureX962(.digest, .sha256), data: digest)
            try key.requireProof(signature, of: use)
            #expect(throws: TokenPrivateKey.UnprovedSignature.self) {
                try key.requireProof(SecretBytes([1, 2, 3]), of: use)
            }
        }
        try await Self.withKey(entry, result: Self.computed(other.privateKey)) { (key) async throws in
            #expect(try await !key.provesPossession())
            #expect(throws: TokenPrivateKey.UnprovedSignature.self) {
                try key.result(of: .signECDSA(digest))
            }
        }
    }

    @Test("A key proves possession by a decryption, and hides the reason of a failed one")
    func decryption() async throws {
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        let certificate = try TestIdentity("own", key: key, usage: .keyEncipherment).certificate
        let entry = Self.entry(certificate, .rsa, usage: .keyEncipherment)
        let use = PrivateKeyUse.decryptRSA([UInt8](repeating: 1, count: 256), .pkcs1(nil))
        #expect(
            try await Self.withKey(entry, result: Self.computed(key)) { key in
                // A decrypted value proves nothing by itself.
                try key.requireProof(
                    SecretBytes([1]),
                    of: TokenUse(
                        objectID: entry.objectID, .rsaEncryptionPKCS1, data: [UInt8](repeating: 1, count: 256)
                    ))
                return try await key.provesPossession()
            })
        for wrong in [SecretBytes([]), SecretBytes([UInt8](repeating: 1, count: 32))] {
            let isProved = try await Self.withKey(entry, result: { _ in wrong }) {
                try await $0.provesPossession()
            }
            #expect(!isProved)
        }
        for (reason, isHidden) in [
            (TokenRefusalReason.undecryptable, true), (.wrongLength, true), (.deviceLocked, false),
            (.userDenied, false),
        ] {
            try await Self.withKey(
                entry,
                result: { (_) throws(TokenError) in throw TokenError(.corruptedData, "", obstacle: reason) }
            ) { (key) async throws in
                if isHidden {
                    #expect(try key.result(of: use) == nil)
                } else {
                    let error = #expect(throws: TokenError.self) { try key.result(of: use) }
                    #expect(error?.obstacle == reason)
                }
                if reason == .undecryptable {
                    #expect(try await !key.provesPossession())
                } else {
                    await #expect(throws: TokenError.self) { try await key.provesPossession() }
                }
            }
        }
    }

    /// Aliases with one row of given columns.
    private struct OneAlias: AliasService {
        let columns: [String]
        let row: [String]

        func aliases(_ query: AliasQueryRequest, limit: Int) async throws(TokenError) -> AliasPage {
            AliasPage(changeCount: 1, columns: columns, rows: [row], nextCursor: nil)
        }
        func chooseAlias(_ request: AliasChoiceRequest) async throws(TokenError) -> AliasChoice {
            throw TokenError(.notImplemented, "")
        }
        func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation {
            throw TokenError(.notImplemented, "")
        }
    }

    @Test("Aliases are read only if the provider returns the requested columns, in this order")
    func aliasColumns() async throws {
        let certificate = try TestIdentity("own").certificate
        let columns = AliasQuery.Column.allCases.map(\.rawValue)
        let row = ["a", Data(certificate.der).base64EncodedString(), "other"]
        let damaged = row[1].prefix(row[1].count / 8 * 4)
        for (places, isRead) in [
            ([0, 1, 2], true), ([1, 0, 2], false), ([0, 1], false), ([0, 3, 2], false),
        ] {
            var provider = StandInProvider()
            provider.token = StandInToken(
                entry: Self.entry(certificate, .ec, usage: .digitalSignature)
            ) { _ in SecretBytes([]) }
            provider.aliases = OneAlias(
                columns: places.map { (columns + ["certificate"])[$0] },
                row: places.map { (row + [String(damaged)])[$0] })
            try await provider.serving { (client) async throws in
                if isRead {
                    let member = try #require(try await AliasKeychain(client).members.first)
                    #expect(member.entry.alias == "a" && member.identity.certificate == certificate)
                } else {
                    await #expect(throws: SocketError(.malformedReply, "")) {
                        try await AliasKeychain(client)
                    }
                }
            }
        }
    }

    @Test("An invalid certificate of a token is an error of the provider")
    func invalidCertificate() async throws {
        let certificate = try TestIdentity("own").certificate
        let entry = TokenEntry(
            tokenID: "token", objectID: "object", label: "label",
            certificate: Array(certificate.der.dropLast()),
            keyFamily: .ec, keyBits: 256,
            properties: TokenKeyProperties(usage: .digitalSignature, family: .ec, rule: .rfc5280),
            hasKey: true,
            rule: .rfc5280)
        var provider = StandInProvider()
        provider.token = StandInToken(entry: entry) { _ in SecretBytes([]) }
        _ = try await provider.serving { (client) async throws in
            await #expect(throws: SocketError(.malformedReply, "")) { try await TokenKeychain(client) }
        }
    }

    @Test("Only an app with the entitlement sees the identities of tokens")
    func entitlement() async throws {
        let certificate = try TestIdentity("own").certificate
        var provider = StandInProvider()
        provider.token = StandInToken(entry: Self.entry(certificate, .ec, usage: .digitalSignature)) { _ in
            SecretBytes([])
        }
        try await provider.serving { (client) async throws in
            for (groups, count) in [([], nil), ([Entitlements.tokenGroup], 1)] as [([String], Int?)] {
                do {
                    let keychain = try await TokenKeychain(
                        client, entitlements: Entitlements(keychainAccessGroups: groups))
                    #expect(keychain.identities().count == count)
                } catch let error as TokenError {
                    #expect(error.obstacle == .notEntitled && count == nil)
                    #expect(TokenKeychain.isEmpty(after: error))
                }
            }
        }
        let errors: [any Error] = [
            TokenError(.authenticationNeeded, "", obstacle: .deviceLocked),
            ProviderFailure(.serviceFailed, ""),
            CancellationError(),
        ]
        for error in errors { #expect(!TokenKeychain.isEmpty(after: error)) }
        #expect(TokenKeychain.isEmpty(after: ProviderFailure(.unknownRequest, "")))
    }
}
