internal import PrivateFiles
internal import SecretMemory
internal import Foundation
internal import OpenSSL

/// What the pasteboard's file says beside the sealed content.
struct PasteboardState: Codable {
    /// An item without its content.
    struct Item: Codable {
        /// The bundle identifier of who put it there.
        var owner: String
        var written: Date
        var expires: Date
    }

    /// What there is.
    enum Content: Codable {
        /// Nothing was ever there, or it was cleared.
        case nothing
        case item(Item)
        /// An item that was removed because its time was over.
        case expired(Item)
    }

    var changeCount = 0
    var content = Content.nothing
}

/// The pasteboard's files: the item, who read it, the key that seals it, and a lock that keeps processes
/// apart.
struct PasteboardStore: Sendable {
    private let folder: String
    private let key: SealingKey

    /// The item's file: the state, as the bytes that the content was sealed with, and the sealed content.
    private struct File: Codable {
        var state: Data
        var sealed: Data?
    }

    private var itemPath: String { folder + "/item" }
    private var accessPath: String { folder + "/accesses" }

    init(device: Device) throws(PasteboardError) {
        do {
            folder = try device.pasteboardFolder()
            let path = folder + "/master.key"
            key = try FileLock.withLock(at: folder + "/lock") {
                if let kept = try MasterKey.read(path) { return try SealingKey(kept) }
                // An item that an older key sealed does not open any more, which reading it tells.
                let new = MasterKey.random()
                try AtomicFile.write(new, to: path)
                return try SealingKey(new)
            }
        } catch {
            throw PasteboardError(error)
        }
    }

    /// Runs `body` while no other process or thread is at the pasteboard.
    func exclusively<Value>(
        _ body: () throws(PasteboardError) -> Value
    ) throws(PasteboardError) -> Value {
        let lock: FileLock
        do throws(FileError) {
            lock = try FileLock.acquire(folder + "/lock")
        } catch {
            throw PasteboardError(error)
        }
        defer { lock.release() }
        return try body()
    }

    /// What the pasteboard holds at `now`; an item whose time is over is removed first.
    func state(at now: Date) throws(PasteboardError) -> PasteboardState {
        var state = try state()
        guard case .item(let item) = state.content, item.expires <= now else { return state }
        state.content = .expired(item)
        try replace(state)
        return state
    }

    /// How often the pasteboard was changed. A file that cannot be understood counts as a new one: whoever
    /// writes makes a whole one.
    func lastChangeCount() throws(PasteboardError) -> Int {
        do throws(PasteboardError) {
            return try state().changeCount
        } catch {
            guard error.code == .damaged else { throw error }
            return 0
        }
    }

    /// What the pasteboard's file says, expired or not.
    func state() throws(PasteboardError) -> PasteboardState {
        guard let file = try file() else { return PasteboardState() }
        return try Self.decode(PasteboardState.self, file.state)
    }

    /// The content of the item that `state` tells of; nil when it does not open.
    func content(of state: PasteboardState) throws(PasteboardError) -> SecretBytes? {
        guard let file = try file(), let sealed = file.sealed else { return nil }
        return key.open([UInt8](sealed), associatedData: [UInt8](file.state))
    }

    /// Puts `state` in the place of what is there, with `secret` sealed and bound to it, and wipes what was
    /// there.
    func replace(_ state: PasteboardState, secret: SecretBytes? = nil) throws(PasteboardError) {
        do {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = .binary
            let bytes = try encoder.encode(state)
            let sealed = try secret.map { try key.seal($0, associatedData: [UInt8](bytes)) }
            let file = try encoder.encode(File(state: bytes, sealed: sealed.map { Data($0) }))
            let old = try PrivateFile.open(itemPath, isWritable: true)
            try AtomicFile.write([UInt8](file), to: itemPath)
            // Nobody else reads it: its name is gone, and the lock is ours.
            try old?.wipe()
        } catch {
            throw PasteboardError(error)
        }
    }

    /// Every recorded attempt to read, oldest first.
    func accesses() throws(PasteboardError) -> [PasteboardAccess] {
        guard let bytes = try bytes(of: accessPath, atMost: 1 << 22) else { return [] }
        return try Self.decode([PasteboardAccess].self, Data(bytes))
    }

    /// Records an attempt to read.
    ///
    /// - Throws: `PasteboardError`: `.damaged` when the record was altered; nothing is read unrecorded.
    func append(_ access: PasteboardAccess) throws(PasteboardError) {
        try record(try accesses().suffix(PasteboardAccess.kept - 1) + [access])
    }

    /// Starts the record of attempts anew when it was altered.
    func mendAccesses() throws(PasteboardError) {
        do throws(PasteboardError) {
            _ = try accesses()
        } catch {
            guard error.code == .damaged else { throw error }
            try record([])
        }
    }

    private func record(_ accesses: [PasteboardAccess]) throws(PasteboardError) {
        do {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = .binary
            try AtomicFile.write([UInt8](try encoder.encode(accesses)), to: accessPath)
        } catch {
            throw PasteboardError(error)
        }
    }

    private func file() throws(PasteboardError) -> File? {
        guard let bytes = try bytes(of: itemPath, atMost: 2 * Pasteboard.largestItem) else { return nil }
        return try Self.decode(File.self, Data(bytes))
    }

    private func bytes(of path: String, atMost limit: Int) throws(PasteboardError) -> [UInt8]? {
        do throws(FileError) {
            return try PrivateFile.open(path)?.read(atMost: limit)
        } catch {
            throw PasteboardError(error)
        }
    }

    private static func decode<Value: Decodable>(
        _ type: Value.Type, _ bytes: Data
    ) throws(PasteboardError) -> Value {
        do {
            return try PropertyListDecoder().decode(type, from: bytes)
        } catch {
            throw PasteboardError(.damaged, "the pasteboard's files were altered", cause: error)
        }
    }
}
