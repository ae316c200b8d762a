import Foundation
import SecretMemory
import SharingChannels
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("Concurrent use of a keychain", .timeLimit(.minutes(10)))
struct RaceTests {
    private let scratch: ScratchFolder
    private let device: Device

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
    }

    /// Runs `body` on eight threads concurrently, each with its own connection, which is opened in the race.
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

    @Test(
        "Processes that create a device at the same time agree on one key and one password",
        arguments: 0..<5)
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

    @Test("Eight writers in one process never find the keychain busy, and lose no data")
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

    @Test("If threads add the same identity concurrently, one succeeds and the others get a duplicate")
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

    @Test("Many threads can use one keychain value")
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

    /// Runs eight copies of the exit test in `body` concurrently.
    private func inProcesses(_ body: @escaping @Sendable (Int) async -> Void) async {
        await withTaskGroup { group in
            for number in 0..<8 { group.addTask { await body(number) } }
        }
    }

    @Test("Eight processes never find the keychain busy, and lose no data")
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

    @Test("Eight processes that write and read one group, its files and its keys, lose no data")
    func group() async throws {
        let folder = device.folder
        await inProcesses { number in
            await #expect(processExitsWith: .success) { [folder = folder as String, number = number as Int] in
                try RaceTests.workInGroup(folder, number)
            }
        }
        // All reported work of each process exists.
        let group = try AppGroup(Pair.groups.applicationGroups[0], app: Pair.sender, device: device)
        let keychain = try Keychain(device: device, app: Pair.sender)
        var sum = 0
        for number in 0..<8 {
            let done = try Self.number(group.read("done \(number)"))
            sum += done
            #expect(done > 0)
            #expect(try Self.number(group.read("own \(number)")) == done)
            #expect(try keychain.password(service: "own", account: "\(number)")?.plain == "\(done)")
        }
        #expect(try Self.number(group.read("count")) == sum)
        #expect(try keychain.verifyIntegrity().isEmpty)
        #expect(try scratch.names(group.folder).allSatisfy { !$0.hasSuffix(".tmp") })
    }

    private static func number(_ bytes: [UInt8]?) throws -> Int {
        guard let bytes else { return 0 }
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
        // A file repeats one number, so that a torn write is visible.
        try #require(Set(words).count == 1)
        return try #require(Int(words[0]))
    }

    /// Counts in a shared file, in a file of its own and in a password of its own.
    private static func workInGroup(_ folder: String, _ number: Int) throws {
        let device = try Device(folder: folder)
        let group = try AppGroup(Pair.groups.applicationGroups[0], app: Pair.sender, device: device)
        let keychain = try Keychain(device: device, app: Pair.sender)
        let end = Effort.raceSeconds.map { ContinuousClock.now + .seconds($0) }
        var done = 0
        while done < 25 || end.map({ ContinuousClock.now < $0 }) ?? false {
            try group.update("count") { bytes in
                bytes = Array("\(try Self.number(bytes) + 1)".utf8)
            }
            done += 1
            let text = "\(done) "
            try group.write(Array(String(repeating: text, count: 2_000).utf8), to: "own \(number)")
            try keychain.setPassword(SecretBytes(utf8: "\(done)"), service: "own", account: "\(number)")
            let other = Int.random(in: 0..<8)
            _ = try Self.number(group.read("own \(other)"))
            try #require(keychain.password(service: "own", account: "\(number)")?.plain == "\(done)")
            try #require(try Self.number(group.read("own \(number)")) == done)
        }
        try group.write(Array("\(done)".utf8), to: "done \(number)")
    }

    @Test(
        "Eight processes that send on one channel never find it busy, and the received data is complete",
        arguments: ChannelFactory.ofFiles.indices)
    func channels(index: Int) async throws {
        let folder = device.folder
        let ends = ChannelEndpoints(device: device, sender: Pair.sender, receiver: Pair.receiver)
        try ChannelFactory.ofFiles[index].prepare(ends)
        await inProcesses { number in
            await #expect(processExitsWith: .success) {
                [folder = folder as String, number = number as Int, index = index as Int] in
                let ends = ChannelEndpoints(
                    device: try Device(folder: folder), sender: Pair.sender, receiver: Pair.receiver)
                let channel = try ChannelFactory.ofFiles[index].make(ends)
                let now = Date(timeIntervalSince1970: 1_800_000_000)
                for round in 0..<10 {
                    let account = "\(number) \(round)"
                    let secret = SecretBytes(utf8: String(repeating: account, count: 100))
                    try await channel.send(
                        Credential(account: account, secret: secret, expires: now + 9), now: now)
                    let found = try #require(
                        try await channel.receive(by: Pair.receiver, now: now) { _ in true })
                    try #require(found.secret.plain == String(repeating: found.account, count: 100))
                }
            }
        }
    }
}
