package import DeviceSimulation
internal import Diagnostics
package import Foundation
internal import KeyShareWire
internal import LocalSockets
internal import PrivateFiles

/// A way for a credential from one app of a device to another.
///
/// One credential is on the channel at a time: the next that is sent takes its place, and it stays until it is
/// removed, its time is over, or, on a channel for one look, somebody has it. Whoever observes
/// `ChannelEndpoints.notification` is told of each.
///
/// Channels over a socket wait without holding a thread; those over files block for as long as the disk takes.
package protocol SharingChannel: Sendable {
    /// What the channel is called, such as `keychain`.
    var name: String { get }

    /// Whether a credential can be had once only: who looks again is refused until the next is sent.
    var isOneTime: Bool { get }

    /// Puts `credential` on the channel, as the sender.
    ///
    /// - Throws: `SharingChannelError`; what was on the channel stays then.
    func send(_ credential: Credential, now: Date) async throws(SharingChannelError)

    /// The credential that is on the channel, as `app` gets at it, who need not be the one it is meant for; nil
    /// when there is none.
    ///
    /// - Parameter consent: asks the user, where the channel takes that.
    /// - Throws: `SharingChannelError`.
    func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) async throws(SharingChannelError) -> Credential?

    /// Takes what is there from the channel, as the sender, such as on log-out, in every state of the device;
    /// silent when there is nothing.
    ///
    /// - Throws: `SharingChannelError`.
    func remove() async throws(SharingChannelError)

    /// Ends what runs for the channel, as the end of the apps' processes does; what lies on disk stays.
    func stop() async
}

extension SharingChannel {
    /// No: most channels can be looked at as often as one likes.
    package var isOneTime: Bool { false }

    /// Nothing runs for a channel through files.
    package func stop() async {}
}

/// What the user is asked before a channel gives a credential away.
package enum ConsentQuestion: Sendable, Hashable {
    /// Whether an app may read what another copied.
    case paste(PasteboardRequest)
    /// Whether an app, by its bundle identifier, may have an item that it shows in a list: the user picks it.
    case pick(item: String, reader: String)
}

/// Who hands a credential over, to whom, and where.
package struct ChannelEndpoints: Sendable {
    /// The device that both are on.
    package let device: Device
    /// Who sends.
    package let sender: App
    /// Whom it is meant for.
    package let receiver: App

    /// The ends of a channel.
    package init(device: Device, sender: App, receiver: App) {
        self.device = device
        self.sender = sender
        self.receiver = receiver
    }

    /// The posted name by which the receiver learns that something is on its way.
    package static let notification = "red.hound.keyshare.credential"

    /// Tells who observes that a credential was sent.
    ///
    /// It is on the channel by now: that nobody could be told of it does not take it back.
    package func announce() {
        try? Notifications(device: device).post(Self.notification)
    }

    /// The first keychain group that both may write to, an application group among them.
    ///
    /// - Throws: `SharingChannelError`: `.missingEntitlement` when there is none.
    func sharedKeychainGroup() throws(SharingChannelError) -> String {
        try shared(
            "keychain", \.writableAccessGroups,
            named: { $0.keychainAccessGroups + $0.applicationGroups },
            hint: { app, group in app.hint(missingAccessGroup: group) })
    }

    /// The first application group that both are of.
    ///
    /// - Throws: `SharingChannelError`: `.missingEntitlement` when there is none.
    func sharedApplicationGroup() throws(SharingChannelError) -> String {
        try shared(
            "application", \.applicationGroups, named: \.applicationGroups,
            hint: { app, group in app.hint(missingApplicationGroup: group) })
    }

    private func shared(
        _ kind: String, _ groups: KeyPath<App, [String]>, named: (Entitlements) -> [String],
        hint: (App, String) -> String?
    ) throws(SharingChannelError) -> String {
        func failure(hint: String) -> SharingChannelError {
            SharingChannelError(
                .missingEntitlement,
                "\(sender.bundleIdentifier) and \(receiver.bundleIdentifier) have no common \(kind) group",
                hint: hint)
        }
        // A group is one team's: Apple registers a name for one, and puts the team before that of a keychain.
        guard sender.teamIdentifier == receiver.teamIdentifier else {
            throw failure(hint: "apps of two teams can share none; take a channel without a group")
        }
        let theirs = receiver[keyPath: groups]
        if let group = sender[keyPath: groups].first(where: theirs.contains) { return group }
        // First what one names and the other lacks, then what is wrong with either's own; the tokens' group,
        // which is nobody's to share, last.
        let asked = [(receiver, sender), (sender, receiver), (sender, sender), (receiver, receiver)]
            .flatMap { app, other in named(other.entitlements).map { (app, $0) } }
        let isTokens = { (asked: (App, String)) in asked.1 == Entitlements.tokenGroup }
        let hints = (asked.filter { !isTokens($0) } + asked.filter(isTokens)).lazy.compactMap(hint)
        throw failure(hint: hints.first ?? "give both apps the same \(kind) group")
    }
}

/// Why a credential did not come through.
package struct SharingChannelError: Failure {
    /// What went wrong.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// An app is not entitled to what the channel goes through.
        case missingEntitlement = "missing-entitlement"
        /// The device's state keeps the channel closed.
        case locked
        /// The user did not agree, or could not be asked.
        case denied
        /// The credential's time is over.
        case expired
        /// Something else took its place.
        case overwritten
        /// Somebody has had it, and the channel gives it once.
        case alreadyUsed = "spent"
        /// The process that would hand it over is gone.
        case notRunning = "not-running"
        /// The app does not have the key that both ends share.
        case notPaired = "not-paired"
        /// The system keeps this kind of extension from the channel.
        case notPermitted = "not-permitted"
        /// What is on the channel was altered.
        case damaged
        /// No channel of several is open.
        case noChannel = "no-channel"
        /// Anything else: files, disks.
        case failed
    }

    /// What went wrong.
    package let code: Code
    /// The same in words for a human, without a full stop.
    package let reason: String
    /// What to do about it, where that is known.
    package let hint: String?
    /// What caused it, where something else did.
    package let cause: (any Error)?

    package init(_ code: Code, _ reason: String, hint: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.hint = hint
        self.cause = cause
    }

    /// What `error`, from below, means for a channel.
    package init(_ error: any Error) {
        switch error {
        case let error as SharingChannelError: self = error
        case let error as KeychainError:
            self.init(Self.code(error.code), error.reason, hint: error.hint, cause: error)
        case let error as DeviceError:
            self.init(Self.code(error.code), error.reason, hint: error.hint, cause: error)
        case let error as SocketError:
            let isGone = [.notRunning, .closed].contains(error.code)
            self.init(isGone ? .notRunning : .failed, error.reason, cause: error)
        case let error as ProviderFailure:
            // The lock of the device is the only limit of the provider of one item.
            self.init(error.code == .refused ? .locked : .failed, error.reason, cause: error)
        case let error as FileError:
            self.init(error.code == .damagedFile ? .damaged : .failed, error.reason, cause: error)
        case let error as PasteboardError: self.init(Self.code(error.code), error.reason, cause: error)
        default: self.init(.failed, "\(error)", cause: error)
        }
    }

    private static func code(_ code: KeychainError.Code) -> Code {
        switch code {
        case .missingEntitlement: .missingEntitlement
        case .interactionNotAllowed: .locked
        case .decode, .invalidKeychain: .damaged
        default: .failed
        }
    }

    private static func code(_ code: DeviceError.Code) -> Code {
        switch code {
        case .missingEntitlement: .missingEntitlement
        case .locked: .locked
        default: .failed
        }
    }

    private static func code(_ code: PasteboardError.Code) -> Code {
        switch code {
        case .denied, .consentFailed: .denied
        case .expired: .expired
        case .overwritten: .overwritten
        case .notPermitted: .notPermitted
        case .damaged: .damaged
        case .tooLarge, .inputOutput: .failed
        }
    }

    /// Runs `body`, and tells its errors as a channel's.
    ///
    /// - Throws: `SharingChannelError`.
    package static func wrapping<Value>(_ body: () throws -> Value) throws(SharingChannelError) -> Value {
        do {
            return try body()
        } catch {
            throw SharingChannelError(error)
        }
    }
}
