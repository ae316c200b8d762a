internal import KeySharing

/// The items that one connection may use, and the content that it holds of them.
struct SessionGrants: Sendable {
    /// A read that came before the content did.
    struct WaitingRead: Sendable {
        var requestID: UInt32
        var offset: UInt64
        var length: Int
    }

    enum Content: Sendable {
        case unread
        /// `token` names the work that fetches it: a later grant of the same item is not filled by it.
        case loading(token: Int, waiting: [WaitingRead])
        case loaded([UInt8])
    }

    struct Grant: Sendable {
        /// Whether it is an export of the legacy mechanism, for which there is no password service.
        var isLegacyExport: Bool
        var content: Content
    }

    private var grants: [String: Grant] = [:]
    /// The bytes of all content that is loaded.
    private(set) var heldBytes = 0
    /// Reads that wait for content.
    private(set) var waitingReads = 0

    var count: Int { grants.count }

    subscript(identifier: String) -> Grant? { grants[identifier] }

    /// Grants an item; one that is granted already stays as it is.
    mutating func grant(_ identifier: String) {
        if grants[identifier] == nil {
            grants[identifier] = Grant(isLegacyExport: false, content: .unread)
        }
    }

    /// Grants a legacy export together with its bytes; gives the reads that waited for other content.
    mutating func grant(_ identifier: String, export content: [UInt8]) -> [WaitingRead] {
        let waiting = revoke(identifier)
        grants[identifier] = Grant(isLegacyExport: true, content: .loaded(content))
        heldBytes += content.count
        return waiting
    }

    /// Ends a grant; the reads that waited for its content are the caller's to answer.
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

    /// Ends every grant; the reads that waited for content are the caller's to answer.
    mutating func revokeAll() -> [WaitingRead] {
        grants.keys.flatMap { revoke($0) }
    }

    mutating func beginLoading(_ identifier: String, token: Int, for read: WaitingRead) {
        grants[identifier]?.content = .loading(token: token, waiting: [read])
        waitingReads += 1
    }

    mutating func wait(for identifier: String, _ read: WaitingRead) {
        guard case .loading(let token, var waiting) = grants[identifier]?.content else { return }
        waiting.append(read)
        grants[identifier]?.content = .loading(token: token, waiting: waiting)
        waitingReads += 1
    }

    /// Takes what the work `token` fetched, nil where it failed, and gives the reads that waited for it;
    /// empty where the grant has ended since.
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
