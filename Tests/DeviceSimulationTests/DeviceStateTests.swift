import Foundation
import Glibc
import PrivateFiles
import SecretMemory
import Synchronization
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("The device's state", .timeLimit(.minutes(10)))
struct DeviceStateTests {
    private let scratch: ScratchFolder
    private let device: Device

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
    }

    /// Changes the state of a new device.
    static func bring(_ device: Device, to state: DeviceState) throws {
        try device.setPasscode()
        try device.unlock()
        switch state {
        case .withoutPasscode: try device.removePasscode()
        case DeviceState(lock: .locked): try device.lock()
        case DeviceState(lock: .beforeFirstUnlock): try device.restart()
        default: break
        }
        try #require(try device.state() == state)
    }

    @Test("An unlocked device with a passcode enters every state", arguments: DeviceState.all)
    func entering(state: DeviceState) throws {
        try Self.bring(device, to: DeviceState(lock: .unlocked))
        try device.enter(state)
        #expect(try device.state() == state)
    }

    @Test("A folder that is missing, or that is a file, cannot be observed")
    func unobservable() throws {
        _ = try scratch.write([1], as: "file")
        for (name, reason) in [("missing", ENOENT), ("file", ENOTDIR)] {
            #expect(throws: FileError(.inputOutput(reason), path: "", "")) {
                _ = try FolderEvents(scratch.path(name), events: UInt32(IN_CLOSE_WRITE))
            }
        }
    }

    @Test(
        "Locking and restarting need no free disk space after the keychain has been created",
        arguments: [true, false])
    func inPlace(isRestart: Bool) async throws {
        _ = try Keychain(device: device, app: .provider)
        let folder = device.folder
        await #expect(processExitsWith: .success) {
            [folder = folder as String, isRestart = isRestart as Bool] in
            let user: uid_t = geteuid() == 0 ? 65_534 : geteuid()
            for name in ["", "/state", "/state.lock", "/notifications"] {
                _ = unsafe chown(folder + name, user, gid_t.max)
            }
            // No new file can be created next to the state, as on a full disk.
            try #require(
                unsafe chmod(folder, 0o500) == 0
                    && chmod((folder as NSString).deletingLastPathComponent, 0o755) == 0)
            try #require(geteuid() == user || seteuid(user) == 0)
            let device = try #require(try Device(existing: folder))
            try isRestart ? device.restart() : device.lock()
            try #require(try device.state().lock == (isRestart ? .beforeFirstUnlock : .locked))
            try #require(try device.status().lockCount == 1)
            try device.unlock()
            try #require(try device.status() == DeviceStatus("unlocked 1"))
        }
        _ = unsafe chmod(folder, 0o700)
    }

    @Test("The state file has the same length for every state, and older files without padding are read")
    func fixedLength() throws {
        var sizes: Set<Int> = []
        for state in DeviceState.all {
            try Self.bring(device, to: state)
            sizes.insert(try scratch.read("device/state").count)
        }
        #expect(sizes == [48])
        try AtomicFile.write(Array("locked 18446744073709551615\n".utf8), to: device.folder + "/state")
        #expect(try device.status().lockCount == .max)
        try device.restart()
        #expect(try device.status() == DeviceStatus("before-first-unlock 0"))
    }

    @Test("A new device has a passcode and is unlocked")
    func new() throws {
        #expect(try device.state() == DeviceState(lock: .unlocked))
        #expect(try device.state().hasPasscode)
    }

    @Test(
        "Every action in every state leads to the same state as on a real device, and is stored",
        arguments: [
            ("unlocked", "unlocked locked before-first-unlock unlocked no-passcode"),
            ("locked", "unlocked locked before-first-unlock locked -"),
            ("before-first-unlock", "unlocked before-first-unlock before-first-unlock before-first-unlock -"),
            ("no-passcode", "no-passcode no-passcode no-passcode unlocked no-passcode"),
        ])
    func transitions(from: String, to: String) throws {
        let start = try #require(DeviceState(from))
        let acts: [(Device) throws -> Void] = [
            { try $0.unlock() }, { try $0.lock() }, { try $0.restart() }, { try $0.setPasscode() },
            { try $0.removePasscode() },
        ]
        for (act, expected) in zip(acts, to.split(separator: " ")) {
            try Self.bring(device, to: start)
            if expected == "-" {
                #expect(throws: DeviceError(.locked, path: "", "")) { try act(device) }
                #expect(try device.state() == start)
            } else {
                try act(device)
                #expect(try Device(folder: device.folder).state().description == expected)
            }
        }
    }

    @Test("Only locks, restarts and new passcodes increase the lock count")
    func lockCount() throws {
        func count() throws -> UInt64 { try Device(folder: device.folder).status().lockCount }
        #expect(try device.status() == .new)
        try device.lock()
        #expect(try count() == 1)
        try device.lock()
        try device.unlock()
        #expect(try count() == 1)
        try device.lock()
        try device.restart()
        try device.restart()
        #expect(try count() == 4)
        try device.unlock()
        try device.removePasscode()
        try device.lock()
        #expect(try count() == 4)
        try device.restart()
        #expect(try count() == 5)
        try device.setPasscode()
        #expect(try count() == 6 && device.state() == .new)
        try device.setPasscode()
        #expect(try count() == 6)
        try device.lock()
        try DevicePasscode(device).set(SecretBytes(utf8: "4711"))
        #expect(try count() == 8 && device.state() == DeviceState(lock: .locked))
    }

    @Test("A state file whose end is missing is damaged")
    func truncatedState() throws {
        for (text, isRead) in [
            ("locked 57\n", true), ("locked 57", false), ("locked 5", false), ("\n", false),
        ] {
            try AtomicFile.write(Array(text.utf8), to: device.folder + "/state")
            if isRead {
                #expect(try device.status() == DeviceStatus(state: DeviceState(lock: .locked), lockCount: 57))
            } else {
                #expect(throws: FileError(.damagedFile, path: "", "")) { try device.status() }
            }
        }
    }

    @Test("A state file of a version without a lock count is read with a count of zero")
    func uncounted() throws {
        try AtomicFile.write(Array("locked\n".utf8), to: device.folder + "/state")
        #expect(try device.status() == DeviceStatus(state: DeviceState(lock: .locked), lockCount: 0))
    }

    @Test("A device watch sees every change immediately, regardless of the process that made it")
    func watch() throws {
        let watch = DeviceStateWatch(device)
        let path = device.folder + "/state"
        for _ in 0..<3 {
            for act in [{ try $0.lock() }, { try $0.restart() }, { try $0.unlock() }]
                as [(Device) throws -> Void]
            {
                try act(device)
                #expect(try watch.status() == device.status())
                #expect(try watch.status() == device.status())
            }
        }
        try Data("locked 77\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try watch.status().lockCount == 77)
        try Data("nothing\n".utf8).write(to: URL(fileURLWithPath: path))
        for _ in 0..<2 {
            #expect(throws: FileError(.damagedFile, path: "", "")) { try watch.status() }
        }
        try FileManager.default.removeItem(atPath: path)
        #expect(try watch.status() == .new)
        // Without the folder nothing can be watched; the file is read, and is missing.
        try FileManager.default.removeItem(atPath: device.folder)
        for _ in 0..<2 { #expect(try watch.status() == .new) }
    }

    @Test("All checks within one snapshot return the same state, and checks after it return the new state")
    func oneLook() throws {
        let watch = DeviceStateWatch(device)
        let before = try watch.status()
        let seen = Mutex<[DeviceStatus?]>([])
        @Sendable func look() { seen.withLock { $0.append(try? watch.status()) } }
        watch.turn.run {
            look()
            try? device.restart()
            look()
            // A nested turn is part of the outer one.
            watch.turn.run { look() }
            look()
            let done = DispatchSemaphore(value: 0)
            Thread {
                look()
                done.signal()
            }.start()
            done.wait()
        }
        look()
        let after = try device.status()
        #expect(before != after)
        #expect(seen.withLock { $0 } == [before, before, before, before, after, after])
    }

    @Test("Each snapshot begins with a new check")
    func severalSnapshots() throws {
        let watch = DeviceStateWatch(device)
        let seen = Mutex<[DeviceStatus?]>([])
        var expected: [DeviceStatus?] = []
        for _ in 0..<3 {
            watch.turn.run { seen.withLock { $0.append(try? watch.status()) } }
            expected.append(try device.status())
            try device.restart()
        }
        #expect(Set(expected).count == 3)
        #expect(seen.withLock { $0 } == expected)
    }

    @Test("Observers are notified of every state change, and only of changes")
    func notification() async throws {
        var changes = try Notifications(device: device).observe(.deviceStateChanged)
            .makeAsyncIterator()
        try device.lock()
        #expect(await changes.next() != nil)
        try device.lock()
        try Notifications(device: device).post("something.else")
        try device.unlock()
        #expect(await changes.next() != nil)
    }

    @Test("Every device state has a distinct name, which can be parsed")
    func words() {
        #expect(
            DeviceState.all.map(\.description) == [
                "before-first-unlock", "locked", "unlocked", "no-passcode",
            ])
        for state in DeviceState.all { #expect(DeviceState(state.description) == state) }
    }

    @Test(
        "A state file with invalid contents is an error, and makes no secret available",
        arguments: ["", "unlocked", "open\n", "unlocked\n\n", "unlocked \n", "unlocked x\n", "locked 1 2\n"])
    func damaged(text: String) throws {
        let keychain = try Keychain(device: device, app: .provider)
        try keychain.setPassword(SecretBytes(utf8: "p"), service: "s", account: "a")
        try AtomicFile.write(Array(text.utf8), to: device.folder + "/state")
        #expect(throws: FileError(.damagedFile, path: "", "")) { try device.state() }
        let error = #expect(throws: KeychainError.self) {
            try keychain.password(service: "s", account: "a")
        }
        #expect((error?.cause as? FileError)?.code == .damagedFile)
    }

    @Test("An item that was added while the passcode was being removed is not readable with a new passcode")
    func lateItem() throws {
        let keychain = try Keychain(device: device, app: .provider)
        try keychain.setPassword(
            SecretBytes(utf8: "p"), service: "s", account: "a", accessibility: .whenPasscodeSetThisDeviceOnly)
        try device.unlock()
        // The state as the other process left it.
        try Data("no-passcode 0\n".utf8).write(to: URL(fileURLWithPath: device.folder + "/state"))
        try device.setPasscode()
        #expect(try device.state() == .new)
        #expect(try keychain.password(service: "s", account: "a") == nil)
    }

    @Test("Removing the passcode deletes every app's items that require a passcode")
    func passcodeRemoval() throws {
        let apps = [App.provider, .consumer]
        for app in apps {
            let keychain = try Keychain(device: device, app: app)
            for accessibility in Accessibility.allCases {
                try keychain.setPassword(
                    SecretBytes(utf8: "p"), service: "s", account: accessibility.rawValue,
                    accessibility: accessibility)
            }
        }
        let counts = try apps.map { try Keychain(device: device, app: $0).changeCount() }
        try device.removePasscode()
        try device.setPasscode()
        for (app, count) in zip(apps, counts) {
            let keychain = try Keychain(device: device, app: app)
            for accessibility in Accessibility.allCases {
                let password = try keychain.password(service: "s", account: accessibility.rawValue)
                #expect((password == nil) == (accessibility == .whenPasscodeSetThisDeviceOnly))
            }
            #expect(try keychain.changeCount() == count + 1)
        }
    }
}

@Suite("Secrets and the device's state", .timeLimit(.minutes(10)))
struct AccessibilityTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let keychain: Keychain
    private static let passcodeOnly = Accessibility.whenPasscodeSetThisDeviceOnly

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
        keychain = try Keychain(device: device, app: .provider)
    }

    /// Apple's table, in the words of `Accessibility.rawValue`: the available classes in each state.
    private static let open: [String: Set<String>] = [
        "before-first-unlock": ["dk", "dku"], "locked": ["dk", "dku", "ck", "cku"],
        "unlocked": ["dk", "dku", "ck", "cku", "ak", "aku", "akpu"],
        "no-passcode": ["dk", "dku", "ck", "cku", "ak", "aku"],
    ]

    /// Every operation on a secret, tried on an existing item (`s`, `old`).
    enum Operation: String, CaseIterable {
        case read, copyData, copyAttributes, add, addGeneric, set, update, updateFrom, delete
        case readKey, listIdentities, addIdentity, deleteIdentity

        /// The error that an empty result counts as.
        private static let nothing = KeychainError(.itemNotFound, "")

        /// Whether the operation requires that the secret's class is available.
        var needsSecret: Bool {
            ![.copyAttributes, .delete, .listIdentities, .deleteIdentity].contains(self)
        }

        func run(_ keychain: Keychain, _ accessibility: Accessibility) throws {
            let secret = SecretBytes(utf8: "new")
            let query = KeychainQuery(.genericPassword, service: "s", account: "old")
            switch self {
            case .read:
                let password = try keychain.password(service: "s", account: "old")
                guard let password else { throw Self.nothing }
                #expect(password.plain == "old")
            case .copyData:
                #expect(try keychain.copyMatching(query, returnsData: true)[0].data?.plain == "old")
            case .copyAttributes: #expect(try keychain.copyMatching(query)[0].accessibility == accessibility)
            case .add:
                try keychain.add(
                    .key(secret, label: "new").with(accessibility: accessibility))
            case .addGeneric:
                _ = try keychain.createOrReadPassword(
                    service: "s", account: "new", accessibility: accessibility, make: { secret })
            case .set:
                try keychain.setPassword(
                    secret, service: "s", account: "old", accessibility: accessibility)
            case .update: try keychain.update(query, KeychainChange(data: secret))
            case .updateFrom: try keychain.update(query, KeychainChange(accessibility: .always))
            case .delete: try keychain.delete(query)
            case .readKey: _ = try keychain.privateKey(label: "old")
            case .listIdentities:
                let identities = try keychain.identities()
                guard !identities.isEmpty else { throw Self.nothing }
                #expect(identities.map(\.label) == ["old"])
            case .deleteIdentity: try keychain.deleteIdentity(label: "old")
            case .addIdentity:
                var identity = NewIdentity.sample("new")
                identity.accessibility = accessibility
                try keychain.add(identity)
            }
        }
    }

    @Test(
        "Every operation can use secrets of each accessibility only in the states that Apple documents",
        arguments: Accessibility.allCases, DeviceState.all)
    func table(accessibility: Accessibility, state: DeviceState) throws {
        let isOpen = try #require(Self.open[state.description]).contains(accessibility.rawValue)
        #expect(accessibility.isAvailable(in: state) == isOpen)
        for operation in Operation.allCases {
            try DeviceStateTests.bring(device, to: .new)
            try keychain.removeAll()
            try keychain.setPassword(
                SecretBytes(utf8: "old"), service: "s", account: "old", accessibility: accessibility)
            var identity = NewIdentity.sample("old")
            identity.accessibility = accessibility
            try keychain.add(identity)
            try DeviceStateTests.bring(device, to: state)
            // The existing items were deleted with the passcode; items can only be added.
            let isGone = accessibility == Self.passcodeOnly && state == .withoutPasscode
            let isAdding = [.add, .addGeneric, .set, .addIdentity].contains(operation)
            if isGone && !isAdding {
                #expect(throws: KeychainError(.itemNotFound, ""), "\(operation)") {
                    try operation.run(keychain, accessibility)
                }
            } else if isOpen || !operation.needsSecret {
                #expect(throws: Never.self, "\(operation)") { try operation.run(keychain, accessibility) }
            } else {
                let count = try keychain.changeCount()
                #expect(throws: KeychainError(.interactionNotAllowed, ""), "\(operation)") {
                    try operation.run(keychain, accessibility)
                }
                #expect(try keychain.changeCount() == count)
            }
        }
    }

    @Test("An item's accessibility cannot be changed to one that is currently unavailable")
    func updateToClosed() throws {
        try keychain.add(
            .genericPassword(SecretBytes(utf8: "p"), service: "s", account: "a").with(accessibility: .always))
        try device.lock()
        let query = KeychainQuery(.genericPassword, account: "a")
        for accessibility in Accessibility.allCases {
            let isOpen = accessibility.isAvailable(in: try device.state())
            if isOpen {
                #expect(try keychain.update(query, KeychainChange(accessibility: accessibility)) == 1)
            } else {
                #expect(throws: KeychainError(.interactionNotAllowed, "")) {
                    try keychain.update(query, KeychainChange(accessibility: accessibility))
                }
            }
        }
    }

    @Test("The error for an unavailable item names device state, accessibility and OSStatus")
    func hint() throws {
        try keychain.setPassword(
            SecretBytes(utf8: "p"), service: "s", account: "a", accessibility: .whenUnlocked)
        try device.lock()
        let error = #expect(throws: KeychainError.self) { try keychain.password(service: "s", account: "a") }
        #expect(
            error?.description
                == "the device is locked, and the item is WhenUnlocked (errSecInteractionNotAllowed, -25308)")
        #expect(error?.detail == nil)
    }

    @Test("A restore from another device restores only the items that may leave that device")
    func backup() throws {
        for accessibility in Accessibility.allCases {
            try keychain.setPassword(
                SecretBytes(utf8: accessibility.name), service: "s", account: accessibility.rawValue,
                accessibility: accessibility)
        }
        let other = try Device(folder: scratch.path("other"))
        let restored = try Keychain(device: other, app: .provider)
        try restored.setPassword(
            SecretBytes(utf8: "there before"), service: "s", account: "ak", accessibility: .whenUnlocked)
        try device.lock()
        #expect(throws: DeviceError(.locked, path: "", "")) { try other.restoreKeychain(from: device) }
        try device.unlock()
        let count = try other.restoreKeychain(from: device)
        #expect(count.restored == 2 && count.left == 5)
        for accessibility in Accessibility.allCases {
            let password = try restored.password(service: "s", account: accessibility.rawValue)?.plain
            switch accessibility {
            case .whenUnlocked: #expect(password == "there before")
            case .afterFirstUnlock, .always: #expect(password == accessibility.name)
            default: #expect(password == nil)
            }
            #expect(try keychain.password(service: "s", account: accessibility.rawValue) != nil)
        }
        #expect(try restored.verifyIntegrity().isEmpty)
    }
}
