internal import SecretMemory
internal import OpenSSL
internal import Synchronization

/// Caches the files that were exported under one password, so that each is exported only once.
///
/// The total size is limited, and the oldest files are removed first. A file that is larger than the limit is not
/// cached.
final class ExportCache: Sendable {
    private struct State {
        var password: SecretBytes?
        var files: [String: [UInt8]] = [:]
        var order: [String] = []
        var size = 0
    }

    private let state = Mutex(State())
    private let capacity: Int

    /// Creates an empty cache.
    ///
    /// - Parameter capacity: The maximum total size of the files, in bytes.
    init(capacity: Int) {
        self.capacity = capacity
    }

    /// Returns the cached file with this name; nil if no such file was cached under this password.
    func file(_ name: String, password: SecretBytes) -> [UInt8]? {
        state.withLock { state in
            state.password == password ? state.files[name] : nil
        }
    }

    /// Returns the size in bytes of the file with this name; nil if it is not cached.
    func size(of name: String) -> Int? {
        state.withLock { $0.files[name]?.count }
    }

    /// Removes all files from the cache.
    func removeAll() {
        state.withLock { $0 = State() }
    }

    /// Caches a file, and removes all files of other passwords. A file with the same name and password is replaced.
    ///
    /// - Parameter password: The password of the file.
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
