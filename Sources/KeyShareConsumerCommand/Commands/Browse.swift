import ArgumentParser
import CommandSupport
import DeviceSimulation
import Foundation
import KeyShareClient
import KeyShareConsumer
import KeySharing
import OpenSSL
import SimulatedKeychain
import UnixSignals

struct Browse: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "browse",
        abstract: "Show the items as the document picker shows them.",
        discussion: """
            The list contains everything that the provider lists. An item that conforms to none of the requested \
            types is marked with a dash and cannot be imported. You can open any folder, marked or not.

            --watch prints the list again whenever the provider announces that its identities have changed, until \
            SIGINT or SIGTERM. With --json, each list is one document on a separate line. If the provider is not \
            running when a change is announced, the command waits until it starts again or until the next change.

            EXAMPLE:
              keyshare-consumer browse Encryption --uti \(IdentitySelector.encryption.companionType)
              keyshare-consumer browse PIV --preset newest-authentication
              keyshare-consumer browse --watch --json

            \(RequestOptions.requestable)
            """)

    @Argument(help: "The folder to open.", completion: .containers)
    var container = Item.root

    @Option(
        help: ArgumentHelp(
            "Show a file's certificate or a zip's contents without importing it.", valueName: "item"),
        completion: .providerItems)
    var details: String?

    @Flag(help: "Print the list again at each change, until SIGINT or SIGTERM.")
    var watch = false

    @OptionGroup var request: RequestOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var socket: SocketOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard
            request.mechanism == .keySharing2025
                || (details == nil && ItemLookup.container(container) == Item.root)
        else {
            throw ValidationError("a legacy list has no folders and no details; use --mechanism 2025")
        }
        guard !watch || details == nil else {
            throw ValidationError("--details and --watch cannot be combined")
        }
    }

    func run() async throws {
        let console = output.console
        if request.listPresets { return try request.writePresets(console) }
        let request = try TypeRequest(request.types, under: request.mechanism)
        guard !watch else {
            let device = try device.openDevice()
            return try await keepListing(device, try socket.path(of: device), request, console)
        }
        let socket = try self.socket.path(in: device)
        try await ProviderClient.withConnection(path: socket) { client in
            let picker = DocumentPicker(client, request: request)
            if let details {
                try await show(details, picker, client, console)
            } else {
                try await list(picker, client, request, console)
            }
        }
    }

    /// Lists the container, and lists it again at each change until a signal ends the command.
    private func keepListing(
        _ device: Device, _ socket: String, _ request: TypeRequest, _ console: Console
    ) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        // Start observing before the first listing, so that no change is missed.
        let changes = try Notifications(device: device).observe(.identitiesChanged)
        @Sendable func list(isAgain: Bool) async throws {
            // Each list uses a new connection, because the provider may have been restarted.
            try await ProviderClient.withConnection(path: socket) { client in
                try await self.list(
                    DocumentPicker(client, request: request), client, request, console, isAgain: isAgain)
            }
        }
        try await withThrowingTaskGroup { group in
            group.addTask {
                try await list(isAgain: false)
                for await _ in changes {
                    do {
                        try await list(isAgain: true)
                    } catch  where !Task.isCancelled {
                        let failure = CommandFailure(error)
                        // Keep watching while the provider is unavailable: when it starts again, it announces a change.
                        guard failure.status == .providerUnavailable else { throw error }
                        Console.failure(
                            CommandFailure(
                                failure.status, "\(failure.message); waiting for the next change",
                                hint: failure.hint))
                    }
                }
                if !Task.isCancelled { throw device.gone }
            }
            group.addTask {
                for await _ in signals { return }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    /// Lists the container once.
    ///
    /// - Parameter isAgain: Whether a list was already printed; a blank line then separates the two lists.
    private func list(
        _ picker: DocumentPicker, _ client: ProviderClient, _ request: TypeRequest, _ console: Console,
        isAgain: Bool = false
    ) async throws {
        let container = ItemLookup.container(container)
        let rows: [ItemListingDocument.Row]
        if request.mechanism == .legacy {
            // A legacy provider has already filtered its items, so a consumer may pick all of them (docs/rules.md R4).
            let listed = try await client.present(request.identifiers)
            let identities = try await client.identitiesByLabel(in: IdentitySelector.noFilter.folderName)
            rows = listed.map { ItemListingDocument.Row($0, of: identities, enabled: true) }
        } else {
            let listed = try await picker.items(in: container)
            let identities = try await client.identitiesByLabel(in: container)
            rows = listed.compactMap { decision in
                decision.item.map {
                    ItemListingDocument.Row($0, of: identities, enabled: decision.isEnabled)
                }
            }
        }
        if output.json {
            try console.document(
                ItemListingDocument(
                    mechanism: request.mechanism, container: container, items: rows,
                    requested: request.identifiers), onOneLine: watch)
        } else {
            if isAgain { try console.data("") }
            try console.table(of: rows)
        }
    }

    /// Shows an item as the UI extension does before the item is picked. The extension belongs to the provider, so it
    /// also shows items that are disabled.
    private func show(
        _ name: String, _ picker: DocumentPicker, _ client: ProviderClient, _ console: Console
    ) async throws {
        let item = try await picker.pick(name, mustBeEnabled: false)
        let preview: Preview
        do {
            preview = try await Preview(item, from: client)
        } catch let error as RequestError where error.code == .isFolder {
            let failure = CommandFailure(error)
            throw CommandFailure(
                failure.status, code: failure.code, failure.message,
                hint: "open it: keyshare-consumer browse \(item.identifier.quotedForShell)")
        }
        let failure = preview.files.lazy.compactMap(\.error).first.map { CommandFailure($0) }
        try console.present(
            ItemDetailsDocument(
                item,
                entries: preview.files.map {
                    .init(filename: $0.entry, certificates: $0.certificates, error: $0.error)
                }, of: preview.files.flatMap(\.certificates)), failure: failure
        ) {
            try console.data("\(item.filename)  (\(item.contentType))")
            for file in preview.files {
                if let entry = file.entry { try console.data("\n\(entry)") }
                for certificate in file.certificates { try console.certificate(certificate) }
                if let error = file.error {
                    try console.data("  cannot be read: \(CommandFailure(error).message)")
                }
            }
        }
    }
}
