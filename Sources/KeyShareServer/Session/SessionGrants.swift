internal import KeySharing

/// The items that one connection may use, and the loaded content for its reads (docs/rules.md R6.7, R6.8).
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
        /// `token` identifies the call that loads the content. Its outcome does not fill a later grant of the item.
        case loading(token: Int, waiting: [WaitingRead])
        case loaded([UInt8])
        /// The content was dropped to make room for other content.
        case evicted
    }

    /// The grant of one item.
    struct Grant: Sendable {
        /// Whether the item is an export of the legacy mechanism, which has no password service (docs/rules.md R1.7).
        var isLegacyExport: Bool
        var content: Content
    }

    private var grants: [ExactText: Grant] = [:]
    /// A number that changes whenever the loaded content changes.
    private(set) var contentVersion = 0
    /// The number of bytes of all loaded content.
    private(set) var heldBytes = 0 { didSet { contentVersion += 1 } }
    /// The number of reads that wait for content.
    private(set) var waitingReads = 0

    /// The number of granted items.
    var count: Int { grants.count }

    /// The grant of an item; nil if the item is not granted.
    subscript(identifier: String) -> Grant? { grants[ExactText(identifier)] }

    /// All loaded content.
    var contents: [[UInt8]] {
        grants.values.compactMap { grant in
            if case .loaded(let content) = grant.content { content } else { nil }
        }
    }

    /// Grants an item. An existing grant is unchanged, but evicted content can be read again.
    mutating func grant(_ identifier: String) {
        let key = ExactText(identifier)
        switch grants[key]?.content {
        case nil: grants[key] = Grant(isLegacyExport: false, content: .unread)
        case .evicted?: grants[key]?.content = .unread
        case .unread?, .loading?, .loaded?: break
        }
    }

    /// Drops content, but keeps the grants. Reads of it fail until the item is granted again.
    mutating func evict(_ evicted: ContentBudget.Content) {
        for (key, grant) in grants {
            guard case .loaded(let content) = grant.content, ContentBudget.Content(content) == evicted else {
                continue
            }
            grants[key]?.content = .evicted
            heldBytes -= evicted.size
        }
    }

    /// Grants a legacy export together with its bytes.
    ///
    /// - Returns: The reads that waited for other content under this identifier; the caller must answer them.
    mutating func grant(_ identifier: String, export content: [UInt8]) -> [WaitingRead] {
        let waiting = revoke(identifier)
        grants[ExactText(identifier)] = Grant(isLegacyExport: true, content: .loaded(content))
        heldBytes += content.count
        return waiting
    }

    /// Ends a grant.
    ///
    /// - Returns: The reads that waited for its content; the caller must answer them.
    mutating func revoke(_ identifier: String) -> [WaitingRead] {
        switch grants.removeValue(forKey: ExactText(identifier))?.content {
        case .loading(_, let waiting):
            waitingReads -= waiting.count
            return waiting
        case .loaded(let content):
            heldBytes -= content.count
            return []
        case .unread, .evicted, nil:
            return []
        }
    }

    /// Ends every grant.
    ///
    /// - Returns: The reads that waited for content; the caller must answer them.
    mutating func revokeAll() -> [WaitingRead] {
        grants.keys.flatMap { revoke($0.text) }
    }

    /// Records that the call `token` loads the content of a granted item for `read`.
    mutating func beginLoading(_ identifier: String, token: Int, for read: WaitingRead) {
        grants[ExactText(identifier)]?.content = .loading(token: token, waiting: [read])
        waitingReads += 1
    }

    /// Queues `read` until the content has been loaded.
    mutating func wait(for identifier: String, _ read: WaitingRead) {
        guard case .loading(let token, var waiting) = grants[ExactText(identifier)]?.content else { return }
        waiting.append(read)
        grants[ExactText(identifier)]?.content = .loading(token: token, waiting: waiting)
        waitingReads += 1
    }

    /// Stores the content that the call `token` loaded; nil if it failed.
    ///
    /// - Returns: The reads that waited for the content; none if the grant has ended in the meantime.
    mutating func endLoading(_ identifier: String, token: Int, content: [UInt8]?) -> [WaitingRead] {
        guard case .loading(token, let waiting) = grants[ExactText(identifier)]?.content else { return [] }
        waitingReads -= waiting.count
        if let content {
            grants[ExactText(identifier)]?.content = .loaded(content)
            heldBytes += content.count
        } else {
            grants[ExactText(identifier)]?.content = .unread
        }
        return waiting
    }
}
