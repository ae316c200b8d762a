import DeviceSimulation
import Foundation
import KeySharing
import OpenSSL
import SecretMemory
import SimulatedKeychain
import TestSupport
import Testing

@testable import KeyShareConsumer

@Suite("The identity that signs a message", .timeLimit(.minutes(10)))
struct MailIdentitiesTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let signing: KeyUsage = [.digitalSignature, .nonRepudiation]
    private let scratch: ScratchFolder
    private let store: ConsumerStore

    init() throws {
        scratch = try ScratchFolder()
        store = try ConsumerStore(try Device(folder: scratch.path("device")))
    }

    /// Adds an identity whose validity begins and ends a number of days from now, and returns its label.
    @discardableResult
    private func add(
        _ name: String, _ usage: KeyUsage, days: ClosedRange<Int>, key: PrivateKey? = nil
    ) async throws -> String {
        let identity = try TestIdentity(
            name, key: key, usage: usage, notBefore: Self.now + Double(days.lowerBound) * 86_400,
            notAfter: Self.now + Double(days.upperBound) * 86_400)
        let contents = try PKCS12.read(try identity.file(), password: .text(SecretBytes(utf8: "password")))
        _ = try await store.add(contents.identities)
        return identity.certificate.label
    }

    private func signer(only label: String? = nil) throws -> String {
        try MailIdentities(store, only: label).signer(at: Self.now).identity.summary.label
    }

    @Test("The newest valid signature identity signs, and an expired one only if it is the only identity")
    func valid() async throws {
        let expired = try await add("expired", Self.signing, days: -10 ... -5)
        #expect(try signer() == expired)
        let older = try await add("older", Self.signing, days: -30...10)
        #expect(try signer() == older)
        let newer = try await add("newer", Self.signing, days: -20...10)
        #expect(try signer() == newer)
        try await add("authentication", .digitalSignature, days: -1...10)
        try await add("encryption", .keyEncipherment, days: -1...10)
        try await add("future", Self.signing, days: 5...10)
        #expect(try signer() == newer)
        #expect(try signer(only: older) == older)
    }

    @Test("Without a valid signer, the error says whether all are expired or none may sign")
    func errors() async throws {
        func reason() throws -> String {
            do {
                return try signer()
            } catch let error as MailIdentities.NoSigner {
                return "\(error)"
            }
        }
        let only = try await add("encryption", .keyEncipherment, days: -1...10)
        let unsuitable = #expect(throws: CMSError.self) { try signer() }
        #expect(unsuitable?.code == .unsuitableKey)
        try await add("other", .keyEncipherment, days: -2...10)
        #expect(try reason() == "noSigningKey")
        #expect(throws: CMSError.self) { try signer(only: only) }
        try await add("expired", Self.signing, days: -10 ... -5)
        #expect(try reason() == "allExpired")
    }

    @Test(
        "An Ed25519 key signs no message, even if it is the only one, and the error names a usable identity")
    func unsupportedKey() async throws {
        // RFC 8410, 10.3
        let encoded = "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC"
        let key = try PrivateKey(pkcs8: SecretBytes(try #require(Data(base64Encoded: encoded))))
        let unsupported = try await add("unsupported", Self.signing, days: -1...10, key: key)
        func other() throws -> String {
            do {
                return try signer(only: unsupported)
            } catch MailIdentities.NoSigner.unsupportedKey(let identity, let other) {
                #expect(identity.summary.label == unsupported)
                return other?.summary.label ?? "none"
            }
        }
        #expect(try other() == "none")
        let usable = try await add("usable", Self.signing, days: -2...10)
        #expect(try other() == usable)
        let chosen = try MailIdentities(store, only: nil).signer(at: Self.now)
        #expect(chosen.identity.summary.label == usable)
        #expect(chosen.skipped.map(\.summary.label) == [unsupported])
    }

    @Test("If the only valid key that may sign is an Ed25519 key, the error names it and no other identity")
    func onlyUnsupportedKey() async throws {
        // RFC 8410, 10.3
        let encoded = "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC"
        let key = try PrivateKey(pkcs8: SecretBytes(try #require(Data(base64Encoded: encoded))))
        let unsupported = try await add("unsupported", Self.signing, days: -1...10, key: key)
        try await add("encryption", .keyEncipherment, days: -1...10)
        try await add("expired", Self.signing, days: -10 ... -5)
        do {
            let label = try signer()
            Issue.record("\(label) signs")
        } catch MailIdentities.NoSigner.unsupportedKey(let identity, let other) {
            #expect(identity.summary.label == unsupported && other == nil)
        }
    }
}
