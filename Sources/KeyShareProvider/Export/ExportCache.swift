internal import SecretMemory
internal import OpenSSL
internal import Synchronization

/// The files that were exported under the password that is in force, so that each is made once.
///
/// Bounded by the bytes it holds: past that the oldest go first.
final class ExportCache: Sendable {
    private struct State {
        var password: SecretBytes?
        var files: [String: [UInt8]] = [:]
        var order: [String] = []
        var size = 0
    }

    private let state = Mutex(State())
    private let capacity: Int

    /// - Parameter capacity: in bytes.
    init(capacity: Int) {
        self.capacity = capacity
    }

    /// The file of this name, if it was made under this password.
    func file(_ name: String, password: SecretBytes) -> [UInt8]? {
        state.withLock { state in
            state.password == password ? state.files[name] : nil
        }
    }

    /// The size of a file, under whatever password it was made.
    func size(of name: String) -> Int? {
        state.withLock { $0.files[name]?.count }
    }

    /// Forgets every file.
    func removeAll() {
        state.withLock { $0 = State() }
    }

    /// Keeps a file; everything made under another password goes.
    func keep(_ bytes: [UInt8], as name: String, password: SecretBytes) {
        state.withLock { state in
            if state.password != password {
                state = State()
                state.password = password
            }
            guard bytes.count <= capacity, state.files.updateValue(bytes, forKey: name) == nil else { return }
            state.order.append(name)
            state.size += bytes.count
            while state.size > capacity, !state.order.isEmpty {
                state.size -= state.files.removeValue(forKey: state.order.removeFirst())?.count ?? 0
            }
        }
    }
}
