internal import CertificateReading
internal import CommandSupport
internal import DeviceSimulation
internal import Foundation
internal import KeyShareClient
internal import KeyShareConsumer
internal import KeyShareProvider
internal import KeySharing
internal import LocalSockets
internal import SimulatedKeychain

/// The page's actions on a device, implemented with the same modules as the commands.
actor PhoneSession {
    private let device: Device
    private let socket: String
    private let journal: EventJournal
    private let watch: ProviderWatch
    private let commands: CommandLines
    nonisolated let process: ProviderProcess
    nonisolated let questions = Questions()
    private var imports: [ImportJob] = []
    private var lastImport = 0
    /// The provider's items, keyed by container or legacy request. Emptied when the provider's list may have changed.
    private var listings: [String: [Item]] = [:]
    private var identities: [String: IdentitySummary]?
    private var generation = 0
    /// The identities of provider and consumer; nil after the keychain has changed.
    private var sides: (published: PhoneDocument.Side, held: PhoneDocument.Side)?

    init(_ device: Device, socket: String, journal: EventJournal, watch: ProviderWatch, options: String) {
        self.device = device
        self.socket = socket
        self.journal = journal
        self.watch = watch
        commands = CommandLines(options: options)
        process = ProviderProcess(device: device.folder, socket: socket)
    }

    /// Drops the cached values that the change has made obsolete.
    func forget(_ news: DeviceWatch.News) {
        switch news {
        case .listings:
            listings = [:]
            identities = nil
            generation += 1
        case .keychain: sides = nil
        case .state: break
        }
    }

    /// Denies pending questions, and stops the provider that the page started.
    func end() async {
        await questions.end()
        await process.stop()
    }
}

// MARK: - The state

extension PhoneSession {
    /// Returns the state of the device, the provider and the imports, with that of the Android phone.
    func document(android: AndroidDocument) async -> PhoneDocument {
        var failures: [FailureDocument.Body] = []
        func read<Value>(_ fallback: Value, _ body: () throws -> Value) -> Value {
            do {
                return try body()
            } catch {
                failures.append(.init(CommandFailure(error)))
                return fallback
            }
        }
        let state = read(DeviceState.new) { try device.state() }
        let presence = read(nil) { try UserPresence(device).status() }
        let pasteboard = read(nil) { try Pasteboard(device: device).status(now: Date()) }
        let (status, own) = (watch.status, process.current)
        let sides = currentSides()
        return PhoneDocument(
            generation: generation, folder: device.folder, state: state.description,
            hasPasscode: state.hasPasscode,
            apps: App.installed.map(\.bundleIdentifier),
            presence: .init(
                answer: presence?.answer.rawValue ?? "allow",
                question: presence?.pendingPresenceQuestions.first),
            provider: .init(
                serving: status.client != nil, process: status.processID,
                isOwn: own != nil && own?.processID == status.processID, fault: own?.fault?.name,
                failure: status.failure.map { .init($0) },
                command: "keyshare-provider serve" + commands.options),
            published: sides.published, held: sides.held,
            pasteboard: .init(owner: pasteboard?.owner, hasExpired: pasteboard?.hasExpired ?? false),
            android: android, questions: await questions.all, imports: imports, failures: failures)
    }

    private func currentSides() -> (published: PhoneDocument.Side, held: PhoneDocument.Side) {
        if let sides { return sides }
        let read = (
            published: side { try ProviderStore(device).identities() },
            held: side { try ConsumerStore(device).identities().map(\.summary) }
        )
        // Keep only complete results: a part that cannot be read now may be readable the next time.
        if read.published.failure == nil, read.held.failure == nil { sides = read }
        return read
    }

    private func side(_ read: () throws -> [IdentitySummary]) -> PhoneDocument.Side {
        do {
            let sorted = SortedIdentities(try read(), under: .keySharing2025).identities
            return .init(
                identities: sorted.prefix(WebLimits.identities).map(IdentityDocument.init),
                count: sorted.count,
                failure: nil)
        } catch {
            return .init(identities: [], count: 0, failure: .init(CommandFailure(error)))
        }
    }
}

// MARK: - The picker

extension PhoneSession {
    /// Returns the contents of the picker for a request.
    ///
    /// - Parameter hasRows: Whether the page needs the rows. Otherwise it has them already.
    func picker(_ asked: PickerRequest, hasRows: Bool) async throws -> PickerDocument {
        let problems = TypeRequest.problems(with: asked.types, under: asked.mechanism)
        let identities = try await knownIdentities()
        let all = Array(identities.values)
        var listed: [ItemDecision] = []
        var left: [ItemDecision] = []
        switch (try? TypeRequest(asked.types, under: asked.mechanism), asked.mechanism) {
        case (nil, .keySharing2025):
            let items = try await items(in: asked.container)
            listed = Explanation.refusal(for: problems, items: items, under: asked.mechanism)
                .filter { $0.item != nil }
        case (nil, .legacy): break
        case (let request?, .legacy):
            let rows = Explanation.legacy(identities: all, request: request).filter { $0.item != nil }
            let shown = Set(try await presented(request).map(\.identifier))
            listed = rows.filter { shown.contains($0.identifier) }
            left = rows.filter { !shown.contains($0.identifier) }
        case (let request?, .keySharing2025):
            let items = try await items(in: asked.container)
            let isRoot = asked.container == Item.root
            let rows = Explanation.keySharing2025(
                items: isRoot ? items : [], identities: all, request: request)
            listed =
                isRoot
                ? Array(rows.prefix(items.count)) : items.map { request.keySharing2025Decision(for: $0) }
            left = rows.dropFirst(isRoot ? items.count : 0).filter { $0.item?.parent == asked.container }
        }
        return PickerDocument(
            asked, problems: problems, listed: listed, left: left, identities: identities, hasRows: hasRows,
            commands: commands)
    }

    /// The certificates of an item, as the provider's extension previews them before the pick.
    func details(of item: String) async throws -> ItemDetailsDocument {
        try await connected { client in
            let found = try await client.item(item)
            let preview = try await Preview(found, from: client)
            return ItemDetailsDocument(
                found,
                entries: preview.files.map {
                    .init(filename: $0.entry, certificates: $0.certificates, error: $0.error)
                }, of: preview.files.flatMap(\.certificates))
        }
    }

    private func items(in container: String) async throws -> [Item] {
        if let items = listings[container] { return items }
        let before = generation
        let items = try await connected { try await $0.items(in: container) }
        if before == generation { listings[container] = items }
        return items
    }

    private func presented(_ request: TypeRequest) async throws -> [Item] {
        let name = "legacy " + request.identifiers.joined(separator: " ")
        if let items = listings[name] { return items }
        let before = generation
        let items = try await connected { try await $0.present(request.identifiers) }
        if before == generation {
            if listings.count > 100 { listings = [:] }
            listings[name] = items
        }
        return items
    }

    /// Returns every identity of the provider, keyed by label. Uses the connection whose requests are not drawn,
    /// because a picker would not send this request.
    private func knownIdentities() async throws -> [String: IdentitySummary] {
        if let identities { return identities }
        let before = generation
        let status = watch.status
        guard let client = status.client else {
            throw status.failure
                ?? CommandFailure(SocketError(.notRunning, "no provider listens at \(socket)"))
        }
        var known = try await client.identitiesByLabel(in: IdentitySelector.noFilter.folderName)
        if known.isEmpty {
            known = try await client.identityFacts().reduce(into: [:]) { $0[$1.label] = $1 }
        }
        if before == generation { identities = known }
        return known
    }

    private func connected<Value>(
        _ body: (ProviderClient) async throws -> Value
    ) async throws -> Value {
        let client = try await ProviderClient.connect(path: socket, clientName: "document picker")
        do {
            let value = try await body(client)
            await client.close()
            return value
        } catch {
            await client.close()
            throw error
        }
    }
}

// MARK: - Importing

extension PhoneSession {
    /// Starts an import in the background. Its progress is part of the state.
    ///
    /// - Throws: `RequestError` for types that cannot be requested, `CommandFailure` (64) without an item.
    func beginImport(_ asked: PickerRequest) throws {
        let request = try TypeRequest(asked.types, under: asked.mechanism)
        guard !asked.items.isEmpty else { throw CommandFailure(.usage, "choose an item to import") }
        let importer = Importer(try ConsumerStore(device))
        let pasteboard = try Pasteboard(device: device)
        lastImport += 1
        let number = lastImport
        imports.append(ImportJob(number: number, asked, command: commands.importing(asked)))
        if imports.count > WebLimits.imports { imports.removeFirst() }
        journal.announceChange()
        let (questions, journal) = (questions, journal)
        let legacy = LegacyImport(importer, pasteboard: pasteboard, now: { Date() }) { question in
            await questions.ask(reader: question.reader, owner: question.owner) { journal.announceChange() }
        } askUser: { _ in
            // The page never asks for a password.
            nil
        }
        Task {
            for item in asked.items {
                take(number, await importItem(item, request, importer, legacy))
            }
            finish(number)
        }
    }

    private nonisolated func importItem(
        _ item: String, _ request: TypeRequest, _ importer: Importer, _ legacy: LegacyImport
    ) async -> [ImportResult] {
        do {
            return try await ProviderClient.withConnection(path: socket) { client in
                switch request.mechanism {
                case .legacy: return await legacy.importRow(item, request, from: client)
                case .keySharing2025:
                    let picked = try await DocumentPicker(client, request: request).pick(item)
                    return await importer.importItem(picked, from: client)
                }
            }
        } catch {
            return [ImportResult(item: item, outcome: .failed(error))]
        }
    }

    private func take(_ number: Int, _ results: [ImportResult]) {
        guard let place = imports.firstIndex(where: { $0.number == number }) else { return }
        imports[place].take(results)
        journal.announceChange()
    }

    private func finish(_ number: Int) {
        guard let place = imports.firstIndex(where: { $0.number == number }) else { return }
        imports[place].isOver = true
        journal.announceChange()
    }

    /// Clears the consumer's keychain.
    func clearConsumer() throws {
        _ = try ConsumerStore(device).removeAll()
    }
}

// MARK: - The device and its provider

extension PhoneSession {
    /// An action of the user on the device.
    enum DeviceAction: String, Decodable, Sendable {
        case lock, unlock, restart
        case setPasscode = "set-passcode"
        case removePasscode = "remove-passcode"
        case clearPasteboard = "clear-pasteboard"
    }

    /// Performs an action on the device, like the equivalent `keyshare-device` command.
    func perform(_ action: DeviceAction) throws {
        switch action {
        case .lock: try device.lock()
        case .unlock: try device.unlock()
        case .restart: try device.restart()
        case .setPasscode: try device.setPasscode()
        case .removePasscode: try device.removePasscode()
        case .clearPasteboard: try Pasteboard(device: device).clear()
        }
    }

    /// Sets the answer to future prompts. An answer other than `ask` also ends the pending prompts.
    func setPresence(_ answer: UserPresence.Answer) throws {
        try UserPresence(device).set(answer)
    }

    /// Answers one question about the user's presence. Dialogs and other questions remain pending.
    ///
    /// - Throws: `CommandFailure` (9) if the question is no longer pending; `FileError`.
    func answer(question number: Int, _ answer: AndroidSession.Answer) throws {
        guard try UserPresence(device).answer(question: number, answer.ofUser) else {
            throw CommandFailure(.noSuchItem, "this question is no longer pending")
        }
    }

    /// Provisions a scenario, replacing the provider's identities if requested, and restarts the page's provider with the
    /// behaviour of the scenario.
    func provision(_ scenario: String, replacing: Bool) async throws {
        let fault = process.current?.fault
        let wasRunning = process.current != nil
        if replacing { try await process.run(["clear", "--yes"]) }
        try await process.run(["provision", "--scenario", scenario])
        if wasRunning { try await process.start(fault: fault) }
    }
}
