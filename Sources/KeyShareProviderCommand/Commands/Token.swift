import ArgumentParser
import CertificateReading
import CommandSupport
import DeviceSimulation
import Diagnostics
import KeyShareProvider
import KeySharing
import OpenSSL
import PersistentToken

struct Token: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Register identities as persistent tokens, whose keys are used and never handed over.",
        discussion: """
            Apps find a token's certificate in the keychain, and sign and decrypt with its key while the key stays \
            with the provider. An identity may be a token, be published for key sharing, or both.

            EXAMPLE:
              keyshare-provider token add --types signature,encryption
              keyshare-provider token list
            """,
        subcommands: [Add.self, List.self, Remove.self, Dump.self])
}

extension TokensDocument.Token {
    /// Describes a registration.
    ///
    /// - Parameter isAlone: whether key sharing does not publish the identity.
    init(_ registration: TokenRegistration, isAlone: Bool) {
        let key = registration.certificate.publicKey
        self.init(
            IdentitySummary(registration.certificate), keyType: key.type.name, keyBits: key.bits,
            properties: registration.properties, hasKey: registration.hasKey, rule: registration.rule,
            isAlone: isAlone)
    }
}

/// Which identities a command about tokens means.
struct TokenSelection: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Labels or serial numbers, or enough of their starts.", valueName: "label"),
        completion: .providerLabels)
    var labels: [String] = []

    @Flag(help: "All identities.")
    var all = false

    @OptionGroup var persons: PersonFilter

    /// Whether the command says which identities it means.
    var isGiven: Bool { all || !labels.isEmpty || persons.person != nil }

    /// The identities that are meant.
    ///
    /// - Throws: `RequestError` for a label that names none or several; `CommandFailure` (9) where nobody is left.
    func select(from identities: [IdentitySummary]) throws -> [IdentitySummary] {
        try persons.require(identities)
        let candidates = identities.filter(persons.includes)
        guard !labels.isEmpty else { return candidates }
        return try labels.map { try IdentityLookup.find($0, in: candidates) }
    }
}

extension Token {
    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Register identities of the provider's keychain; one that is registered is replaced.",
            discussion: """
                The device must be unlocked and have a passcode, as a token's key asks for one.

                EXAMPLE:
                  keyshare-provider token add --all
                """)

        @OptionGroup var selection: TokenSelection

        @Option(
            help: ArgumentHelp(
                "Only identities of these types, separated by commas: encryption, signature, authentication, device.",
                valueName: "types"),
            completion: .credentialTypes, transform: ContentsOptions.types)
        var types: [CredentialType]?

        @Flag(
            name: .customLong("rfc5280"),
            help: "Read key usage as RFC 5280 does, where CryptoTokenKit reads it otherwise.")
        var rfc5280 = false

        @OptionGroup var device: DeviceOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard selection.isGiven || types != nil else {
                throw ValidationError("name labels, --types, --person or --all")
            }
            if selection.all, !selection.labels.isEmpty { throw ValidationError("--all goes without labels") }
        }

        func run() throws {
            let console = output.console
            let store = try ProviderStore(try device.openDevice())
            let chosen = try selection.select(from: try store.identities()).filter { identity in
                types?.contains(identity.type(.keySharing2025)) ?? true
            }
            guard !chosen.isEmpty else {
                throw CommandFailure(
                    .noSuchItem, "no identity of the provider's keychain is meant",
                    hint: "keyshare-provider provision makes some")
            }
            let tokens = TokenStore(store)
            for identity in chosen {
                let opened = try store.identity(identity.label)
                try tokens.add(
                    opened.certificate, opened.privateKey, rule: rfc5280 ? .rfc5280 : .cryptoTokenKit)
            }
            let labels = Set(chosen.map(\.label))
            let added = try tokens.registrations().filter { labels.contains($0.label) }
                .map { TokensDocument.Token($0, isAlone: false) }
            try console.present(TokensDocument(tokens: added)) {
                try console.table(of: added)
                console.note("registered \(counted(added.count, "token", "tokens"))")
            }
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the tokens.",
            discussion: """
                EXAMPLE:
                  keyshare-provider token list --json
                """)

        @OptionGroup var device: DeviceOptions
        @OptionGroup var output: OutputOptions

        func run() throws {
            let console = output.console
            let store = try ProviderStore(try device.openDevice())
            let unpublished = Set(try TokenStore(store).unpublished().map(\.label))
            let tokens = try TokenStore(store).registrations().map {
                TokensDocument.Token($0, isAlone: unpublished.contains($0.label))
            }
            try console.present(TokensDocument(tokens: tokens)) {
                try console.table(of: tokens)
                let alone =
                    unpublished.isEmpty ? "" : "; key sharing does not publish \(unpublished.count) of them"
                console.note(
                    tokens.isEmpty ? "there is no token" : counted(tokens.count, "token", "tokens") + alone)
            }
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Remove tokens; the identities stay where else they are.",
            discussion: """
                Identities that are tokens alone are nowhere else, and go: the terminal asks first, unless --yes is \
                given.

                With --erase it does what the sample app's button does: it removes every token, and then everything \
                else that the provider's keychain holds.

                EXAMPLE:
                  keyshare-provider token remove --all
                """)

        @OptionGroup var selection: TokenSelection

        @Flag(help: "With --all: empty the provider's keychain, too.")
        var erase = false

        @OptionGroup var confirmation: ConfirmationOptions
        @OptionGroup var device: DeviceOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard selection.isGiven else { throw ValidationError("name labels, --person or --all") }
            if selection.all, !selection.labels.isEmpty { throw ValidationError("--all goes without labels") }
            if erase, !selection.all { throw ValidationError("--erase goes with --all") }
        }

        func run() throws {
            let console = output.console
            let store = try ProviderStore(try device.openDevice())
            let tokens = TokenStore(store)
            var removed = 0
            if erase {
                try confirmation.confirm("Remove everything from the provider's keychain?")
                removed = try store.removeAll()
                tokens.tellOfChange()
            } else if selection.all, selection.persons.person == nil {
                try confirm(try tokens.unpublished().count)
                removed = try tokens.removeAll()
            } else {
                let registered = try tokens.registrations().map { IdentitySummary($0.certificate) }
                let chosen = try selection.select(from: registered)
                let unpublished = Set(try tokens.unpublished().map(\.label))
                try confirm(chosen.count { unpublished.contains($0.label) })
                for identity in chosen where try tokens.remove(identity.label) { removed += 1 }
            }
            try console.present(RemovalDocument(removed: removed)) {
                console.note(
                    "removed \(erase ? counted(removed, "item", "items") : counted(removed, "token", "tokens"))"
                )
            }
        }

        /// Asks before identities go that are nowhere else.
        private func confirm(_ lost: Int) throws {
            guard lost > 0 else { return }
            let words = counted(lost, "identity is a token alone", "identities are tokens alone")
            try confirmation.confirm("\(words), and cannot be had again. Remove?")
        }
    }

    struct Dump: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "dump",
            abstract: "Show the registrations as the sample app's Dump does: driver, tokens, items.",
            discussion: """
                EXAMPLE:
                  keyshare-provider token dump
                """)

        @OptionGroup var device: DeviceOptions
        @OptionGroup var output: OutputOptions

        func run() throws {
            let console = output.console
            let store = try ProviderStore(try device.openDevice())
            let registrations = try TokenStore(store).registrations()
            let dump = TokenDumpDocument(
                registrations.map { registration in
                    TokenDumpDocument.Token(
                        label: registration.label, name: "\(registration.certificate.subject)",
                        operations: TokenOperation.allCases.filter(registration.properties.allows))
                })
            try console.present(dump) {
                try console.data("Class ID: \(dump.classID)")
                for token in dump.tokens {
                    try console.data("  Instance ID: \(token.instanceID)")
                    try console.data("    Configuration data: \(token.configurationData ?? "(null)")")
                    for item in token.items {
                        try console.data("    Object ID: \(item.objectID)")
                        try console.data("      Kind: \(item.kind)")
                        try console.data("      Label: \(item.label)")
                        let constraints = item.constraints.sorted { $0.key < $1.key }
                            .map { "\($0.key)=\($0.value)" }
                        try console.data(
                            "      Constraints: \(constraints.isEmpty ? "(none)" : constraints.joined(separator: ", "))"
                        )
                    }
                }
            }
        }
    }
}
