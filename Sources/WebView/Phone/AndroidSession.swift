internal import CommandSupport
internal import DeviceSimulation
internal import Foundation
internal import KeyShareClient
internal import KeyShareConsumer
internal import KeyShareProvider
internal import KeyShareWire
internal import KeySharing
internal import LocalSockets
internal import SimulatedKeychain

/// The page's actions on an Android phone, implemented with the same modules as the commands.
actor AndroidSession {
    private let device: Device
    private let socket: String
    private let journal: EventJournal
    private let commands: CommandLines
    private let process: ProviderProcess
    private var requests: [AliasJob] = []
    private var lastRequest = 0
    /// The app for which the page sends requests.
    private static let app = App.consumer.bundleIdentifier
    /// The entries, and the change count at which they were read.
    private var known: (changeCount: Int64, entries: [KeyChainEntry], documents: [AndroidDocument.Entry])?

    init(
        _ device: Device, socket: String, journal: EventJournal, process: ProviderProcess,
        commands: CommandLines
    ) {
        self.device = device
        self.socket = socket
        self.journal = journal
        self.process = process
        self.commands = commands
    }

    /// Returns the state of KeyChain, the user's decisions and the app's requests.
    func document() -> AndroidDocument {
        do {
            let (entries, documents) = try entries()
            let dialogs = try UserPresence(device).status().pendingDialogs
            let subjects = dialogs.isEmpty ? [:] : Self.subjects(entries)
            return AndroidDocument(
                entries: documents, count: entries.count,
                apps: try AliasesDocument.apps(of: device),
                dialogs: dialogs.map { AndroidDocument.Dialog($0, subjects: subjects) }, requests: requests,
                failure: nil)
        } catch {
            return AndroidDocument(
                entries: [], count: 0, apps: [], dialogs: [], requests: requests,
                failure: .init(CommandFailure(error)))
        }
    }

    private func entries() throws -> ([KeyChainEntry], [AndroidDocument.Entry]) {
        let keyChain = try AndroidKeyChain(device, now: { Date() })
        let changeCount = try keyChain.changeCount()
        if let known, known.changeCount == changeCount { return (known.entries, known.documents) }
        let entries = try keyChain.entries()
        let documents = entries.prefix(WebLimits.identities).compactMap { AndroidDocument.Entry($0) }
        known = (changeCount, entries, documents)
        return (entries, documents)
    }

    private static func subjects(_ entries: [KeyChainEntry]) -> [String: String] {
        let subjects = entries.compactMap { entry in
            AliasEntriesDocument.Entry(entry).map { (entry.alias, $0.subject) }
        }
        return Dictionary(subjects) { first, _ in first }
    }
}

// MARK: - Requests of the app

extension AndroidSession {
    /// Starts a query or a choice in the background, because the provider may ask the user first. The result becomes part
    /// of the state.
    ///
    /// - Throws: `CommandFailure`: 64 for a text that no app can send, 10 if too many requests are pending.
    func begin(_ kind: AliasJob.Kind, _ request: AliasRequest) throws {
        let texts =
            (request.columns ?? []) + (request.keyTypes ?? [])
            + [request.alias, request.host].compactMap(\.self)
        guard texts.allSatisfy(AliasNaming.isValid), texts.count <= WebLimits.aliasTexts else {
            throw CommandFailure(
                .usage,
                "a request about aliases has at most \(WebLimits.aliasTexts) texts, each of 1 to "
                    + "\(AliasNaming.longestAlias) bytes without control or formatting characters")
        }
        guard requests.count(where: { !$0.isOver }) < WebLimits.pendingAliasRequests else {
            throw CommandFailure(
                .refused, "\(WebLimits.pendingAliasRequests) requests of the app are already pending",
                hint: "answer the dialogs on the phone")
        }
        lastRequest += 1
        let number = lastRequest
        requests.append(
            AliasJob(number: number, kind: kind, command: commands.line(of: kind, request), again: request))
        if requests.count > WebLimits.aliasRequests {
            requests.remove(at: requests.firstIndex(where: \.isOver) ?? 0)
        }
        let (socket, now) = (socket, Date())
        Task {
            do {
                let result = try await ProviderClient.withConnection(path: socket, clientName: Self.app) {
                    client in
                    switch kind {
                    case .query: try await Self.query(request, client)
                    case .choose: try await Self.choose(request, client, at: now)
                    }
                }
                finish(number) { $0.take(result) }
            } catch {
                finish(number) { $0.failure = .init(CommandFailure(error)) }
            }
        }
    }

    /// The result of a request.
    fileprivate enum Result: Sendable {
        case table(AliasTable)
        case choices([AliasChoice])
    }

    private static func query(_ request: AliasRequest, _ client: ProviderClient) async throws -> Result {
        .table(try await client.aliases(app: app, columns: request.columns ?? []))
    }

    private static func choose(
        _ request: AliasRequest, _ client: ProviderClient, at date: Date
    ) async throws -> Result {
        var aliases = [request.alias]
        if let purpose = request.purpose {
            aliases = try await AliasKeychain(client).pick(purpose, at: date).required()
        }
        var choices: [AliasChoice] = []
        for alias in aliases {
            choices.append(
                try await client.chooseAlias(
                    AliasChoiceRequest(
                        app: app, alias: alias, keyTypes: request.keyTypes ?? [], host: request.host,
                        port: request.port)))
        }
        return .choices(choices)
    }

    private func finish(_ number: Int, _ change: (inout AliasJob) -> Void) {
        guard let place = requests.firstIndex(where: { $0.number == number }) else { return }
        change(&requests[place])
        requests[place].isOver = true
        journal.announceChange()
    }
}

extension AliasJob {
    fileprivate mutating func take(_ result: AndroidSession.Result) {
        switch result {
        case .table(let table):
            (columns, count) = (table.columns, table.rows.count)
            rows = Array(table.rows.prefix(WebLimits.shownRows))
        case .choices(let choices):
            aliases = choices.compactMap(\.alias)
            guard let refused = choices.first(where: { $0.alias == nil }) else { return }
            failure = .init(CommandFailure(refused))
        }
    }
}

// MARK: - The user's decisions

extension AndroidSession {
    /// The answers to a dialog of the system, or to a question about the user's presence.
    enum Answer: String, Decodable, Sendable {
        case allow, deny, cancel

        /// This answer as one of the simulated user.
        var ofUser: UserPresence.Answer {
            switch self {
            case .allow: .allow
            case .deny: .deny
            case .cancel: .cancel
            }
        }
    }

    /// Answers a dialog.
    ///
    /// - Parameter alias: The alias that the user selected in a chooser; nil for the preselected one.
    /// - Throws: `CommandFailure` (9) if the dialog is no longer pending; `FileError`.
    func answer(_ number: Int, _ answer: Answer, selecting alias: String?) throws {
        guard try UserPresence(device).answer(dialog: number, answer.ofUser, selecting: alias) else {
            throw CommandFailure(.noSuchItem, "this dialog is no longer pending")
        }
    }

    /// Changes the permission READ_ALIAS of an app, or ends a key grant, like `keyshare-device aliases`.
    func decide(about app: String, permission: AliasAccess.Permission?, revoking alias: String?) throws {
        try AliasAccess(device).decide(about: app, permission: permission, revoking: alias, at: Date())
    }

    /// Runs `keyshare-provider alias add`.
    func install() async throws { try await process.run(["alias", "add"]) }

    /// Runs `keyshare-provider alias reset`.
    func reset() async throws { try await process.run(["alias", "reset"]) }
}

extension CommandLines {
    /// The command that sends a request of an Android app.
    func line(of kind: AliasJob.Kind, _ request: AliasRequest) -> String {
        var words = ["keyshare-consumer", "alias", kind.rawValue]
        func option(_ name: String, _ value: String?) {
            if let value { words += ["--" + name, value.quotedForShell] }
        }
        switch kind {
        case .query: option("columns", request.columns?.joined(separator: ","))
        case .choose:
            words += request.purpose == nil ? [request.alias].compactMap { $0?.quotedForShell } : []
            option("for", request.purpose?.rawValue)
            for type in request.keyTypes ?? [] { option("key-type", type) }
            option("host", request.host)
            option("port", request.port.map { "\($0)" })
        }
        return words.joined(separator: " ") + options
    }
}
