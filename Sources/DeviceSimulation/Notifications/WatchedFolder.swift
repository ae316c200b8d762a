/// A folder that is checked repeatedly for changes. During a turn, only the first check queries the kernel, unless
/// another thread has checked in the meantime.
struct WatchedFolder: ~Copyable {
    private let turn: WatchSnapshot
    /// The kernel's events; nil if the system provides none, or if the folder was removed.
    private var events: FolderEvents?
    /// The turn of the last check; nil if that was outside a turn.
    private var lastTurn: UInt64?

    /// Watches the folder at `path`.
    ///
    /// - Parameter events: The kinds of events, such as `IN_CLOSE_WRITE`.
    init(_ path: String, events: UInt32, turn: WatchSnapshot) {
        self.turn = turn
        self.events = try? FolderEvents(path, events: events)
    }

    /// Whether changes can be detected. If not, every check must read the files.
    var isWatching: Bool { events != nil }

    /// Returns whether the file `name`, or any file if `name` is nil, has changed since the last check.
    mutating func hasChanged(_ name: String?) -> Bool {
        let number = turn.number
        if let number, number == lastTurn { return events == nil }
        lastTurn = number
        switch events?.drain(name: name) {
        case .nothing: return false
        case .happened, nil: return true
        case .ended:
            events = nil
            return true
        }
    }
}
