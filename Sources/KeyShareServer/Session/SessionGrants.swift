/// The items that one connection may use, and the content that is kept for its reads (docs/rules.md R6.7, R6.8).
struct SessionGrants: Sendable {
    /// A read that arrived before the content.
    struct WaitingRead: Sendable {
        var requestID: UInt32
        var offset: UInt64
        var length: Int
    }

    /// The state of an item's content.
    enum Content: Sendable {
        case unread
        /// `token` names the question that fetches the content. Its answer does not fill a later grant of the item.
        case loading(token: Int, waiting: [WaitingRead])
        case loaded([UInt8])
    }

    /// The grant of one item.
    struct Grant: Sendable {
        /// Whether the item is an export of the legacy mechanism, which has no password service (docs/rules.md R1.7).
        var isLegacyExport: Bool
        var content: Content
    }

    private var grants: [String: Grant] = [:]
    /// The number of bytes of all content that is loaded.
    private(set) var heldBytes = 0
    /// The number of reads that wait for content.
    private(set) var waitingReads = 0

    /// The number of granted items.
    var count: Int { grants.count }

    /// The grant of an item; nil where the item is not granted.
    subscript(identifier: String) -> Grant? { grants[identifier] }

    /// Grants an item. The grant of an item that is granted already stays as it is.
    mutating func grant(_ identifier: String) {
        if grants[identifier] == nil {
            grants[identifier] = Grant(isLegacyExport: false, content: .unread)
        }
    }

    /// Grants a legacy export together with its bytes.
    ///
    /// - Returns: The reads that waited for other content under this identifier; the caller must answer them.
    mutating func grant(_ identifier: String, export content: [UInt8]) -> [WaitingRead] {
        let waiting = revoke(identifier)
        grants[identifier] = Grant(isLegacyExport: true, content: .loaded(content))
        heldBytes += content.count
        return waiting
    }

    /// Ends a grant.
    ///
    /// - Returns: The reads that waited for its content; the caller must answer them.
    mutating func revoke(_ identifier: String) -> [WaitingRead] {
        switch grants.removeValue(forKey: identifier)?.content {
        case .loading(_, let waiting):
            waitingReads -= waiting.count
            return waiting
        case .loaded(let content):
            heldBytes -= content.count
            return []
        case .unread, nil:
            return []
        }
    }

    /// Ends every grant.
    ///
    /// - Returns: The reads that waited for content; the caller must answer them.
    mutating func revokeAll() -> [WaitingRead] {
        grants.keys.flatMap { revoke($0) }
    }

    /// Notes that the question `token` fetches the content of a granted item for `read`.
    mutating func beginLoading(_ identifier: String, token: Int, for read: WaitingRead) {
        grants[identifier]?.content = .loading(token: token, waiting: [read])
        waitingReads += 1
    }

    /// Lets `read` wait for the content that is being fetched.
    mutating func wait(for identifier: String, _ read: WaitingRead) {
        guard case .loading(let token, var waiting) = grants[identifier]?.content else { return }
        waiting.append(read)
        grants[identifier]?.content = .loading(token: token, waiting: waiting)
        waitingReads += 1
    }

    /// Keeps the content that the question `token` fetched; nil where it failed.
    ///
    /// - Returns: The reads that waited for the content; none where the grant has ended since.
    mutating func endLoading(_ identifier: String, token: Int, content: [UInt8]?) -> [WaitingRead] {
        guard case .loading(token, let waiting) = grants[identifier]?.content else { return [] }
        waitingReads -= waiting.count
        if let content {
            grants[identifier]?.content = .loaded(content)
            heldBytes += content.count
        } else {
            grants[identifier]?.content = .unread
        }
        return waiting
    }
}
