import Foundation
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("A group's state file", .timeLimit(.minutes(10)))
struct GroupStateTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let now = Date(timeIntervalSince1970: 1_800_000_000)
    private let fields = ["account": SecretBytes(utf8: "canary account"), "token": SecretBytes([0, 1, 2])]

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
    }

    private func file(
        app: App = .provider, version: Int = 1, required: [String] = ["account"], name: String = "state"
    ) throws -> GroupStateFile {
        let provider = App.provider
        return GroupStateFile(
            name,
            group: try AppGroup(provider.entitlements.applicationGroups[0], app: provider, device: device),
            keychain: try Keychain(device: device, app: app), keychainGroup: provider.accessGroups[0],
            version: version, required: required)
    }

    private var path: String {
        get throws {
            try device.groupContainer(App.providerGroup, for: .provider)
                + "/state"
        }
    }

    @Test("Until it expires, the state that one app of a group writes can be read by the other apps")
    func read() throws {
        #expect(try file().read(now: now).reason == .absent)
        try file().write(fields, expires: now + 10)
        let state = try file(app: .providerFiles).read(now: now + 9)
        guard case .fields(let found, let expires) = state else {
            Issue.record("nothing: \(state)")
            return
        }
        #expect(found == fields && expires == now + 10)
        #expect(try file().read(now: now + 10).reason == .expired(now + 10))
        try file().remove()
        #expect(try file().read(now: now).reason == .absent)
    }

    @Test("Unusable state is read as empty, and the reason is returned")
    func reasons() throws {
        try file().write(fields, expires: now + 10)
        #expect(try file(version: 2).read(now: now).reason == .otherVersion(1))
        #expect(try file(required: ["token", "name"]).read(now: now).reason == .missingField("name"))
        #expect(try file(app: .consumer).read(now: now).reason == .noKey(.missingEntitlement))
        try device.restart()
        #expect(try file().read(now: now).reason == .noKey(.interactionNotAllowed))
        try device.unlock()
        #expect(try file().read(now: now).value != nil)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(try file().read(now: now).reason == .unreadable(.exposedFile))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        try Keychain(device: device, app: .provider).removeAll()
        #expect(try file().read(now: now).reason == .noKey(.itemNotFound))
        try file(name: "other").write([:], expires: now + 10)
        try Keychain(device: device, app: .provider).setPassword(
            SecretBytes([UInt8](repeating: 7, count: 32)), service: "app-group-state", account: "state")
        #expect(try file().read(now: now).reason == .damaged)
    }

    @Test("A state file that is altered, truncated or renamed is read as empty")
    func altered() throws {
        try file().write(fields, expires: now + 10)
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        for index in bytes.indices {
            var altered = bytes
            altered[index] ^= 0x10
            try Data(altered).write(to: URL(fileURLWithPath: path))
            let found = try file().read(now: now).value
            // A property list has unused bytes.
            #expect(found == nil || found == fields)
        }
        for count in stride(from: 0, to: bytes.count, by: 7) {
            try Data(bytes.prefix(count)).write(to: URL(fileURLWithPath: path))
            #expect(try file().read(now: now).value == nil)
        }
        try Data(bytes).write(to: URL(fileURLWithPath: path + "2"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path + "2")
        #expect(try file(name: "state2").read(now: now).reason == .noKey(.itemNotFound))
    }

    @Test("The expiry of a state file cannot be changed")
    func changedExpiry() throws {
        try file().write(fields, expires: now)
        #expect(try file().read(now: now).reason == .expired(now))
        #expect(try file().read(now: now - 1).value == fields)
        let url = URL(fileURLWithPath: try path)
        func decoded(_ data: Data) throws -> [String: Any] {
            try #require(
                unsafe PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
        }
        func encoded(_ values: [String: Any]) throws -> Data {
            try PropertyListSerialization.data(fromPropertyList: values, format: .binary, options: 0)
        }
        var values = try decoded(try Data(contentsOf: url))
        var header = try decoded(try #require(values["header"] as? Data))
        header["expires"] = now + 10
        values["header"] = try encoded(header)
        try encoded(values).write(to: url)
        #expect(try file().read(now: now).reason == .damaged)
    }

    @Test("No file of the device contains a secret of the group's state in plain text")
    func noPlainSecret() throws {
        try file().write(fields, expires: now + 10)
        let names = try #require(FileManager.default.enumerator(atPath: device.folder))
        for case let name as String in names {
            let url = URL(fileURLWithPath: device.folder + "/" + name)
            guard let data = try? Data(contentsOf: url) else { continue }
            #expect(data.firstRange(of: Data("canary".utf8)) == nil, "\(name)")
        }
    }

    @Test("A state file remains readable after the group is renamed")
    func takeOver() throws {
        try file().write(fields, expires: now + 10)
        var app = App.provider
        app.entitlements.applicationGroups.append("group.new")
        let new = try AppGroup("group.new", app: app, device: device)
        try new.takeOver(AppGroup(app.entitlements.applicationGroups[0], app: app, device: device))
        let moved = GroupStateFile(
            "state", group: new, keychain: try Keychain(device: device, app: app),
            keychainGroup: app.accessGroups[0])
        #expect(moved.read(now: now).value == fields)
        #expect(try file().read(now: now).reason == .absent)
    }

    @Test("Fields of any name and size can be encoded and decoded, and invalid bytes are rejected")
    func encoding() {
        let samples: [[String: SecretBytes]] = [
            [:], ["": SecretBytes([])], fields, ["ü": SecretBytes([UInt8](repeating: 3, count: 70_000))],
        ]
        for sample in samples { #expect(SecretFields.decode(SecretFields.encode(sample)) == sample) }
        let whole = SecretFields.encode(["a": SecretBytes([1]), "b": SecretBytes([2])])
        let bytes = unsafe whole.withUnsafeBytes { unsafe [UInt8]($0) }
        for count in 1..<bytes.count where count != bytes.count / 2 {
            #expect(SecretFields.decode(SecretBytes(bytes.prefix(count))) == nil)
        }
        #expect(SecretFields.decode(SecretBytes(bytes + bytes)) == nil)
        #expect(SecretFields.decode(SecretBytes([UInt8](repeating: 0xFF, count: 9))) == nil)
        #expect(SecretFields.decode(SecretBytes([1, 0, 0, 0, 0, 0, 0, 0, 0xFF])) == nil)
    }
}
