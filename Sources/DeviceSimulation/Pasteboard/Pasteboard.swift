package import SecretMemory
package import Foundation

/// The device's pasteboard: one item, for all apps, on this device only.
///
/// What an app puts there replaces what was there, is sealed on disk, and is gone when its time is over.
/// Anybody may see that there is something and whose it is; what it is takes the user's consent, and each
/// attempt to read is recorded. A value that may be used from several threads and processes at once; calls
/// block until the disk has what was written.
package struct Pasteboard: Sendable {
    /// For how long an item stays unless its owner says otherwise, in seconds.
    package static let standardLifetime: TimeInterval = 60

    /// The most bytes that an item has.
    package static let largestItem = 1 << 20

    private let store: PasteboardStore

    /// Opens the pasteboard of `device`, and makes it on first use.
    ///
    /// - Throws: `PasteboardError` when its files cannot be made or are not safe to use.
    package init(device: Device) throws(PasteboardError) {
        store = try PasteboardStore(device: device)
    }

    /// Puts `secret` on the pasteboard, in place of what is there.
    ///
    /// - Parameters:
    ///   - owner: who puts it there.
    ///   - now: the time it is.
    ///   - lifetime: after how many seconds it is gone.
    /// - Throws: `PasteboardError`: `.notPermitted` when the system keeps `owner` from the pasteboard,
    ///   `.tooLarge` past `largestItem`; what was there stays then.
    /// - Returns: the change count, by which a reader knows this item from a later one.
    @discardableResult
    package func write(
        _ secret: SecretBytes, owner: App, now: Date, lifetime: TimeInterval = standardLifetime
    ) throws(PasteboardError) -> Int {
        try Self.permit(owner)
        guard secret.count <= Self.largestItem else {
            throw PasteboardError(.tooLarge, "the pasteboard takes no more than \(Self.largestItem) bytes")
        }
        return try store.exclusively { () throws(PasteboardError) in
            let count = try store.lastChangeCount() + 1
            let item = PasteboardState.Item(
                owner: owner.bundleIdentifier, written: now, expires: now.addingTimeInterval(lifetime))
            try store.replace(PasteboardState(changeCount: count, content: .item(item)), secret: secret)
            return count
        }
    }

    /// What is on the pasteboard, once the user agrees; nil when there is nothing.
    ///
    /// Who put it there reads it without being asked. The attempt is recorded whatever comes of it, before
    /// anything is handed out.
    ///
    /// - Parameters:
    ///   - reader: who reads.
    ///   - now: the time it is; looked up again when the user has answered, who may take longer than the
    ///     item lasts.
    ///   - changeCount: the item that is meant, as `write` counted it; nil for whatever is there.
    ///   - consent: asks the user. Not called when there is nothing to read, and without any lock held.
    /// - Throws: `PasteboardError`: `.denied`, `.expired`, `.overwritten` when there is another item than the
    ///   one that was meant, or than the one that the user agreed to, `.notPermitted`, `.consentFailed` with
    ///   what `consent` threw as its cause, `.damaged`.
    package func read(
        by reader: App, now: @autoclosure () -> Date, expecting changeCount: Int? = nil,
        consent: (PasteboardRequest) throws -> Bool
    ) throws(PasteboardError) -> SecretBytes? {
        let attempt = Attempt(store: store, reader: reader)
        guard reader.kind.mayUsePasteboard else {
            try attempt.record(.notPermitted, at: now())
            try Self.permit(reader)
            return nil
        }
        guard let item = try attempt.item(expecting: changeCount, at: now()) else { return nil }
        if item.owner != reader.bundleIdentifier {
            let request = PasteboardRequest(
                owner: item.owner, reader: reader.bundleIdentifier, changeCount: item.changeCount)
            let isAllowed: Bool
            do {
                isAllowed = try consent(request)
            } catch {
                try attempt.record(.denied, at: now(), item: item)
                throw PasteboardError(.consentFailed, "the user could not be asked: \(error)", cause: error)
            }
            guard isAllowed else {
                try attempt.record(.denied, at: now(), item: item)
                throw PasteboardError(
                    .denied, "the user did not let \(request.reader) read what \(request.owner) copied")
            }
        }
        return try attempt.content(of: item, at: now())
    }

    /// What anybody may see without consent: whose item it is, and until when, but not what it is.
    ///
    /// - Throws: `PasteboardError` when the files cannot be read or written.
    package func status(now: Date) throws(PasteboardError) -> PasteboardStatus {
        try store.exclusively { () throws(PasteboardError) in PasteboardStatus(try store.state(at: now)) }
    }

    /// How often the pasteboard was written or cleared. Grows by one each time, in any process.
    ///
    /// - Throws: `PasteboardError` when the files cannot be read.
    package func changeCount() throws(PasteboardError) -> Int {
        try store.exclusively { () throws(PasteboardError) in try store.state().changeCount }
    }

    /// Removes what is there, damaged or not. The record of attempts stays, unless it was altered.
    ///
    /// - Throws: `PasteboardError` when the files cannot be written.
    package func clear() throws(PasteboardError) {
        try store.exclusively { () throws(PasteboardError) in
            let count = try store.lastChangeCount() + 1
            try store.replace(PasteboardState(changeCount: count, content: .nothing))
            try store.mendAccesses()
        }
    }

    /// Every attempt to read, oldest first; of very many the latest `PasteboardAccess.kept`.
    ///
    /// - Throws: `PasteboardError` when the record cannot be read.
    package func accesses() throws(PasteboardError) -> [PasteboardAccess] {
        try store.exclusively { () throws(PasteboardError) in try store.accesses() }
    }

    private static func permit(_ app: App) throws(PasteboardError) {
        guard app.kind.mayUsePasteboard else {
            throw PasteboardError(
                .notPermitted(app.kind),
                "\(app.bundleIdentifier) runs in the background and may not use the pasteboard")
        }
    }
}

extension Pasteboard {
    /// An item as one attempt to read found it.
    private struct Found {
        let changeCount: Int
        let owner: String
    }

    /// One attempt to read: looks, and records what came of it.
    private struct Attempt {
        let store: PasteboardStore
        let reader: App

        /// What is there, before anybody is asked; nil, recorded, when there is nothing.
        func item(expecting expected: Int?, at now: Date) throws(PasteboardError) -> Found? {
            try store.exclusively { () throws(PasteboardError) in
                let state = try store.state(at: now)
                if let expected, expected != state.changeCount { throw try overwritten(state, at: now) }
                guard let owner = try owner(state, at: now) else {
                    try append(.empty, at: now, changeCount: state.changeCount)
                    return nil
                }
                return Found(changeCount: state.changeCount, owner: owner)
            }
        }

        /// The content of the item that was found, if it is still there, recorded.
        func content(of item: Found, at now: Date) throws(PasteboardError) -> SecretBytes {
            try store.exclusively { () throws(PasteboardError) in
                let state = try store.state(at: now)
                guard state.changeCount == item.changeCount, let owner = try owner(state, at: now) else {
                    throw try overwritten(state, at: now)
                }
                guard let content = try store.content(of: state) else {
                    try append(.damaged, at: now, owner: owner, changeCount: state.changeCount)
                    throw PasteboardError(
                        .damaged, "what is on the pasteboard was altered, and does not open")
                }
                try append(.allowed, at: now, owner: owner, changeCount: state.changeCount)
                return content
            }
        }

        func record(
            _ outcome: PasteboardAccess.Outcome, at now: Date, item: Found? = nil
        ) throws(PasteboardError) {
            try store.exclusively { () throws(PasteboardError) in
                let state = try store.state(at: now)
                let owner = PasteboardStatus(state).owner
                try append(
                    outcome, at: now, owner: item?.owner ?? owner,
                    changeCount: item?.changeCount ?? state.changeCount)
            }
        }

        /// Who owns what is there; nil when there is nothing.
        private func owner(_ state: PasteboardState, at now: Date) throws(PasteboardError) -> String? {
            switch state.content {
            case .item(let item): return item.owner
            case .nothing: return nil
            case .expired(let item):
                try append(.expired, at: now, owner: item.owner, changeCount: state.changeCount)
                throw PasteboardError(.expired, "what \(item.owner) copied is no longer on the pasteboard")
            }
        }

        private func overwritten(
            _ state: PasteboardState, at now: Date
        ) throws(PasteboardError) -> PasteboardError {
            try append(
                .overwritten, at: now, owner: PasteboardStatus(state).owner, changeCount: state.changeCount)
            return PasteboardError(
                .overwritten(state.changeCount), "the pasteboard was changed since, and holds something else")
        }

        private func append(
            _ outcome: PasteboardAccess.Outcome, at now: Date, owner: String? = nil, changeCount: Int
        ) throws(PasteboardError) {
            try store.append(
                PasteboardAccess(
                    date: now, reader: reader.bundleIdentifier, owner: owner, changeCount: changeCount,
                    outcome: outcome))
        }
    }
}
