internal import Foundation
internal import OpenSSL
internal import PrivateFiles
internal import SecretMemory
internal import SimulatedKeychain

/// The unencrypted part of the pasteboard's file, which is authenticated together with the content.
struct PasteboardState: Codable {
    /// An item without its content.
    struct Item: Codable {
        /// The bundle identifier of the app that copied the item.
        var owner: String
        var written: Date
        var expires: Date
    }

    /// The content: nothing, an item, or an expired item.
    enum Content: Codable {
        /// The pasteboard was never written, or was cleared.
        case nothing
        case item(Item)
        /// An item that was removed because it expired.
        case expired(Item)
    }

    var changeCount = 0
    var content = Content.nothing
}

/// The pasteboard's files: the item, the record of attempts to read, the key, and the lock between processes.
struct PasteboardStore: Sendable {
    private let folder: String
    private let key: SealingKey

    /// The item's file: the encoded state, and the encrypted content. The state is the content's associated data.
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
            key = try FileLock.withLock(at: folder + "/lock") { [folder] in
                try Self.clearUnfinished(in: folder)
                if let kept = try MasterKey.read(path) { return try SealingKey(kept) }
                // An item that was encrypted with a lost key is detected as damaged when it is read.
                let new = MasterKey.random()
                try AtomicFile.write(new, to: path)
                return try SealingKey(new)
            }
        } catch {
            throw PasteboardError(error)
        }
    }

    /// Wipes and removes half-written files of killed writers. The caller holds the lock of all writers, so
    /// no process is writing them.
    private static func clearUnfinished(in folder: String) throws(FileError) {
        for name in try PrivateFolder.names(folder) where AtomicFile.isTemporary(name) {
            try PrivateFile.open(folder + "/" + name, isWritable: true)?.wipe()
            try AtomicFile.remove(folder + "/" + name)
        }
    }

    /// Runs `body` while no other process or thread uses the pasteboard.
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

    /// Returns the state at the time `now`, after removing an expired item.
    func state(at now: Date) throws(PasteboardError) -> PasteboardState {
        var state = try state()
        // An item from the future was written before the clock was set back, so its age is unknown.
        guard case .item(let item) = state.content, item.expires <= now || item.written > now else {
            return state
        }
        state.content = .expired(item)
        try replace(state)
        return state
    }

    /// Returns the number of changes; 0 for a damaged file, so that the next write replaces it with a valid
    /// one.
    func lastChangeCount() throws(PasteboardError) -> Int {
        do throws(PasteboardError) {
            return try state().changeCount
        } catch {
            guard error.code == .damaged else { throw error }
            return 0
        }
    }

    /// Reads the state from the file, regardless of the time.
    func state() throws(PasteboardError) -> PasteboardState {
        guard let file = try file() else { return PasteboardState() }
        return try Self.decode(PasteboardState.self, file.state)
    }

    /// Decrypts the content of the item in `state`; nil if it was altered.
    func content(of state: PasteboardState) throws(PasteboardError) -> SecretBytes? {
        guard let file = try file(), let sealed = file.sealed else { return nil }
        return key.open([UInt8](sealed), associatedData: [UInt8](file.state))
    }

    /// Replaces the earlier item with `state` and the encrypted `secret`, and wipes the earlier file.
    func replace(_ state: PasteboardState, secret: SecretBytes? = nil) throws(PasteboardError) {
        do {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = .binary
            let bytes = try encoder.encode(state)
            let sealed = try secret.map { try key.seal($0, associatedData: [UInt8](bytes)) }
            let file = try encoder.encode(File(state: bytes, sealed: sealed.map { Data($0) }))
            let old = try PrivateFile.open(itemPath, isWritable: true)
            try AtomicFile.write([UInt8](file), to: itemPath)
            // The earlier file no longer has a name, and this process holds the lock, so no other process reads it.
            try old?.wipe()
        } catch {
            throw PasteboardError(error)
        }
    }

    /// Reads the recorded attempts, oldest first.
    func accesses() throws(PasteboardError) -> [PasteboardAccess] {
        guard let bytes = try bytes(of: accessPath, atMost: 1 << 22) else { return [] }
        return try Self.decode([PasteboardAccess].self, Data(bytes))
    }

    /// Records an attempt to read.
    ///
    /// - Throws: `PasteboardError.Code.damaged` if the record was altered: no item is read without a record.
    func append(_ access: PasteboardAccess) throws(PasteboardError) {
        try record(try accesses().suffix(PasteboardAccess.kept - 1) + [access])
    }

    /// Replaces an altered record of attempts with an empty one.
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
            return try BoundedPropertyList.decodeBinary(type, from: bytes)
        } catch {
            throw PasteboardError(.damaged, "the pasteboard's files were altered", cause: error)
        }
    }
}
