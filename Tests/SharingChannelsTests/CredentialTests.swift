import DeviceSimulation
import Foundation
import LoopbackHTTP
import PrivateFiles
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
        // The account is text, and the secret may have any bytes.
        for (name, isValid) in [("account", false), ("expires", false), ("secret", true)] {
            var fields = credential.fields
            fields[name] = SecretBytes([0xFF])
            #expect((Credential(fields) != nil) == isValid, "\(name)")
        }
        #expect(throws: SharingChannelError(.damaged, "")) {
            try Credential(SecretBytes([1, 2, 3]), at: now)
        }
        #expect(try Credential(credential.encoded, at: now + 29) == credential)
        for seconds: TimeInterval in [30, 31] {
            #expect(throws: SharingChannelError(.expired, "")) {
                try Credential(credential.encoded, at: now + seconds)
            }
        }
    }

    @Test("A file of an application group is locked before the first unlock, and may be damaged")
    func groupFile() throws {
        let scratch = try ScratchFolder()
        let ends = try ends(scratch)
        let channel = AppGroupChannel(ends)
        func receive() throws(SharingChannelError) -> Credential? {
            try channel.receive(by: Pair.receiver, now: now) { _ in true }
        }
        #expect(try receive() == nil)
        try channel.send(credential, now: now)
        #expect(try receive() == credential)
        try ends.device.restart()
        #expect(throws: SharingChannelError(.locked, "")) { try receive() }
        try ends.device.unlock()
        #expect(try receive() == credential)
        let group = try AppGroup(
            try ends.sharedApplicationGroup(), app: Pair.sender, device: ends.device)
        try group.write([1, 2, 3], to: "credential")
        #expect(throws: SharingChannelError(.damaged, "")) { try receive() }
    }

    @Test("A database whose key was deleted is damaged, and a file that is not a database fails")
    func database() throws {
        let scratch = try ScratchFolder()
        let ends = try ends(scratch)
        let channel = DatabaseChannel(ends)
        func receive() throws(SharingChannelError) -> Credential? {
            try channel.receive(by: Pair.receiver, now: now) { _ in true }
        }
        try channel.send(credential, now: now)
        #expect(try receive() == credential)
        let keychain = try Keychain(device: ends.device, app: Pair.sender)
        try keychain.delete(
            KeychainQuery(.genericPassword, accessGroup: try ends.sharedKeychainGroup()))
        #expect(throws: SharingChannelError(.damaged, "")) { try receive() }
        let folder = try ends.device.groupContainer(try ends.sharedApplicationGroup(), for: Pair.sender)
        let path = folder + "/credential.sqlite"
        for name in try FileManager.default.contentsOfDirectory(atPath: folder)
        where name.hasPrefix("credential.sqlite") {
            try FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        try AtomicFile.write([UInt8](repeating: 7, count: 4_096), to: path)
        let error = #expect(throws: SharingChannelError.self) { try receive() }
        #expect(error?.code == .failed && error?.reason.hasPrefix("the group's database reported") == true)
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
