internal import KeySharing

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
        /// The content was taken back to make room for that of others.
        case takenBack
    }

    /// The grant of one item.
    struct Grant: Sendable {
        /// Whether the item is an export of the legacy mechanism, which has no password service (docs/rules.md R1.7).
        var isLegacyExport: Bool
        var content: Content
    }

    private var grants: [ExactText: Grant] = [:]
    /// Changes whenever other content is loaded than before.
    private(set) var contentVersion = 0
    /// The number of bytes of all content that is loaded.
    private(set) var heldBytes = 0 { didSet { contentVersion += 1 } }
    /// The number of reads that wait for content.
    private(set) var waitingReads = 0

    /// The number of granted items.
    var count: Int { grants.count }

    /// The grant of an item; nil where the item is not granted.
    subscript(identifier: String) -> Grant? { grants[ExactText(identifier)] }

    /// The content that is loaded.
    var contents: [[UInt8]] {
        grants.values.compactMap { grant in
            if case .loaded(let content) = grant.content { content } else { nil }
        }
    }

    /// Grants an item. The grant of an item that is granted already stays as it is, but content that was taken back can
    /// be read again.
    mutating func grant(_ identifier: String) {
        let key = ExactText(identifier)
        switch grants[key]?.content {
        case nil: grants[key] = Grant(isLegacyExport: false, content: .unread)
        case .takenBack?: grants[key]?.content = .unread
        case .unread?, .loading?, .loaded?: break
        }
    }

    /// Drops content, and keeps the grants. Reads of it fail until the item is granted again.
    mutating func takeBack(_ piece: ContentLedger.Piece) {
        for (key, grant) in grants {
            guard case .loaded(let content) = grant.content, ContentLedger.Piece(content) == piece else {
                continue
            }
            grants[key]?.content = .takenBack
            heldBytes -= piece.size
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
        case .unread, .takenBack, nil:
            return []
        }
    }

    /// Ends every grant.
    ///
    /// - Returns: The reads that waited for content; the caller must answer them.
    mutating func revokeAll() -> [WaitingRead] {
        grants.keys.flatMap { revoke($0.text) }
    }

    /// Notes that the question `token` fetches the content of a granted item for `read`.
    mutating func beginLoading(_ identifier: String, token: Int, for read: WaitingRead) {
        grants[ExactText(identifier)]?.content = .loading(token: token, waiting: [read])
        waitingReads += 1
    }

    /// Lets `read` wait for the content that is being fetched.
    mutating func wait(for identifier: String, _ read: WaitingRead) {
        guard case .loading(let token, var waiting) = grants[ExactText(identifier)]?.content else { return }
        waiting.append(read)
        grants[ExactText(identifier)]?.content = .loading(token: token, waiting: waiting)
        waitingReads += 1
    }

    /// Keeps the content that the question `token` fetched; nil where it failed.
    ///
    /// - Returns: The reads that waited for the content; none where the grant has ended since.
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
