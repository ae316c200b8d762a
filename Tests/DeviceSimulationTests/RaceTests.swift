import Foundation
import OpenSSL
import TestSupport
import Testing

@testable import DeviceSimulation

@Suite("Several users of a key chain at once")
struct RaceTests {
    private let scratch: Scratch
    private let device: Device

    init() throws {
        scratch = try Scratch()
        device = try scratch.device()
    }

    /// Runs `body` on eight threads at once, each with a connection of its own, opened in the race.
    private func race<Value: Sendable>(
        _ body: @escaping @Sendable (Int, Keychain) throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                group.addTask { [device] in try body(number, Keychain(device: device, app: .provider)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("Those who use a new device at once agree on one key and one password", arguments: 0..<5)
    func createOrRead(round: Int) async throws {
        let passwords = try await race { number, keychain in
            try keychain.createOrReadPassword(service: "s", account: "a") {
                SecretBytes(utf8: "from \(number)")
            }.plain
        }
        #expect(passwords.count == 8 && Set(passwords).count == 1)
        let keychain = try Keychain(device: device, app: .provider)
        #expect(try keychain.password(service: "s", account: "a")?.plain == passwords[0])
        #expect(try keychain.changeCount() == 1)
    }

    @Test("Eight writers never see the key chain busy, and lose nothing")
    func writers() async throws {
        _ = try await race { number, keychain in
            for round in 0..<20 {
                try keychain.add(.sample("\(number) \(round)"))
                _ = try keychain.privateKey(label: "\(number) \(round)")
                try keychain.setPassword(SecretBytes(utf8: "\(number)"), service: "s", account: "a")
            }
        }
        let keychain = try Keychain(device: device, app: .provider)
        #expect(try keychain.identities().count == 160)
        #expect(try keychain.changeCount() == 320)
        #expect(try keychain.verifyIntegrity().isEmpty)
    }

    @Test("Of those who add the same identity one succeeds, the others learn that it is there")
    func duplicates() async throws {
        let added = try await race { _, keychain -> Bool in
            do throws(KeychainError) {
                try keychain.add(.sample("A"))
                return true
            } catch {
                #expect(error == KeychainError(.duplicateItem, ""))
                return false
            }
        }
        #expect(added.count { $0 } == 1)
    }

    @Test("One value serves many threads")
    func sharedValue() async throws {
        let keychain = try Keychain(device: device, app: .provider)
        _ = try await race { number, _ in
            for round in 0..<10 {
                try keychain.add(.sample("\(number) \(round)"))
                _ = try keychain.identities()
            }
        }
        #expect(try keychain.identities().count == 80)
    }

    /// Runs the exit test that `body` is eight times at once.
    private func inProcesses(_ body: @escaping @Sendable (Int) async -> Void) async {
        await withTaskGroup { group in
            for number in 0..<8 { group.addTask { await body(number) } }
        }
    }

    @Test("Eight processes never see the key chain busy, and lose nothing")
    func processes() async throws {
        await inProcesses { [folder = device.folder] number in
            await #expect(processExitsWith: .success) { [folder = folder as String, number = number as Int] in
                let keychain = try Keychain(device: Device(folder: folder), app: .provider)
                for round in 0..<20 {
                    let account = "\(number) \(round)"
                    try keychain.add(
                        .genericPassword(SecretBytes(utf8: account), service: "s", account: account))
                    try keychain.update(
                        KeychainQuery(.genericPassword, account: account), KeychainChange(label: "changed"))
                    try keychain.setPassword(SecretBytes(utf8: "\(number)"), service: "all", account: "")
                    try #require(keychain.password(service: "s", account: account)?.plain == account)
                }
            }
        }
        let keychain = try Keychain(device: device, app: .provider)
        let items = try keychain.copyMatching(
            KeychainQuery(.genericPassword, label: "changed"), limit: .max, returnsData: true)
        #expect(items.count == 160 && items.allSatisfy { $0.data?.plain == $0.attributes.account })
        #expect(try keychain.changeCount() == 480)
        #expect(try keychain.verifyIntegrity().isEmpty)
    }

    @Test(
        "Eight processes that send on one road never see it busy, and what is received is whole",
        arguments: RoadCandidate.ofFiles.indices)
    func roads(index: Int) async throws {
        let folder = device.folder
        let ends = RoadEnds(device: device, sender: Pair.sender, receiver: Pair.receiver)
        try RoadCandidate.ofFiles[index].prepare(ends)
        await inProcesses { number in
            await #expect(processExitsWith: .success) {
                [folder = folder as String, number = number as Int, index = index as Int] in
                let ends = RoadEnds(
                    device: try Device(folder: folder), sender: Pair.sender, receiver: Pair.receiver)
                let road = try RoadCandidate.ofFiles[index].make(ends)
                let now = Date(timeIntervalSince1970: 1_800_000_000)
                for round in 0..<10 {
                    let account = "\(number) \(round)"
                    let secret = SecretBytes(utf8: String(repeating: account, count: 100))
                    try await road.send(
                        Credential(account: account, secret: secret, expires: now + 9), now: now)
                    let found = try #require(
                        try await road.receive(by: Pair.receiver, now: now) { _ in true })
                    try #require(found.secret.plain == String(repeating: found.account, count: 100))
                }
            }
        }
    }
}
