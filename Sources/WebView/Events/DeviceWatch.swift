internal import DeviceSimulation
internal import Foundation
internal import KeyShareProvider
internal import KeySharing
internal import SimulatedKeychain

/// Watches the parts of the device that the provider's socket does not report: its state, the pasteboard, the keychain.
///
/// It checks the device after each notification, and adds an event for each difference from the previous check.
actor DeviceWatch {
    private let device: Device
    private let journal: EventJournal
    private let pasteboard: Pasteboard
    private let provider: ProviderStore
    private let consumer: Keychain
    private var state: DeviceState
    private var questions = 0
    private var dialogs: [UserPresence.PendingDialog] = []
    private let broadcasts: Broadcasts
    private var lastBroadcast: Int
    private var pasteboardChanges: Int
    private var lastRead: PasteboardAccess?
    private var held: [String: Set<String>]

    /// Creates a watch, and reads the initial state of the device.
    ///
    /// - Throws: `FileError`, `KeychainError`, `PasteboardError` if the device cannot be read.
    init(_ device: Device, _ journal: EventJournal) throws {
        self.device = device
        self.journal = journal
        pasteboard = try Pasteboard(device: device)
        provider = try ProviderStore(device)
        consumer = try Keychain(device: device, app: .consumer)
        broadcasts = try Broadcasts(device)
        lastBroadcast = try broadcasts.last()
        state = try device.state()
        pasteboardChanges = try pasteboard.changeCount()
        let accesses = try pasteboard.accesses()
        lastRead = accesses.last
        held = [:]
        held = try Self.labels(provider, consumer)
    }

    /// The kinds of change that a check can find.
    enum News: Sendable {
        /// The provider's list of items may have changed.
        case listings
        /// The provider's or the consumer's part of the keychain may have changed.
        case keychain
        /// Another part of the device has changed.
        case state
    }

    /// The parts of the device to check.
    private enum Part {
        case state, password, identities, tokens, presence, keychain, pasteboard, android
    }

    /// Watches the device until the task is cancelled.
    ///
    /// - Parameter changed: Called after each check, with the possible changes.
    /// - Throws: `FileError` if the device cannot be observed.
    nonisolated func run(changed: @escaping @Sendable (News) -> Void) async throws {
        let notifications = try Notifications(device: device)
        let sources: [(Part, Observations)] = [
            (.state, try notifications.observe(.deviceStateChanged)),
            (.password, try notifications.observe(.passwordChanged)),
            (.identities, try notifications.observe(.identitiesChanged)),
            (.tokens, try notifications.observe(.tokensChanged)),
            (.presence, try notifications.observe(.presenceAnswered)),
            (.keychain, try device.observe(.keychain)), (.pasteboard, try device.observe(.pasteboard)),
            (.android, try device.observe(.android)),
        ]
        await withTaskGroup { group in
            for (part, observations) in sources {
                group.addTask {
                    for await _ in observations {
                        await self.look(at: part)
                        changed(part == .identities ? .listings : part == .keychain ? .keychain : .state)
                        // Pages are notified only once about several changes in a row.
                        if part == .keychain { try? await Task.sleep(for: .milliseconds(100)) }
                    }
                }
            }
        }
    }

    private func look(at part: Part) {
        let now = Date()
        switch part {
        case .state:
            guard let current = try? device.state(), current != state else { return }
            state = current
            journal.append([SharingEvent("deviceState", at: now, subject: current.description)])
        case .password: journal.append([SharingEvent("passwordChanged", at: now)])
        case .identities: break
        case .tokens: journal.append([SharingEvent("tokensChanged", at: now)])
        case .presence:
            guard let status = try? UserPresence(device).status() else { return }
            lookAtDialogs(status.pendingDialogs, now)
            let waiting = status.questionsWaiting - status.pendingDialogs.count
            if waiting > questions { journal.append([SharingEvent("presenceAsked", at: now)]) }
            if waiting < questions { journal.append([SharingEvent("presenceAnswered", at: now)]) }
            questions = waiting
        case .android: lookAtBroadcasts()
        case .keychain: lookAtKeychain(now)
        case .pasteboard: lookAtPasteboard(now)
        }
    }

    private func lookAtDialogs(_ current: [UserPresence.PendingDialog], _ now: Date) {
        func events(_ kind: String, _ dialogs: [UserPresence.PendingDialog]) -> [SharingEvent] {
            dialogs.map {
                SharingEvent(kind, at: now, subject: $0.dialog.app, message: $0.dialog.kind.rawValue)
            }
        }
        let (before, after) = (Set(dialogs.map(\.number)), Set(current.map(\.number)))
        journal.append(
            events("dialogAnswered", dialogs.filter { !after.contains($0.number) })
                + events("dialogOpened", current.filter { !before.contains($0.number) }))
        dialogs = current
    }

    private func lookAtBroadcasts() {
        guard let entries = try? broadcasts.entries(after: lastBroadcast), let last = entries.last else {
            return
        }
        lastBroadcast = last.number
        journal.append(
            entries.map { entry in
                SharingEvent(
                    "broadcast", at: entry.time, subject: entry.action.rawValue,
                    message: entry.extras[Broadcasts.aliasExtra] ?? "")
            })
    }

    private func lookAtKeychain(_ now: Date) {
        guard let current = try? Self.labels(provider, consumer) else { return }
        for (side, labels) in current.sorted(by: { $0.key < $1.key }) {
            let before = held[side] ?? []
            let (added, removed) = (labels.subtracting(before).count, before.subtracting(labels).count)
            if added > 0 {
                journal.append([SharingEvent("keychainAdded", at: now, subject: side, message: "\(added)")])
            }
            if removed > 0 {
                journal.append([
                    SharingEvent("keychainRemoved", at: now, subject: side, message: "\(removed)")
                ])
            }
        }
        held = current
    }

    private func lookAtPasteboard(_ now: Date) {
        // One check can find both a write and the read that followed it. The write is recorded first.
        if let status = try? pasteboard.status(now: now), status.changeCount != pasteboardChanges {
            pasteboardChanges = status.changeCount
            let kind = status.owner == nil ? "pasteboardCleared" : "pasteboardWritten"
            journal.append([SharingEvent(kind, at: now, subject: status.owner ?? "")])
        }
        guard let accesses = try? pasteboard.accesses(), accesses.last != lastRead else { return }
        let place = lastRead.flatMap { accesses.lastIndex(of: $0) }.map { $0 + 1 } ?? 0
        for access in accesses[place...] {
            journal.append([
                SharingEvent(
                    "pasteboardRead", at: access.date, subject: access.reader,
                    outcome: access.outcome == .allowed ? "ok" : access.outcome.rawValue)
            ])
        }
        lastRead = accesses.last
    }

    private static func labels(_ provider: ProviderStore, _ consumer: Keychain) throws -> [String: Set<
        String
    >] {
        [
            "provider": Set(try provider.identities().map(\.label)),
            "consumer": Set(try consumer.identityAttributes().map(\.label)),
        ]
    }
}
