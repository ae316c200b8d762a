import ArgumentParser
import CertificateReading
import CommandSupport
import DeviceSimulation
import Diagnostics
internal import KeyShareProtocol
import KeyShareProvider
import KeySharing
import OpenSSL
import PersistentToken

struct TokenRegistrationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Register identities as persistent tokens, whose keys can be used but not exported.",
        discussion: """
            Apps find a token's certificate in the keychain, and sign and decrypt with its key. The key never leaves \
            the provider. An identity may be a token, be published for key sharing, or both.

            EXAMPLE:
              keyshare-provider token add --types signature,encryption
              keyshare-provider token list
            """,
        subcommands: [Add.self, List.self, Remove.self, Dump.self])
}

extension TokensDocument.Token {
    /// Creates the entry for a registration.
    ///
    /// - Parameter isAlone: Whether the identity is token-only, so that key sharing does not publish it.
    init(_ registration: TokenRegistration, isAlone: Bool) {
        let key = registration.certificate.publicKey
        self.init(
            IdentitySummary(registration.certificate), keyType: key.type.name, keyBits: key.bits,
            properties: registration.properties, usage: registration.certificate.keyUsage,
            hasKey: registration.hasKey, rule: registration.rule, isAlone: isAlone)
    }
}

/// The identities that a token command applies to.
struct TokenSelection: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Labels or serial numbers, or unique prefixes of them.", valueName: "label"),
        completion: .providerLabels)
    var labels: [String] = []

    @Flag(help: "All identities.")
    var all = false

    @OptionGroup var persons: PersonFilter

    func validate() throws {
        if all, !labels.isEmpty { throw ValidationError("--all cannot be combined with labels") }
    }

    /// Whether identities are selected.
    var isGiven: Bool { all || !labels.isEmpty || persons.person != nil }

    /// Returns the selected identities.
    ///
    /// - Parameters:
    ///   - identities: The identities to choose from.
    ///   - hint: The hint that lists them.
    /// - Throws: `RequestError` for an ambiguous label; `CommandFailure` (9) for an unknown label, and if no person
    ///   matches.
    func select(from identities: [IdentitySummary], hint: String) throws -> [IdentitySummary] {
        try persons.require(identities)
        let candidates = identities.filter(persons.includes)
        guard !labels.isEmpty else { return candidates }
        return try labels.map { label in
            do throws(RequestError) {
                return try IdentityLookup.find(label, in: candidates)
            } catch {
                guard error.code == .noSuchIdentity else { throw error }
                throw CommandFailure(error).advising(hint)
            }
        }
    }
}

/// The identities of the provider that a command registers as tokens or under aliases.
struct IdentitySelection: ParsableArguments {
    @OptionGroup var selection: TokenSelection

    @Option(
        help: ArgumentHelp(
            "Select identities of these types, separated by commas: encryption, signature, authentication, device.",
            valueName: "types"),
        completion: .credentialTypes, transform: ContentsOptions.types)
    var types: [CredentialType]?

    /// Returns the selected identities.
    ///
    /// - Throws: `RequestError` for an ambiguous label; `CommandFailure` (9) if no identity is selected.
    func choose(from identities: [IdentitySummary]) throws -> [IdentitySummary] {
        let chosen = try selection.select(
            from: identities, hint: "to list the provider's identities: keyshare-provider list"
        ).filter { identity in types?.contains(identity.type(under: .keySharing2025)) ?? true }
        guard !chosen.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "no identity of the provider's keychain is selected",
                hint: "to create some: keyshare-provider provision")
        }
        return chosen
    }
}

extension TokenRegistrationCommand {
    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Register identities in the provider's keychain, replacing existing registrations.",
            discussion: """
                The device must be unlocked and have a passcode, because a token's key requires one. Token-only identities \
                are registered again, so that --rfc5280 applies to them. Without --rfc5280, CryptoTokenKit's rule \
                applies: the key of a certificate without a key usage permits no operation.

                EXAMPLE:
                  keyshare-provider token add --all
                """)

        @OptionGroup var identities: IdentitySelection

        @Flag(
            name: .customLong("rfc5280"),
            help: "Interpret key usage as in RFC 5280: a key without one permits every operation.")
        var rfc5280 = false

        @OptionGroup var device: DeviceOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard identities.selection.isGiven || identities.types != nil else {
                throw ValidationError("specify labels, --types, --person or --all")
            }
        }

        func run() throws {
            let console = output.console
            let store = try ProviderStore(try device.openDevice())
            let tokens = TokenStore(store)
            // A token without its key cannot be registered again.
            let unpublished = try tokens.unpublished().filter(\.hasKey)
            let chosen = try identities.choose(
                from: try store.identities() + unpublished.map { IdentitySummary($0.certificate) })
            let tokensOnly = Set(unpublished.map(\.label))
            for identity in chosen {
                try register(identity.label, isTokenOnly: tokensOnly.contains(identity.label), in: store)
            }
            let labels = Set(chosen.map(\.label))
            let added = try tokens.registrations().filter { labels.contains($0.label) }
                .map { TokensDocument.Token($0, isAlone: tokensOnly.contains($0.label)) }
            try console.present(TokensDocument(tokens: added)) {
                try console.table(of: added)
                console.note("registered \(counted(added.count, "token", "tokens"))")
                console.note(ofMissingUsage: added)
            }
        }

        /// Registers a published or a token-only identity.
        private func register(_ label: String, isTokenOnly: Bool, in store: ProviderStore) throws {
            let tokens = TokenStore(store)
            let rule: TokenKeyProperties.Rule = rfc5280 ? .rfc5280 : .cryptoTokenKit
            if isTokenOnly {
                try tokens.add(
                    try store.heldCertificate(label), try tokens.privateKey(label), rule: rule)
            } else {
                let identity = try store.identity(label)
                try tokens.add(identity.certificate, identity.privateKey, rule: rule)
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
                    tokens.isEmpty
                        ? "no token is registered" : counted(tokens.count, "token", "tokens") + alone)
                console.note(ofMissingUsage: tokens)
            }
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Remove tokens. Identities that are published for key sharing remain.",
            discussion: """
                Token-only identities are deleted, after a confirmation on the terminal unless --yes is given.

                --erase does the same as the sample app's button: it removes every token, and then everything else in \
                the provider's keychain.

                EXAMPLE:
                  keyshare-provider token remove --all
                """)

        @OptionGroup var selection: TokenSelection

        @Flag(help: "With --all: also empty the provider's keychain.")
        var erase = false

        @OptionGroup var confirmation: ConfirmationOptions
        @OptionGroup var device: DeviceOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard selection.isGiven else { throw ValidationError("specify labels, --person or --all") }
            if erase, !selection.all { throw ValidationError("--erase requires --all") }
        }

        func run() throws {
            let console = output.console
            let store = try ProviderStore(try device.openDevice())
            let tokens = TokenStore(store)
            var removed = 0
            if erase {
                try confirmation.confirm("Remove everything from the provider's keychain?")
                removed = try store.removeAll()
                tokens.announceChange()
            } else if selection.all, selection.persons.person == nil {
                try confirm(try tokens.unpublished().count)
                removed = try tokens.removeAll()
            } else {
                let registered = try tokens.registrations().map { IdentitySummary($0.certificate) }
                let chosen = try selection.select(
                    from: registered, hint: "to list the tokens: keyshare-provider token list")
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

        /// Asks for confirmation before token-only identities are deleted.
        private func confirm(_ lost: Int) throws {
            guard lost > 0 else { return }
            let words = counted(lost, "identity is token-only", "identities are token-only")
            try confirmation.confirm("\(words) and would be lost. Remove?")
        }
    }

    struct Dump: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "dump",
            abstract: "Show the registrations in the format of the sample app's Dump: driver, tokens, items.",
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
