package import Foundation
package import SecretMemory
package import SimulatedKeychain

/// The device's general pasteboard: one item, for all apps, only on this device (`UIPasteboard.general` with
/// the option `localOnly`).
///
/// A new item replaces the earlier one, is encrypted on disk, and expires. Every app may see whether an item exists and
/// who owns it. Reading it requires the user's consent, and each attempt is recorded. Several threads and processes may
/// use the pasteboard concurrently. Calls return after the data is on disk.
package struct Pasteboard: Sendable {
    /// The lifetime of an item in seconds, unless the owner sets another one.
    package static let standardLifetime: TimeInterval = 60

    /// The maximum size of an item, in bytes.
    package static let largestItem = 1 << 20

    private let store: PasteboardStore

    /// Opens the pasteboard of `device`, and creates it on first use.
    ///
    /// - Throws: `PasteboardError.Code.inputOutput` if the files cannot be created or are accessible to
    ///   others, with a `FileError` as its cause; `.damaged` if the key has the wrong size.
    package init(device: Device) throws(PasteboardError) {
        store = try PasteboardStore(device: device)
    }

    /// Puts `secret` on the pasteboard, and replaces the earlier item.
    ///
    /// - Parameters:
    ///   - secret: The item.
    ///   - owner: The app that copies the item.
    ///   - now: The current time.
    ///   - lifetime: The time until the item expires, in seconds.
    /// - Throws: `PasteboardError`: `.notPermitted` if the system does not allow `owner` to use the
    ///   pasteboard; `.tooLarge` for more than ``largestItem`` bytes; `.inputOutput`. The earlier item is
    ///   kept in this case.
    /// - Returns: The change count, which distinguishes this item from later ones.
    @discardableResult
    package func write(
        _ secret: SecretBytes, owner: App, now: Date, lifetime: TimeInterval = standardLifetime
    ) throws(PasteboardError) -> Int {
        try Self.permit(owner)
        guard secret.count <= Self.largestItem else {
            throw PasteboardError(.tooLarge, "the pasteboard accepts at most \(Self.largestItem) bytes")
        }
        return try store.exclusively { () throws(PasteboardError) in
            let count = try store.lastChangeCount() &+ 1
            let item = PasteboardState.Item(
                owner: owner.bundleIdentifier, written: now, expires: now.addingTimeInterval(lifetime))
            try store.replace(PasteboardState(changeCount: count, content: .item(item)), secret: secret)
            return count
        }
    }

    /// Reads the item on the pasteboard after the user's consent; nil if there is none.
    ///
    /// The item's owner reads without consent. Every attempt is recorded with its outcome, before the content
    /// is returned.
    ///
    /// - Parameters:
    ///   - reader: The app that reads.
    ///   - now: Returns the current time; called again after the user's answer, which may arrive after the
    ///     item has expired.
    ///   - changeCount: The change count of the expected item; nil for any item.
    ///   - consent: Asks the user. It is called without any lock held, and only if there is an item.
    /// - Throws: `PasteboardError`: `.denied`; `.expired`; `.overwritten` if the item is not the expected one, or not
    ///   the one that the user agreed to share; `.notPermitted`; `.consentFailed` with the error of `consent` as its
    ///   cause; `.damaged`; `.inputOutput`.
    package func read(
        by reader: App, now: @autoclosure () -> Date, expecting changeCount: Int? = nil,
        consent: (PasteboardRequest) throws -> Bool
    ) throws(PasteboardError) -> SecretBytes? {
        let attempt = Attempt(store: store, reader: reader)
        guard let item = try begin(attempt, expecting: changeCount, at: now()) else { return nil }
        guard let request = attempt.request(for: item) else {
            return try attempt.content(of: item, at: now())
        }
        let answer = Result { try consent(request) }
        return try finish(attempt, item, request, answer, at: now())
    }

    /// Reads the item like `read(by:now:expecting:consent:)`, with an asynchronous question to the user.
    ///
    /// - Throws: `PasteboardError`, like that function.
    package func read(
        by reader: App, now: @autoclosure () -> Date, expecting changeCount: Int? = nil,
        waitingForConsent consent: (PasteboardRequest) async throws -> Bool
    ) async throws(PasteboardError) -> SecretBytes? {
        let attempt = Attempt(store: store, reader: reader)
        guard let item = try begin(attempt, expecting: changeCount, at: now()) else { return nil }
        guard let request = attempt.request(for: item) else {
            return try attempt.content(of: item, at: now())
        }
        let answer: Result<Bool, any Error>
        do {
            answer = .success(try await consent(request))
        } catch {
            answer = .failure(error)
        }
        return try finish(attempt, item, request, answer, at: now())
    }

    /// Finds the item to read; nil if there is none.
    private func begin(
        _ attempt: Attempt, expecting changeCount: Int?, at now: Date
    ) throws(PasteboardError) -> Found? {
        guard attempt.reader.kind.mayUsePasteboard else {
            try attempt.record(.notPermitted, at: now)
            try Self.permit(attempt.reader)
            return nil
        }
        return try attempt.item(expecting: changeCount, at: now)
    }

    /// Reads the item that the user was asked about, after the user's answer.
    private func finish(
        _ attempt: Attempt, _ item: Found, _ request: PasteboardRequest, _ answer: Result<Bool, any Error>,
        at now: Date
    ) throws(PasteboardError) -> SecretBytes {
        switch answer {
        case .success(true): return try attempt.content(of: item, at: now)
        case .success(false):
            try attempt.record(.denied, at: now, item: item)
            throw PasteboardError(
                .denied, "the user did not allow \(request.reader) to read the item of \(request.owner)")
        case .failure(let error):
            try attempt.record(.denied, at: now, item: item)
            throw PasteboardError(.consentFailed, "the user could not be asked: \(error)", cause: error)
        }
    }

    /// Returns the information that every app may see without consent: the item's owner and expiry, but not
    /// its content.
    ///
    /// - Throws: `PasteboardError`: `.inputOutput` or `.damaged`.
    package func status(now: Date) throws(PasteboardError) -> PasteboardStatus {
        try store.exclusively { () throws(PasteboardError) in PasteboardStatus(try store.state(at: now)) }
    }

    /// Returns the number of times that any process wrote or cleared the pasteboard.
    ///
    /// - Throws: `PasteboardError`: `.inputOutput` or `.damaged`.
    package func changeCount() throws(PasteboardError) -> Int {
        try store.exclusively { () throws(PasteboardError) in try store.state().changeCount }
    }

    /// Wipes the item if it has expired.
    ///
    /// - Throws: `PasteboardError`: `.inputOutput` or `.damaged`.
    /// - Returns: The time at which the current item expires; nil if there is no item.
    @discardableResult
    package func wipeExpired(now: Date) throws(PasteboardError) -> Date? { try status(now: now).expires }

    /// Wipes an expired item on the pasteboard of `device`, and the temporary files of killed writers. Does nothing if
    /// the pasteboard does not exist, or if its files cannot be read: a later read reports the error.
    package static func wipeExpired(on device: Device, now: Date) {
        guard device.hasPasteboard, let pasteboard = try? Pasteboard(device: device) else { return }
        _ = try? pasteboard.wipeExpired(now: now)
    }

    /// Removes the item, even if it is damaged. The record of attempts is kept, unless it was altered.
    ///
    /// - Throws: `PasteboardError.Code.inputOutput`.
    package func clear() throws(PasteboardError) {
        try store.exclusively { () throws(PasteboardError) in
            let count = try store.lastChangeCount() &+ 1
            try store.replace(PasteboardState(changeCount: count, content: .nothing))
            try store.mendAccesses()
        }
    }

    /// Returns the recorded attempts to read, oldest first. Only the latest ``PasteboardAccess/kept`` attempts are
    /// kept.
    ///
    /// - Throws: `PasteboardError`: `.damaged` if the record was altered, or `.inputOutput`.
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
    /// The item that was found by an attempt to read.
    private struct Found {
        let changeCount: Int
        let owner: String
    }

    /// One attempt to read, which records its outcome.
    private struct Attempt {
        let store: PasteboardStore
        let reader: App

        /// The question to the user; nil for the item's owner, who is not asked.
        func request(for item: Found) -> PasteboardRequest? {
            guard item.owner != reader.bundleIdentifier else { return nil }
            return PasteboardRequest(
                owner: item.owner, reader: reader.bundleIdentifier, changeCount: item.changeCount)
        }

        /// Finds the item before the user is asked; records the attempt and returns nil if there is none.
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

        /// Records the attempt and returns the content, if the same item is still present.
        func content(of item: Found, at now: Date) throws(PasteboardError) -> SecretBytes {
            try store.exclusively { () throws(PasteboardError) in
                let state = try store.state(at: now)
                guard state.changeCount == item.changeCount, let owner = try owner(state, at: now) else {
                    throw try overwritten(state, at: now)
                }
                guard let content = try store.content(of: state) else {
                    try append(.damaged, at: now, owner: owner, changeCount: state.changeCount)
                    throw PasteboardError(
                        .damaged, "the item on the pasteboard was altered, and cannot be decrypted")
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

        /// Returns the item's owner; nil if there is no item.
        private func owner(_ state: PasteboardState, at now: Date) throws(PasteboardError) -> String? {
            switch state.content {
            case .item(let item): return item.owner
            case .nothing: return nil
            case .expired(let item):
                try append(.expired, at: now, owner: item.owner, changeCount: state.changeCount)
                throw PasteboardError(.expired, "the item of \(item.owner) is no longer on the pasteboard")
            }
        }

        private func overwritten(
            _ state: PasteboardState, at now: Date
        ) throws(PasteboardError) -> PasteboardError {
            try append(
                .overwritten, at: now, owner: PasteboardStatus(state).owner, changeCount: state.changeCount)
            return PasteboardError(
                .overwritten(state.changeCount), "the pasteboard has changed and contains a different item")
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
