import KeyShareClient
import KeyShareProtocol
import KeyShareServer
import KeyShareWire
@testable import TestCredentials
import DeviceSimulation
import Foundation
import KeyShareProvider
import KeySharing
import Logging
import OpenSSL
import Synchronization
import TestSupport
import Testing

@Suite("A provider on a device that is locked or restarted", .timeLimit(.minutes(10)))
struct LockTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let store: ProviderStore
    private let now = Date(timeIntervalSince1970: 1_790_000_000)

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
        store = try ProviderStore(device)
    }

    /// Creates a provider that has the file and the password of one identity in memory.
    private func warmProvider() async throws -> (provider: Provider, label: String) {
        var random = SystemRandomNumberGenerator()
        let made = try await Provisioner(store).run(
            ProvisioningRequest(
                persons: [TestPerson(using: &random)], types: [.signature], generations: 1, algorithm: .p256,
                date: now), from: .system)
        let label = try #require(made.made.first?.label)
        let provider = try Provider(store, profile: .modern, now: { [now] in now }, putOnPasteboard: { _ in })
        _ = try await provider.content(of: label)
        _ = try provider.password(for: label)
        return (provider, label)
    }

    @Test("A provider returns files and password while the device is locked")
    func locked() async throws {
        let (provider, label) = try await warmProvider()
        try device.lock()
        let bytes = try await provider.content(of: label)
        let contents = try PKCS12.read(bytes, password: .text(try provider.password(for: label)))
        #expect(contents.identities.count == 1)
    }

    @Test(
        "Files, archives, legacy exports and the password are not available before the first unlock"
    )
    func beforeFirstUnlock() async throws {
        let (provider, label) = try await warmProvider()
        let archive = try #require(
            try await provider.page(of: Item.root, after: nil, limit: 100).items.first { $0.kind == .zip })
        let row = try #require(
            try await provider.present(["com.rsa.pkcs-12"], after: nil, limit: 10).items.first)
        let bytes = try await provider.content(of: label)
        let password = try provider.password(for: label)
        for _ in 0..<2 {
            try device.restart()
            let refused = ProviderFailure(.refused, "")
            let error = #expect(throws: refused) { try provider.password(for: label) }
            #expect(error?.reason.contains("still locked after a restart") == true)
            #expect(error?.reason.contains("unlock the device") == true)
            await #expect(throws: refused) { try await provider.content(of: label) }
            await #expect(throws: refused) { try await provider.content(of: archive.identifier) }
            for identifier in [label, archive.identifier] {
                await #expect(throws: refused) { try await provider.contentState(of: identifier) }
            }
            await #expect(throws: refused) {
                try await provider.choose(row.identifier, types: ["com.rsa.pkcs-12"])
            }
            await #expect(throws: refused) {
                try await provider.exportCost(row.identifier, types: ["com.rsa.pkcs-12"])
            }
            // Only the secrets of an item are inaccessible; its description remains available.
            #expect(try await provider.item(label).identifier == label)

            try device.unlock()
            #expect(try provider.password(for: label) == password)
            #expect(try await provider.content(of: label) == bytes)
        }
    }

    @Test(
        "A lock, a restart and a new password end all grants, and new grants work immediately"
    )
    func grants() async throws {
        let (provider, label) = try await warmProvider()
        let path = scratch.path("provider.sock")
        let server = try ProviderServer(
            path: path, service: provider, limits: .withoutDeadlines,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await server.run() }
        let client = try await ProviderClient.connect(path: path, clientName: "test")
        let ends: [() throws -> Void] = [
            { try device.lock() }, { try device.restart() },
            {
                try store.servicePassword.rotate()
                try provider.refresh()
            },
        ]
        for end in ends {
            try await client.startAccessing(label)
            _ = try await client.fetchPassword(for: label)
            _ = try await client.readAll(label)
            try end()
            try device.unlock()
            let notGranted = ProviderFailure(.notAvailable, "")
            await #expect(throws: notGranted) { try await client.fetchPassword(for: label) }
            await #expect(throws: notGranted) { try await client.readAll(label) }
        }
        try await client.startAccessing(label)
        let bytes = try await client.readAll(label)
        let password = try await client.fetchPassword(for: label)
        #expect(try PKCS12.read(bytes, password: .text(password)).identities.count == 1)
        await client.close()
        running.cancel()
        try await running.value
    }

    @Test("A restart drops cached files and passwords, which become available again after the first unlock")
    func forgets() async throws {
        let (provider, label) = try await warmProvider()
        let bytes = try await provider.content(of: label)
        let password = try provider.password(for: label)
        try device.lock()
        provider.followDeviceState()
        #expect(try await provider.content(of: label) == bytes)
        try device.restart()
        provider.followDeviceState()
        try device.unlock()
        // A new export has new salts.
        #expect(try await provider.content(of: label) != bytes)
        #expect(try provider.password(for: label) == password)
        try device.restart()
        provider.followDeviceState()
        try device.unlock()
        provider.followDeviceState()
        #expect(try provider.password(for: label) == password)
    }

    @Test("A restart drops the cached password, and the next request reads the keychain")
    func forgetsPassword() async throws {
        let (provider, label) = try await warmProvider()
        let password = try provider.password(for: label)
        let period = try provider.grantPeriod()
        try device.restart()
        provider.followDeviceState()
        try device.unlock()
        // The provider is not notified of the new password, so it could only return the old one from memory.
        try store.servicePassword.rotate()
        #expect(try provider.password(for: label) != password)
        try provider.refresh()
        #expect(try provider.grantPeriod() == period + 1)
    }

    @Test("A cancelled legacy export puts no password on the pasteboard")
    func cancelledExport() async throws {
        _ = try await warmProvider()
        let written = Mutex(0)
        let provider = try Provider(store, profile: .modern, now: { [now] in now }) { _ in
            written.withLock { $0 += 1 }
        }
        let types = ["com.rsa.pkcs-12"]
        let row = try #require(try await provider.present(types, after: nil, limit: 10).items.first)
        await #expect(throws: ProviderFailure(.serviceFailed, "")) {
            try await Self.cancelled { _ = try await provider.choose(row.identifier, types: types) }
        }
        #expect(written.withLock { $0 } == 0)
        _ = try await provider.choose(row.identifier, types: types)
        #expect(written.withLock { $0 } == 1)
    }

    /// Runs `body` in a cancelled task.
    private static func cancelled(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await body()
        }
        try await task.value
    }

    @Test(
        "The provider detects that its keychain was emptied before the first unlock, and creates a new password"
    )
    func emptiedWhileClosed() async throws {
        let (provider, label) = try await warmProvider()
        let password = try provider.password(for: label)
        try device.restart()
        #expect(try store.removeAll() > 0)
        #expect(throws: Never.self) { try store.identities() }
        await #expect(throws: ProviderFailure(.notAvailable, "")) { try await provider.item(label) }
        try device.unlock()
        _ = try await provider.page(of: Item.root, after: nil, limit: 100)
        #expect(try provider.password(for: label) != password)
    }

    @Test("The password is protected if the device's state file is damaged")
    func damagedState() async throws {
        let (provider, label) = try await warmProvider()
        _ = try scratch.write(Array("half-open\n".utf8), as: "device/state")
        #expect(throws: ProviderFailure(.serviceFailed, "")) { try provider.password(for: label) }
    }
}
