import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import Foundation
import KeyShareClient
import KeyShareConsumer
import KeyShareWire
import KeySharing
import OpenSSL
import SimulatedKeychain
import UnixSignals

struct AliasRequests: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "alias",
        abstract: "Query shared aliases as an Android app, and use their keys in KeyChain.",
        discussion: """
            The provider must be running. A query needs the permission READ_ALIAS, and each key needs a grant. The \
            user grants both (keyshare-device presence). Keys never leave KeyChain.

            EXAMPLE:
              keyshare-consumer alias query --columns alias,type
              keyshare-consumer alias choose --for signing
              keyshare-consumer alias sign letter.txt -o letter.sig
            """,
        subcommands: [Query.self, Choose.self, Sign.self, Decrypt.self, Watch.self])
}

extension AliasRequests {
    struct Query: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "query",
            abstract: "Query the content provider for aliases, certificates and types.",
            discussion: """
                The provider always returns every entry, sorted by alias. The column certificate is DER in Base64. \
                --selection and --sort-order have no effect, as with the sample provider.

                EXAMPLE:
                  keyshare-consumer alias query --columns alias,type --json
                """)

        @Option(
            help: ArgumentHelp(
                "The columns, separated by commas: alias, certificate, type. An empty string requests none. (default: all three)",
                valueName: "names"))
        var columns: String?

        @Option(help: ArgumentHelp("A condition on rows, which has no effect.", valueName: "text"))
        var selection: String?

        @Option(help: ArgumentHelp("An order of rows, which has no effect.", valueName: "text"))
        var sortOrder: String?

        @OptionGroup var device: DeviceOptions
        @OptionGroup var socket: SocketOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let console = output.console
            for (name, value) in [("--selection", selection), ("--sort-order", sortOrder)] where value != nil
            {
                console.note("warning: \(name) has no effect: the provider returns every entry")
            }
            let columns =
                columns?.split(separator: ",").map(String.init) ?? AliasQuery.Column.allCases.map(\.rawValue)
            let app = App.consumer.bundleIdentifier
            let answer = try await ProviderClient.withConnection(
                path: try socket.path(in: device), clientName: app
            ) { try await $0.aliases(app: app, columns: columns) }
            try console.present(AliasTableDocument(columns: answer.columns, rows: answer.rows)) {
                var table = Table(answer.columns.map { .init($0.uppercased()) })
                for row in answer.rows { table.append(row.map { $0.filter { $0 != "\n" } }) }
                try console.table(table)
                console.note(counted(answer.rows.count, "row", "rows"))
            }
        }
    }

    struct Choose: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "choose",
            abstract: "Let the user choose an alias, and get a grant for its key.",
            discussion: """
                Prints the alias, as KeyChain.choosePrivateKeyAlias returns it. The user (keyshare-device presence) \
                confirms the alias that the dialog preselects, which is the requested one or the only one, or selects \
                another. Android returns a null alias for every failure; here the reason is shown.

                EXAMPLE:
                  keyshare-consumer alias choose 'Purebred Digital Signature Certificate'
                  keyshare-consumer alias choose --for decryption
                """)

        @Argument(help: "The alias that the dialog preselects.", completion: .sharedAliases)
        var alias: String?

        @Option(
            name: .customLong("for"),
            help: ArgumentHelp(
                "Pick the alias for authentication, signing, decryption (every alias) or device.",
                valueName: "purpose"))
        var purpose: AliasPick.Purpose?

        @Option(
            help: ArgumentHelp(
                "An acceptable key type, RSA or EC; may be repeated.", valueName: "type"))
        var keyType: [String] = []

        @Option(
            help: ArgumentHelp(
                "A certificate file of an acceptable authority; may be repeated.",
                valueName: "file"),
            completion: .file())
        var issuer: [String] = []

        @Option(help: ArgumentHelp("The host that the dialog shows.", valueName: "name"))
        var host: String?

        @Option(help: ArgumentHelp("The host's port.", valueName: "number"))
        var port: UInt16?

        @OptionGroup var clock: ClockOptions
        @OptionGroup var device: DeviceOptions
        @OptionGroup var socket: SocketOptions
        @OptionGroup var output: OutputOptions

        /// The maximum size of a certificate file, in bytes.
        private static let largestIssuer = 1 << 20

        func validate() throws {
            guard alias == nil || purpose == nil else {
                throw ValidationError("an alias and --for cannot be combined")
            }
            guard port == nil || host != nil else { throw ValidationError("--port requires --host") }
        }

        func run() async throws {
            let console = output.console
            let issuers = try issuer.flatMap { path in
                let bytes = try InputFile.read(path, limit: Self.largestIssuer)
                let certificates =
                    bytes.first == 0x30 ? [try Certificate(der: bytes)] : try Certificate.pem(bytes)
                return certificates.map(\.subject.der)
            }
            let app = App.consumer.bundleIdentifier
            let choices = try await ProviderClient.withConnection(
                path: try socket.path(in: device), clientName: app
            ) { client in
                var requested = [alias]
                if let purpose {
                    requested = try await AliasKeychain(client).pick(purpose, at: clock.now).required()
                }
                var choices: [(document: AliasChoiceDocument, failure: CommandFailure?)] = []
                for alias in requested {
                    let choice = try await client.chooseAlias(
                        AliasChoiceRequest(
                            app: app, alias: alias, keyTypes: keyType, issuers: issuers, host: host,
                            port: port))
                    // Without a requested alias, only the system knows whether the dialog preselected the chosen one.
                    let document = AliasChoiceDocument(
                        alias: choice.alias,
                        preselected: choice.alias == nil ? false : alias.map { $0 == choice.alias },
                        reason: choice.reason)
                    choices.append((document, choice.alias == nil ? CommandFailure(choice) : nil))
                }
                return choices
            }
            let failure = choices.lazy.compactMap(\.failure).first
            let documents = choices.map(\.document)
            func text() throws {
                for choice in documents.compactMap(\.alias) { try console.data(choice) }
            }
            if purpose == .decryption {
                try console.present(AliasChoicesDocument(choices: documents), failure: failure, text: text)
            } else if let choice = documents.first {
                try console.present(choice, failure: failure, text: text)
            }
        }
    }

    struct Watch: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "watch",
            abstract: "Print broadcasts, and repeat the query after each, until SIGTERM or SIGINT.",
            discussion: """
                The device keeps the last \(Broadcasts.kept) broadcasts. --after prints those that this app missed.

                EXAMPLE:
                  keyshare-consumer alias watch --after 0 --count 1 --json
                """)

        @Option(
            help: ArgumentHelp(
                "Begin after the broadcast with this number. (default: the last one)", valueName: "number"))
        var after: Int?

        @Option(help: ArgumentHelp("End after this many broadcasts.", valueName: "number"))
        var count: Int?

        @OptionGroup var device: DeviceOptions
        @OptionGroup var socket: SocketOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard (after ?? 0) >= 0, (count ?? 1) > 0 else {
                throw ValidationError("--after must be at least 0, and --count at least 1")
            }
        }

        func run() async throws {
            let device = try self.device.openDevice()
            let log = try Broadcasts(device)
            // Observing begins before the log is read, so that no broadcast is missed.
            let changes = try Notifications(device: device).observe(.aliasBroadcast)
            var (last, remaining) = (try after ?? log.last(), count ?? .max)
            let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
            try await show(log, &last, &remaining)
            let (first, most) = (last, remaining)
            guard most > 0 else { return }
            try await withThrowingTaskGroup { group in
                group.addTask {
                    var (last, remaining) = (first, most)
                    for await _ in changes {
                        try await show(log, &last, &remaining)
                        if remaining <= 0 { return }
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

        /// Prints the new broadcasts for this app, and the result of a query.
        private func show(_ log: Broadcasts, _ last: inout Int, _ remaining: inout Int) async throws {
            let console = output.console
            let app = App.consumer.bundleIdentifier
            let entries = try log.entries(after: last)
            last = entries.last?.number ?? last
            let own = Array(entries.filter { $0.to == nil || $0.to == app }.prefix(remaining))
            guard !own.isEmpty else { return }
            remaining -= own.count
            if output.json {
                try console.document(BroadcastsDocument(own), onOneLine: true)
            } else {
                for entry in own {
                    let alias = entry.extras[Broadcasts.aliasExtra].map { "  \($0)" } ?? ""
                    try console.data("\(entry.number)  \(entry.action.rawValue)\(alias)")
                }
            }
            do {
                let table = try await ProviderClient.withConnection(
                    path: try socket.path(in: self.device), clientName: app
                ) { try await $0.aliases(app: app, columns: ["alias", "type"]) }
                if output.json {
                    try console.document(
                        AliasTableDocument(columns: table.columns, rows: table.rows), onOneLine: true)
                } else {
                    for row in table.rows { try console.data("   " + row.joined(separator: "  ")) }
                }
            } catch {
                // Keep watching: the app may get the permission later, and the provider may start again.
                Console.failure(CommandFailure(error))
            }
        }
    }
}
