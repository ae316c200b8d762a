internal import SecretMemory
internal import OpenSSL
internal import Synchronization

/// The exported files of one password, so that each is made once.
///
/// The number of bytes held is limited: the oldest files go first. A file that is larger than the limit is not kept.
final class ExportCache: Sendable {
    private struct State {
        var password: SecretBytes?
        var files: [String: [UInt8]] = [:]
        var order: [String] = []
        var size = 0
    }

    private let state = Mutex(State())
    private let capacity: Int

    /// Holds no file yet.
    ///
    /// - Parameter capacity: how many bytes of files are held at most.
    init(capacity: Int) {
        self.capacity = capacity
    }

    /// The file of this name; nil unless one was kept under this password.
    func file(_ name: String, password: SecretBytes) -> [UInt8]? {
        state.withLock { state in
            state.password == password ? state.files[name] : nil
        }
    }

    /// The size in bytes of the file of this name; nil where none is held.
    func size(of name: String) -> Int? {
        state.withLock { $0.files[name]?.count }
    }

    /// Removes every file.
    func removeAll() {
        state.withLock { $0 = State() }
    }

    /// Keeps a file, and removes every file that was made under another password. A file that is held under this
    /// name and password is replaced.
    ///
    /// - Parameter password: the password that the file was made under.
    func keep(_ bytes: [UInt8], as name: String, password: SecretBytes) {
        state.withLock { state in
            if state.password != password {
                state = State()
                state.password = password
            }
            guard bytes.count <= capacity else { return }
            let former = state.files.updateValue(bytes, forKey: name)
            if former == nil { state.order.append(name) }
            state.size += bytes.count - (former?.count ?? 0)
            while state.size > capacity, !state.order.isEmpty {
                state.size -= state.files.removeValue(forKey: state.order.removeFirst())?.count ?? 0
            }
        }
    }
}
