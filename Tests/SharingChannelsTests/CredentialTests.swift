import DeviceSimulation
import Foundation
import LoopbackHTTP
import SecretMemory
import SimulatedKeychain
import TestSupport
import Testing

@testable import SharingChannels

@Suite("Credentials and the keys that protect them", .timeLimit(.minutes(10)))
struct CredentialTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private var credential: Credential {
        Credential(account: "a", secret: SecretBytes(utf8: "canary"), expires: now + 30)
    }

    private func ends(_ scratch: ScratchFolder) throws -> ChannelEndpoints {
        ChannelEndpoints(
            device: try Device(folder: scratch.path("device")), sender: Pair.sender, receiver: Pair.receiver)
    }

    @Test("A credential has an account, a secret and a finite expiry, and is invalid from its expiry")
    func fields() throws {
        #expect(Credential(credential.fields) == credential)
        for (name, value) in [
            ("expires", "inf"), ("expires", "nan"), ("expires", "soon"), ("expires", nil), ("account", nil),
            ("secret", nil),
        ] {
            var fields = credential.fields
            fields[name] = value.map { SecretBytes(utf8: $0) }
            #expect(Credential(fields) == nil, "\(name)")
        }
        #expect(try Credential(credential.encoded, at: now + 29) == credential)
        for seconds: TimeInterval in [30, 31] {
            #expect(throws: SharingChannelError(.expired, "")) {
                try Credential(credential.encoded, at: now + seconds)
            }
        }
    }

    @Test("The user grants a KeyChain key once")
    func grant() throws {
        let scratch = try ScratchFolder()
        let channel = AndroidKeyChainChannel(try ends(scratch))
        try channel.send(credential, now: now)
        #expect(throws: SharingChannelError(.denied, "")) {
            try channel.receive(by: Pair.receiver, now: now) { _ in false }
        }
        #expect(try channel.receive(by: Pair.receiver, now: now) { _ in true } == credential)
        #expect(try channel.receive(by: Pair.receiver, now: now) { _ in false } == credential)
    }

    @Test("Removing a token's credential also deletes the token's key")
    func removedKey() throws {
        let scratch = try ScratchFolder()
        let ends = try ends(scratch)
        let channel = PersistentTokenChannel(ends)
        try channel.send(credential, now: now)
        let keychain = try Keychain(device: ends.device, app: Pair.sender)
        #expect(try keychain.copyMatching(KeychainQuery(.key)).count == 1)
        try channel.remove()
        let error = #expect(throws: KeychainError.self) { try keychain.copyMatching(KeychainQuery(.key)) }
        #expect(error?.code == .itemNotFound)
    }

    @Test("An expired credential is not offered, and another scheme of authorization is rejected")
    func offers() async throws {
        let scratch = try ScratchFolder()
        let channel = LoopbackChannel(try ends(scratch))
        await #expect(throws: SharingChannelError(.expired, "")) {
            try await channel.send(credential, now: now + 30)
        }
        let offer = OneTimeOffer(now: { .now })
        offer.set([1], token: SecretBytes(utf8: "token"))
        for (authorization, status) in [("Basic: token", 401), ("Bearer token", 200), ("Bearer token", 410)] {
            let request = HTTPRequest(
                method: .get, path: OneTimeOffer.path, authorization: SecretBytes(utf8: authorization))
            #expect(offer.answer(request).status == status)
        }
    }

    @Test("A URL of another host, or with a key of another length, does not belong to the channel")
    func foreignURLs() async throws {
        let scratch = try ScratchFolder()
        let ends = try ends(scratch)
        let channel = LoopbackChannel(ends)
        for (host, count) in [("10.0.0.1", 32), ("127.0.0.1", 31), ("127.0.0.1", 33)] {
            let key = String(repeating: "k", count: count)
            try ends.device.open(SecretBytes(utf8: "http://\(host):9/credential#\(key)"), in: Pair.receiver)
            await #expect(throws: SharingChannelError(.damaged, "")) {
                try await channel.receive(by: Pair.receiver, now: now) { _ in true }
            }
        }
    }
}
