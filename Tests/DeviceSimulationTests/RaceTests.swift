import OpenSSL
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
}
