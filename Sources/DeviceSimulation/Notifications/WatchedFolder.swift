/// A folder whose changes are looked at again and again. In a turn only the first look asks the kernel, unless another
/// thread has looked meanwhile.
struct WatchedFolder: ~Copyable {
    private let turn: LookTurn
    /// The kernel's events; nil where the system gives none, or the folder has gone.
    private var events: FolderEvents?
    /// The turn in which the kernel was asked last; nil where that was outside of turns.
    private var lastTurn: UInt64?

    /// Watches the folder at `path`.
    ///
    /// - Parameter events: the kinds of events, such as `IN_CLOSE_WRITE`.
    init(_ path: String, events: UInt32, turn: LookTurn) {
        self.turn = turn
        self.events = try? FolderEvents(path, events: events)
    }

    /// Whether changes can be told. Where they cannot, everything has to be read at each look.
    var isWatching: Bool { events != nil }

    /// Tells whether the file `name` has changed since the last look; whether any file has for nil.
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
