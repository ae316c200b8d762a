import Foundation
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("The pasteboard", .timeLimit(.minutes(10)))
struct PasteboardTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let pasteboard: Pasteboard
    private let start = Date(timeIntervalSince1970: 1_800_000_000)
    private static let provider = App.provider.bundleIdentifier
    private static let consumer = App.consumer.bundleIdentifier

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
        pasteboard = try Pasteboard(device: device)
    }

    private func copy(_ text: String, at date: Date? = nil, lifetime: TimeInterval = 60) throws -> Int {
        try pasteboard.write(
            SecretBytes(utf8: text), owner: .provider, now: date ?? start, lifetime: lifetime)
    }

    private func paste(
        after seconds: TimeInterval = 0, expecting count: Int? = nil, allowed: Bool = true
    ) throws(PasteboardError) -> String? {
        try pasteboard.read(by: .consumer, now: start + seconds, expecting: count) { _ in allowed }?.plain
    }

    private var outcomes: [PasteboardAccess.Outcome] {
        get throws { try pasteboard.accesses().map(\.outcome) }
    }

    @Test("Reading a new pasteboard returns nil without asking the user")
    func empty() throws {
        let content = try pasteboard.read(by: .consumer, now: start) { _ in
            Issue.record("the user was asked")
            return true
        }
        #expect(content == nil)
        #expect(try pasteboard.changeCount() == 0)
        #expect(try pasteboard.status(now: start).isEmpty)
        #expect(try outcomes == [.empty])
    }

    @Test(
        "An item is removed and wiped from the disk if the clock is set back to before its creation"
    )
    func clockSetBack() throws {
        _ = try copy("secret")
        #expect(throws: PasteboardError(.expired, "")) { try paste(after: -1) }
        #expect(throws: PasteboardError(.expired, "")) { try paste() }
        #expect(try Data(scratch.read("device/pasteboard/item")).count < 300)
    }

    @Test("Opening the device wipes expired items and temporary files of killed writers")
    func wiping() throws {
        _ = try copy(String(repeating: "secret", count: 100))
        let full = try scratch.read("device/pasteboard/item").count
        try AtomicFile.write([1, 2, 3], to: device.folder + "/pasteboard/.77.tmp")
        let unfinished = try FileHandle(
            forReadingFrom: URL(fileURLWithPath: device.folder + "/pasteboard/.77.tmp"))
        Pasteboard.wipeExpired(on: device, now: start + 59)
        #expect(try unfinished.readToEnd() == Data(count: 3))
        #expect(try scratch.read("device/pasteboard/item").count == full)
        #expect(try !scratch.names(device.folder + "/pasteboard").contains(".77.tmp"))
        #expect(try pasteboard.wipeExpired(now: start + 59) == start + 60)
        Pasteboard.wipeExpired(on: device, now: start + 60)
        #expect(try scratch.read("device/pasteboard/item").count < full - 600)
        #expect(try pasteboard.wipeExpired(now: start + 60) == nil)
        let none = try Device(folder: scratch.path("none"))
        Pasteboard.wipeExpired(on: none, now: start)
        #expect(try scratch.names(none.folder).isEmpty)
    }

    @Test(
        "Property lists that are nested deeply enough to crash the parser are reported as damaged",
        arguments: ["item", "accesses"])
    func nested(name: String) throws {
        _ = try copy("secret")
        let nested = "<plist>" + String(repeating: "<array>", count: 100_000)
        try AtomicFile.write(Array(nested.utf8), to: device.folder + "/pasteboard/" + name)
        #expect(throws: PasteboardError(.damaged, "")) { try paste() }
        try pasteboard.clear()
        _ = try copy("again")
        #expect(try paste() == "again")
    }

    @Test("An item that one app copied is read by another each time the user agrees")
    func read() throws {
        #expect(try copy("secret") == 1)
        var requests: [PasteboardRequest] = []
        for _ in 0..<2 {
            let content = try pasteboard.read(by: .consumer, now: start) {
                requests.append($0)
                return true
            }
            #expect(content?.plain == "secret")
        }
        let request = PasteboardRequest(owner: Self.provider, reader: Self.consumer, changeCount: 1)
        #expect(requests == [request, request])
        let access = PasteboardAccess(
            date: start, reader: Self.consumer, owner: Self.provider, changeCount: 1, outcome: .allowed)
        #expect(try pasteboard.accesses() == [access, access])
    }

    @Test("If the user declines, nothing is returned, the attempt is recorded, and the item is kept")
    func denied() throws {
        _ = try copy("secret")
        #expect(throws: PasteboardError(.denied, "")) { try paste(allowed: false) }
        #expect(try paste() == "secret")
        #expect(try outcomes == [.denied, .allowed])
    }

    @Test("If the user cannot be asked, nothing is returned, and the error names the reason")
    func consentFailed() throws {
        struct NoTerminal: Error {}
        _ = try copy("secret")
        let error = #expect(throws: PasteboardError.self) {
            try pasteboard.read(by: .consumer, now: start) { _ in throw NoTerminal() }
        }
        #expect(error?.code == .consentFailed && error?.cause is NoTerminal)
        #expect(try outcomes == [.denied])
    }

    @Test("The app that copied an item reads it without consent")
    func own() throws {
        _ = try copy("secret")
        let content = try pasteboard.read(by: .provider, now: start) { _ in false }
        #expect(content?.plain == "secret")
        #expect(try outcomes == [.allowed])
    }

    @Test("A second item replaces the first and changes the change count")
    func overwritten() throws {
        let first = try copy("first")
        let second = try copy("second")
        #expect((first, second) == (1, 2))
        #expect(throws: PasteboardError(.overwritten(2), "")) { try paste(expecting: first) }
        #expect(try paste(expecting: second) == "second")
        #expect(try paste() == "second")
        #expect(try outcomes == [.overwritten, .allowed, .allowed])
    }

    @Test("An item exists until it expires, and is then removed from the disk", arguments: [60.0, 5])
    func expired(lifetime: TimeInterval) throws {
        let count = try copy("secret", lifetime: lifetime)
        #expect(try paste(after: lifetime - 0.001) == "secret")
        #expect(try pasteboard.status(now: start).expires == start + lifetime)
        let size = try fileSize()
        for _ in 0..<2 {
            #expect(throws: PasteboardError(.expired, "")) { try paste(after: lifetime, expecting: count) }
        }
        #expect(try fileSize() < size)
        // Also for readers whose clock is slow: the item is not hidden but removed.
        #expect(throws: PasteboardError(.expired, "")) { try paste() }
        #expect(try pasteboard.changeCount() == count)
        let status = try pasteboard.status(now: start)
        #expect(status.isEmpty && status.hasExpired)
        #expect(try outcomes == [.allowed, .expired, .expired, .expired])
    }

    @Test("Reading the status of the pasteboard removes an expired item")
    func expiredByLooking() throws {
        _ = try copy("secret")
        let size = try fileSize()
        #expect(try pasteboard.status(now: start + 59).owner == Self.provider)
        #expect(try fileSize() == size)
        #expect(try pasteboard.status(now: start + 60).owner == nil)
        #expect(try fileSize() < size)
    }

    @Test("An item that is copied after an expired one is read as usual")
    func afterExpiry() throws {
        _ = try copy("old")
        #expect(throws: PasteboardError(.expired, "")) { try paste(after: 60) }
        #expect(try copy("new", at: start + 60) == 2)
        #expect(try paste(after: 61) == "new")
    }

    @Test("An item that replaces another while the user is being asked is not returned")
    func changedWhileAsking() throws {
        _ = try copy("first")
        #expect(throws: PasteboardError(.overwritten(2), "")) {
            try pasteboard.read(by: .consumer, now: start) { _ in
                _ = try copy("second")
                return true
            }
        }
        #expect(throws: PasteboardError(.overwritten(3), "")) {
            try pasteboard.read(by: .consumer, now: start) { _ in
                try pasteboard.clear()
                return true
            }
        }
        _ = try copy("fourth")
        var now = start
        #expect(throws: PasteboardError(.expired, "")) {
            try pasteboard.read(by: .consumer, now: now) { _ in
                now += 60
                return true
            }
        }
        #expect(try outcomes == [.overwritten, .overwritten, .expired])
    }

    @Test("Clearing the pasteboard removes the item and increases the change count")
    func clear() throws {
        _ = try copy("secret")
        try pasteboard.clear()
        #expect(try paste() == nil)
        #expect(try pasteboard.changeCount() == 2)
        #expect(throws: PasteboardError(.overwritten(2), "")) { try paste(expecting: 1) }
        #expect(try !pasteboard.status(now: start).hasExpired)
    }

    @Test(
        "Only apps and extensions with a user interface can read or write the pasteboard",
        arguments: App.Kind.allCases)
    func members(kind: App.Kind) throws {
        var app = App.provider
        app.kind = kind
        guard [.fileProvider, .tokenExtension].contains(kind) else {
            try pasteboard.write(SecretBytes(utf8: "secret"), owner: app, now: start)
            #expect(try pasteboard.read(by: app, now: start) { _ in true }?.plain == "secret")
            return
        }
        #expect(throws: PasteboardError(.notPermitted(kind), "")) {
            try pasteboard.write(SecretBytes(utf8: "secret"), owner: app, now: start)
        }
        #expect(try pasteboard.changeCount() == 0)
        _ = try copy("secret")
        #expect(throws: PasteboardError(.notPermitted(kind), "")) {
            try pasteboard.read(by: app, now: start) { _ in true }
        }
        #expect(try outcomes == [.notPermitted])
    }

    @Test("Any bytes can be copied, up to the maximum size", arguments: [0, 1, Pasteboard.largestItem])
    func sizes(count: Int) throws {
        let secret = SecretBytes((0..<count).map { UInt8(truncatingIfNeeded: $0) })
        try pasteboard.write(secret, owner: .provider, now: start)
        #expect(try pasteboard.read(by: .consumer, now: start) { _ in true } == secret)
    }

    @Test("Copying an item above the maximum size changes nothing")
    func tooLarge() throws {
        _ = try copy("secret")
        #expect(throws: PasteboardError(.tooLarge, "")) {
            try pasteboard.write(
                SecretBytes([UInt8](repeating: 1, count: Pasteboard.largestItem + 1)), owner: .provider,
                now: start)
        }
        #expect(try paste(expecting: 1) == "secret")
    }

    @Test("Only the latest attempts to read the pasteboard are stored")
    func manyAccesses() throws {
        let before = (0..<PasteboardAccess.kept).map { second in
            PasteboardAccess(
                date: start + Double(second), reader: Self.consumer, owner: nil, changeCount: 0,
                outcome: .empty)
        }
        try AtomicFile.write(
            [UInt8](PropertyListEncoder().encode(before)), to: device.folder + "/pasteboard/accesses")
        for second in 0..<2 { _ = try paste(after: Double(PasteboardAccess.kept + second)) }
        let accesses = try pasteboard.accesses()
        #expect(accesses.count == PasteboardAccess.kept)
        #expect(accesses.first?.date == start + 2)
        #expect(accesses.last?.date == start + Double(PasteboardAccess.kept + 1))
    }

    private func fileSize() throws -> Int {
        try Data(contentsOf: URL(fileURLWithPath: device.folder + "/pasteboard/item")).count
    }
}

@Suite("The pasteboard's files", .timeLimit(.minutes(10)))
struct PasteboardFileTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let folder: String
    private let start = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
        folder = device.folder + "/pasteboard"
    }

    private func read() throws(PasteboardError) -> String? {
        try Pasteboard(device: device).read(by: .consumer, now: start) { _ in true }?.plain
    }

    private func copy(_ text: String) throws {
        try Pasteboard(device: device).write(SecretBytes(utf8: text), owner: .provider, now: start)
    }

    @Test("Only the owner can access the pasteboard's files, which contain no secret in plain text")
    func files() throws {
        try copy("canary of a password")
        #expect(try read() == "canary of a password")
        #expect(try scratch.mode(folder) == 0o700)
        let names = try scratch.names(folder)
        #expect(names == ["accesses", "item", "lock", "master.key"])
        for name in names {
            #expect(try scratch.mode(folder + "/" + name) == 0o600, "\(name)")
            let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
            for encoding in [.utf8, .utf16LittleEndian, .utf16BigEndian] as [String.Encoding] {
                let canary = try #require("canary".data(using: encoding))
                #expect(data.firstRange(of: canary) == nil, "\(name)")
            }
        }
    }

    @Test("A replaced item is overwritten on disk before it is unlinked")
    func wiped() throws {
        try copy("secret")
        try expectWiped { try copy("other") }
        #expect(try read() == "other")
    }

    @Test("An expired item is overwritten on disk as soon as it is read or the device is opened")
    func wipedAfterExpiry() throws {
        let pasteboard = try Pasteboard(device: device)
        try copy("secret")
        try expectWiped { Pasteboard.wipeExpired(on: device, now: start + 60) }
        try copy("secret")
        try expectWiped {
            #expect(throws: PasteboardError(.expired, "")) {
                try pasteboard.read(by: .consumer, now: start + 60) { _ in true }
            }
        }
    }

    /// Checks that `body` overwrites the file of the item, and not only removes its name.
    private func expectWiped(_ body: () throws -> Void) throws {
        let old = try FileHandle(forReadingFrom: URL(fileURLWithPath: folder + "/item"))
        let size = try #require(try old.readToEnd()).count
        try body()
        try old.seek(toOffset: 0)
        #expect(try old.readToEnd() == Data(count: size))
    }

    @Test("An item cannot be decrypted if its owner, expiry or content was altered")
    func altered() throws {
        try copy("secret")
        let path = folder + "/item"
        let file = try Data(contentsOf: URL(fileURLWithPath: path))
        let owner = try #require(file.firstRange(of: Data("red.hound.keyshare.provider".utf8)))
        for offset in [owner.lowerBound, file.count / 2] {
            var altered = file
            altered[offset] ^= 1
            try AtomicFile.write([UInt8](altered), to: path)
            #expect(throws: PasteboardError(.damaged, "")) { try read() }
        }
        for damaged in [Data(), file.dropLast(40), Data("not a property list".utf8)] {
            try AtomicFile.write([UInt8](damaged), to: path)
            #expect(throws: PasteboardError(.damaged, "")) { try read() }
        }
        try copy("new")
        #expect(try read() == "new")
    }

    @Test("An item whose key was lost cannot be decrypted, but the next item can")
    func lostKey() throws {
        try copy("secret")
        try FileManager.default.removeItem(atPath: folder + "/master.key")
        #expect(throws: PasteboardError(.damaged, "")) { try read() }
        try copy("new")
        #expect(try read() == "new")
    }

    @Test("No item is read if the attempt cannot be recorded, and clearing repairs the record")
    func damagedRecord() throws {
        try copy("secret")
        try AtomicFile.write([1, 2, 3], to: folder + "/accesses")
        #expect(throws: PasteboardError(.damaged, "")) { try read() }
        try Pasteboard(device: device).clear()
        try copy("new")
        #expect(try read() == "new")
        #expect(try Pasteboard(device: device).accesses().map(\.outcome) == [.allowed])
    }

    @Test("Clearing does not replace a record of attempts that is intact but accessible to others")
    func exposedRecord() throws {
        try copy("secret")
        #expect(try read() == "secret")
        let path = folder + "/accesses"
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let error = #expect(throws: PasteboardError.self) { try Pasteboard(device: device).clear() }
        #expect(error?.code == .inputOutput && (error?.cause as? FileError)?.code == .exposedFile)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(try Pasteboard(device: device).accesses().map(\.outcome) == [.allowed])
    }

    @Test(
        "Files of the pasteboard that are links or accessible to others are rejected",
        arguments: ["item", "accesses", "master.key"])
    func unsafeFiles(name: String) throws {
        try copy("secret")
        #expect(try read() == "secret")
        let path = folder + "/" + name
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        var error = #expect(throws: PasteboardError.self) { try read() }
        #expect(error?.code == .inputOutput && (error?.cause as? FileError)?.code == .exposedFile)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".real")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + ".real")
        error = #expect(throws: PasteboardError.self) { try read() }
        #expect((error?.cause as? FileError)?.code == .symbolicLink)
    }

    @Test(
        "With eight concurrent processes, items are complete, and every change and every read is recorded"
    )
    func race() async throws {
        try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                group.addTask { [device, start] in
                    let pasteboard = try Pasteboard(device: device)
                    for round in 0..<20 {
                        let text = String(repeating: "\(number) \(round) ", count: 100)
                        try pasteboard.write(SecretBytes(utf8: text), owner: .provider, now: start)
                        do throws(PasteboardError) {
                            let content = try pasteboard.read(by: .consumer, now: start) { _ in true }
                            let words = content?.plain.split(separator: " ") ?? []
                            #expect(words.count == 200)
                            #expect(words.indices.allSatisfy { words[$0] == words[$0 % 2] })
                        } catch {
                            guard case .overwritten = error.code else { throw error }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let pasteboard = try Pasteboard(device: device)
        #expect(try pasteboard.changeCount() == 160)
        #expect(try pasteboard.accesses().count == 160)
        #expect(try scratch.names(folder) == ["accesses", "item", "lock", "master.key"])
    }
}
