import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import Foundation
import KeyShareProvider
import KeySharing

struct AliasAdministration: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "alias",
        abstract: "Share keys as on Android: install identities in KeyChain under aliases.",
        discussion: """
            Apps with the permission READ_ALIAS query aliases, certificates and types, and then ask the user for a key. \
            On a real device, an app for Android 11 or later also needs <queries> in its manifest, or it does not see \
            the provider.

            EXAMPLE:
              keyshare-provider alias add
              keyshare-provider alias list
              keyshare-provider alias announce update
            """,
        subcommands: [Add.self, List.self, Remove.self, Rename.self, Announce.self, ResetAliases.self])
}

/// The options of every alias command.
struct AliasStoreOptions: ParsableArguments {
    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    /// Opens the provider's keychain and KeyChain.
    ///
    /// - Throws: `KeychainError`, `FileError`, `CommandFailure`.
    func open() throws -> (store: ProviderStore, aliases: AliasStore) {
        let store = try ProviderStore(try device.openDevice())
        return (store, try AliasStore(store) { [clock] in clock.now })
    }
}

extension AliasStore {
    /// Returns the document of every entry whose certificate can be read.
    ///
    /// - Throws: `KeychainError`.
    func documents() throws -> [AliasEntriesDocument.Entry] {
        try keyChain.entries().compactMap { AliasEntriesDocument.Entry($0) }
    }
}

extension AliasAdministration {
    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Install identities in KeyChain, and broadcast UPDATE_COMPLETED.",
            discussion: """
                By default, the newest signature, authentication and device identities and all encryption identities \
                are installed under the names of the sample app. A newer identity replaces the older one under the \
                same alias, and key grants then apply to the new key.

                EXAMPLE:
                  keyshare-provider alias add
                  keyshare-provider alias add --types encryption --recovered
                """)

        @OptionGroup var identities: IdentitySelection

        @Option(help: ArgumentHelp("The alias of the only selected identity.", valueName: "name"))
        var alias: String?

        @Flag(help: "Broadcast RECOVERY_COMPLETED instead of UPDATE_COMPLETED.")
        var recovered = false

        @OptionGroup var options: AliasStoreOptions

        func validate() throws {
            guard let alias else { return }
            guard AliasNaming.isValid(alias) else {
                throw ValidationError(
                    "--alias must be 1 to \(AliasNaming.longestAlias) bytes long, without control or formatting characters"
                )
            }
        }

        func run() throws {
            let console = options.output.console
            let (store, aliases) = try options.open()
            let chosen = try identities.choose(from: try store.heldIdentities())
            let added: [(label: String, alias: String)]
            if let alias {
                guard chosen.count == 1 else {
                    throw CommandFailure(
                        .usage, "--alias applies to one identity, but \(chosen.count) are selected",
                        hint: "select one by its label; to list the labels: keyshare-provider list")
                }
                added = [(chosen[0].label, alias)]
            } else {
                added = try aliases.assignments(
                    for: chosen,
                    includingOlder: identities.selection.all || !identities.selection.labels.isEmpty)
            }
            try aliases.add(added, announcing: recovered ? .recoveryCompleted : .updateCompleted)
            let names = Set(added.map { ExactText($0.alias) })
            let entries = try aliases.documents().filter { names.contains(ExactText($0.alias)) }
            try console.present(AliasEntriesDocument(entries: entries)) {
                try console.table(of: entries)
                console.note(
                    entries.isEmpty
                        ? "all selected identities are already installed"
                        : "installed \(counted(entries.count, "entry", "entries"))")
                console.notePitfalls(of: entries)
            }
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List KeyChain's entries with their types, as queries return them.",
            discussion: """
                EXAMPLE:
                  keyshare-provider alias list --json
                """)

        @OptionGroup var options: AliasStoreOptions

        func run() throws {
            let console = options.output.console
            let entries = try options.open().aliases.documents()
            try console.present(AliasEntriesDocument(entries: entries)) {
                try console.table(of: entries)
                console.note(
                    entries.isEmpty ? "KeyChain has no entries" : counted(entries.count, "entry", "entries"))
                console.notePitfalls(of: entries)
            }
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Remove entries from KeyChain, with their key grants. The identities remain.",
            discussion: """
                EXAMPLE:
                  keyshare-provider alias remove 'Purebred Recovered #1'
                """)

        @Argument(help: ArgumentHelp("The aliases.", valueName: "alias"), completion: .installedAliases)
        var aliases: [String]

        @OptionGroup var options: AliasStoreOptions

        func run() throws {
            let console = options.output.console
            let store = try options.open().aliases
            for alias in aliases where try store.keyChain.entry(alias) == nil { throw Self.missing(alias) }
            let removed = try store.keyChain.remove(aliases)
            try console.present(RemovalDocument(removed: removed)) {
                console.note("removed \(counted(removed, "entry", "entries"))")
            }
        }

        /// The failure for an alias without an entry.
        static func missing(_ alias: String) -> CommandFailure {
            CommandFailure(
                .noSuchItem, "KeyChain has no entry \u{201C}\(alias)\u{201D}",
                hint: "to list the entries: keyshare-provider alias list")
        }
    }

    struct Rename: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rename",
            abstract: "Rename an entry, so that apps hold a stale alias. Its key grants end.",
            discussion: """
                EXAMPLE:
                  keyshare-provider alias rename 'Purebred Recovered #1' Old
                """)

        @Argument(help: "The alias.", completion: .installedAliases)
        var old: String

        @Argument(help: "The new alias.")
        var new: String

        @OptionGroup var options: AliasStoreOptions

        func validate() throws {
            guard AliasNaming.isValid(new) else {
                throw ValidationError(
                    "an alias must be 1 to \(AliasNaming.longestAlias) bytes long, without control or formatting characters"
                )
            }
        }

        func run() throws {
            let console = options.output.console
            let store = try options.open().aliases
            guard try store.keyChain.entry(old) != nil else { throw Remove.missing(old) }
            guard try old.hasSameBytes(as: new) || store.keyChain.entry(new) == nil else {
                throw CommandFailure(
                    .refused, code: "already-there", "KeyChain already has an entry \u{201C}\(new)\u{201D}",
                    hint: "to remove it first: keyshare-provider alias remove ALIAS")
            }
            try store.keyChain.rename(old, to: new)
            let entries = try store.documents().filter { $0.alias.hasSameBytes(as: new) }
            try console.present(AliasEntriesDocument(entries: entries)) {
                try console.table(of: entries)
            }
        }
    }

    struct Announce: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "announce",
            abstract: "Send a broadcast, and change nothing.",
            discussion: """
                EXAMPLE:
                  keyshare-provider alias announce update
                """)

        enum Event: String, CaseIterable, ExpressibleByArgument {
            case update, recovery, reset

            var action: AliasBroadcast {
                switch self {
                case .update: .updateCompleted
                case .recovery: .recoveryCompleted
                case .reset: .resetInitiated
                }
            }
        }

        @Argument(help: "The broadcast: update, recovery or reset.")
        var event: Event

        @OptionGroup var options: AliasStoreOptions

        func run() throws {
            let console = options.output.console
            let (store, aliases) = try options.open()
            try aliases.announce(event.action)
            let last = try Broadcasts(store.device).entries().suffix(1)
            try console.present(BroadcastsDocument(Array(last))) {
                console.note("sent \(event.action.rawValue)")
            }
        }
    }

    struct ResetAliases: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reset",
            abstract: "Broadcast RESET_INITIATED, then remove all entries.",
            discussion: """
                EXAMPLE:
                  keyshare-provider alias reset
                """)

        @OptionGroup var options: AliasStoreOptions

        func run() async throws {
            let console = options.output.console
            let (store, aliases) = try options.open()
            let removed = try await aliases.reset(
                fault: try AliasFault.stored(on: store.device), sleep: { try await Task.sleep(for: $0) })
            try console.present(RemovalDocument(removed: removed)) {
                console.note("removed \(counted(removed, "entry", "entries"))")
            }
        }
    }
}
