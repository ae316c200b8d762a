internal import KeyShareProtocol
package import KeyShareServer
internal import KeyShareWire
internal import OpenSSL
package import SecretMemory

/// A deliberate error or unusual behaviour of a provider, for tests of consumers.
///
/// To add a fault, add a line to `allCases` with its name, its explanation, and its differences from a provider without
/// faults. `serve --fault`, its help and scenarios use this list.
package struct ServiceFault: Sendable {
    /// The name of the fault on the command line.
    package let name: String
    /// The effect of the fault, as a clause without a full stop.
    package let explanation: String
    /// The fault of the connection; nil if the connection works correctly.
    package let connection: ConnectionFault?
    /// The password that replaces the service password, both in files and in the password service; nil to keep the
    /// service password.
    package let password: SecretBytes?
    /// The changes that `FaultyProvider` makes to the provider's answers.
    package let answers: AnswerChanges
    /// How a correct consumer behaves when this fault occurs.
    package let expectation: Expectation

    /// How a correct consumer behaves when a fault occurs, and the reason.
    package struct Expectation: Sendable {
        /// Whether a correct consumer imports the item despite the fault.
        package var imports = false
        /// Whether a correct consumer may report that the password is wrong.
        package var mayBlamePassword = false
        /// Whether the test passes the identifier of an archive, instead of a file, to the consumer.
        package var wantsArchive = false
        /// The consumer's behaviour, as a phrase that starts with a verb and has no full stop.
        package var behaviour = "reports that the provider fails, and imports nothing"
        /// The reason for this behaviour, from practical experience.
        package var reason =
            "Extensions are killed at any moment; a consumer that waits forever hangs with them."
    }

    /// The differences between the answers of a provider with a fault and those of a provider without faults.
    package struct AnswerChanges: Sendable {
        /// The delay of answers about services and content.
        var delay = Duration.zero
        /// Changes the names of an item's services.
        var services: @Sendable ([String]) -> [String] = { $0 }
        /// Changes the bytes of an item.
        var content: @Sendable ([UInt8]) -> [UInt8] = { $0 }
        /// Replaces the provider's password service: returns a password or throws an error. Nil to keep the provider's
        /// service.
        var password: (@Sendable () throws(ProviderFailure) -> SecretBytes)?
        /// Whether the service password is replaced before an item is exported, while grants stay valid.
        var rotatesPassword = false
    }

    private init(
        _ name: String, _ explanation: String, connection: ConnectionFault? = nil,
        password: SecretBytes? = nil, answers: AnswerChanges = AnswerChanges(),
        expectation: Expectation = Expectation()
    ) {
        self.name = name
        self.explanation = explanation
        self.connection = connection
        self.password = password
        self.answers = answers
        self.expectation = expectation
    }
}

extension ServiceFault {
    /// The service names in the reply to the hello request: the services of the provider's items, as the fault changes
    /// them.
    package var services: [String] { answers.services([PasswordService.name]) }
}

extension ServiceFault: CaseIterable {
    /// All faults, in the order in which the help text lists them.
    package static let allCases: [ServiceFault] =
        [
            ServiceFault(
                "no-service", "items have no services",
                answers: .init(
                    services: { _ in [] },
                    password: { () throws(ProviderFailure) in
                        throw ProviderFailure(.notAvailable, "the item has no such service")
                    })),
            ServiceFault(
                "other-services-first", "services with other names come first and last",
                answers: .init(services: {
                    ["com.example.preview", PasswordService.name + ".old"] + $0 + ["com.example.last"]
                }),
                expectation: .init(
                    imports: true, behaviour: "selects the service by its name",
                    reason: "The services are an unordered dictionary; the sample app uses the first entry.")
            ),
            ServiceFault(
                "wrong-version", "only the next version of the protocol is supported",
                connection: .versions(Wire.versions.upperBound + 1...Wire.versions.upperBound + 1)),
            ServiceFault(
                "neither", "the reply contains neither a password nor an error",
                answers: .init(password: { SecretBytes([]) }),
                expectation: .init(
                    behaviour: "does not treat a missing reply as a password",
                    reason: "The reply handler has a password and an error, and both may be nil.")),
            ServiceFault(
                "error", "an error instead of the password",
                answers: .init(password: { () throws(ProviderFailure) in
                    throw ProviderFailure(.serviceFailed, "the password service fails deliberately")
                })),
            ServiceFault(
                "slow", "services and content are delayed by one second", answers: .init(delay: .seconds(1)),
                expectation: .init(
                    imports: true, behaviour: "waits",
                    reason: "A provider that must first be started takes seconds.")),
            ServiceFault(
                "wrong-password", "a password that opens nothing",
                answers: .init(password: { wrongPassword }), expectation: .passwordOpensNothing),
            ServiceFault(
                "password-rotated", "the password is rotated between its fetch and the read",
                answers: .init(rotatesPassword: true), expectation: .passwordOpensNothing),
            ServiceFault(
                "quote-password", "a password of quotation marks, backslashes and spaces",
                password: SecretBytes(utf8: #" "'`\" $(x) %s \0 ''"" "#), expectation: .passwordByteForByte),
            ServiceFault(
                "non-ascii-password", "a password outside ASCII and outside the BMP",
                password: SecretBytes(utf8: "P\u{E4}\u{DF}w\u{F6}rt \u{5BC6}\u{7801} \u{1F511}"),
                expectation: .passwordByteForByte),
            ServiceFault(
                "truncated-item", "the second half of every item is missing",
                answers: .init(content: { Array($0.prefix($0.count / 2)) }),
                expectation: .init(
                    behaviour: "reports that the file is damaged, and does not blame the password",
                    reason: "A file that was truncated in transit does not open with another password either."
                )),
        ] + cuts

    /// A password that no provider has. It is constant, so a consumer that fetches it twice gets the same password.
    private static let wrongPassword: SecretBytes = {
        var random = RandomSource.system.generator()
        return ServicePasswordStore.makePassword(using: &random)
    }()

    /// One fault for each reply of the 2025 mechanism: the connection ends in the middle of the reply.
    private static let cuts = [
        ("hello", Wire.MessageType.welcome, "the reply to hello", Expectation()),
        ("list", .page, "a page of items", Expectation()),
        // A consumer requests the description of an item only if it already has the item's identifier.
        ("item", .itemReply, "one item's description", Expectation(wantsArchive: true)),
        ("start", .granted, "the reply to startAccessing", Expectation()),
        ("services", .servicesReply, "the names of the services", Expectation()),
        ("password", .password, "the password", Expectation()),
        ("read", .chunk, "the bytes of an item", Expectation()),
        (
            "stop", .stopped, "the reply to stopAccessing",
            Expectation(
                imports: true, behaviour: "imports what has arrived",
                reason: "All content has arrived by then; only the end of access is not confirmed.")
        ),
    ].map { name, reply, words, expectation in
        ServiceFault(
            "cut-\(name)", "the connection ends during \(words)", connection: .cut(reply),
            expectation: expectation)
    }
}

extension ServiceFault.Expectation {
    fileprivate static let passwordByteForByte = Self(
        imports: true, behaviour: "uses the password byte for byte",
        reason: "A password that was altered by a shell, a log or a wrong encoding opens nothing.")
    fileprivate static let passwordOpensNothing = Self(
        mayBlamePassword: true,
        behaviour: "reports that the password does not open the item, and imports nothing",
        reason: "The user can replace the password at any moment; fetching it again solves the problem.")
}

extension ServiceFault: RawRepresentable, Hashable, Codable {
    /// Creates the fault with a name; nil if no fault has this name.
    package init?(rawValue: String) {
        guard let fault = Self.allCases.first(where: { $0.name == rawValue }) else { return nil }
        self = fault
    }

    /// The name, which represents the fault in settings and documents.
    package var rawValue: String { name }

    /// Compares names, which are unique.
    package static func == (left: ServiceFault, right: ServiceFault) -> Bool { left.name == right.name }

    /// Hashes the name, which is unique.
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
