package import KeyShareServer
internal import KeyShareWire
internal import OpenSSL
package import SecretMemory

/// One thing that a provider does wrong, or unusually, on purpose, so that consumers can be tested against it.
///
/// A new fault is one more line of `allCases`: its name, what goes wrong, and what differs from a provider without
/// faults. `serve --fault`, its help and scenarios take the list from here.
package struct ServiceFault: Sendable {
    /// The name that users give.
    package let name: String
    /// What goes wrong, as a clause without a full stop.
    package let explanation: String
    /// What the server does wrong on the connection; nil where the connection is in order.
    package let connection: ConnectionFault?
    /// The password that replaces the service password, for files and password service alike; nil for the real one.
    package let password: SecretBytes?
    /// What `FaultyProvider` changes about the provider's answers.
    package let answers: AnswerChanges

    /// Differences between the answers of a provider with a fault and those of one without.
    package struct AnswerChanges: Sendable {
        /// How long the answers about services and content are held back.
        var delay = Duration.zero
        /// Changes the names of an item's services.
        var services: @Sendable ([String]) -> [String] = { $0 }
        /// Changes the bytes of an item.
        var content: @Sendable ([UInt8]) -> [UInt8] = { $0 }
        /// Answers a request for the password in place of the provider; nil leaves that to the provider.
        var password: (@Sendable () throws(ProviderFailure) -> SecretBytes)?
        /// Whether the service password is replaced before the bytes of an item are made, while grants go on.
        var rotatesPassword = false
    }

    private init(
        _ name: String, _ explanation: String, connection: ConnectionFault? = nil,
        password: SecretBytes? = nil, answers: AnswerChanges = AnswerChanges()
    ) {
        self.name = name
        self.explanation = explanation
        self.connection = connection
        self.password = password
        self.answers = answers
    }
}

extension ServiceFault {
    /// The names of the services that the reply to the hello may name: those that the items of the provider have.
    package var services: [String] { answers.services([PasswordService.name]) }
}

extension ServiceFault: CaseIterable {
    /// Every fault, in the order in which help lists them.
    package static let allCases: [ServiceFault] =
        [
            ServiceFault(
                "no-service", "items have no service at all",
                answers: .init(
                    services: { _ in [] },
                    password: { () throws(ProviderFailure) in
                        throw ProviderFailure(.notAvailable, "there is no such service")
                    })),
            ServiceFault(
                "other-services-first", "services of other names come first and last",
                answers: .init(services: {
                    ["com.example.preview", PasswordService.name + ".old"] + $0 + ["com.example.last"]
                })),
            ServiceFault(
                "wrong-version", "only the next version of the protocol is spoken",
                connection: .versions(Wire.versions.upperBound + 1...Wire.versions.upperBound + 1)),
            ServiceFault(
                "neither", "the answer is no password, and no error either",
                answers: .init(password: { SecretBytes([]) })),
            ServiceFault(
                "error", "an error instead of the password",
                answers: .init(password: { () throws(ProviderFailure) in
                    throw ProviderFailure(.serviceFailed, "the password service fails, as it was told to")
                })),
            ServiceFault(
                "slow", "a second passes before services and content", answers: .init(delay: .seconds(1))),
            ServiceFault(
                "wrong-password", "a password that opens nothing",
                answers: .init(password: { wrongPassword })),
            ServiceFault(
                "password-rotated", "the password is rotated between its fetch and the read",
                answers: .init(rotatesPassword: true)),
            ServiceFault(
                "quote-password", "a password of quotation marks, backslashes and blanks",
                password: SecretBytes(utf8: #" "'`\" $(x) %s \0 ''"" "#)),
            ServiceFault(
                "non-ascii-password", "a password outside ASCII and outside the BMP",
                password: SecretBytes(utf8: "P\u{E4}\u{DF}w\u{F6}rt \u{5BC6}\u{7801} \u{1F511}")),
            ServiceFault(
                "truncated-item", "the second half of every item is missing",
                answers: .init(content: { Array($0.prefix($0.count / 2)) })),
        ] + cuts

    /// A password that no provider has. A consumer that asks twice gets one answer, as from a provider that is sure of it.
    private static let wrongPassword: SecretBytes = {
        var random = RandomSource.system.generator()
        return ServicePasswordStore.makePassword(using: &random)
    }()

    /// A fault for each reply of the 2025 mechanism: the connection ends in the middle of the reply.
    private static let cuts = [
        ("hello", Wire.MessageType.welcome, "the answer to hello"),
        ("list", .page, "a page of items"),
        ("item", .itemReply, "one item's description"),
        ("start", .granted, "the answer to startAccessing"),
        ("services", .servicesReply, "the names of the services"),
        ("password", .password, "the password"),
        ("read", .chunk, "the bytes of an item"),
        ("stop", .stopped, "the answer to stopAccessing"),
    ].map { name, reply, words in
        ServiceFault("cut-\(name)", "the connection ends inside \(words)", connection: .cut(reply))
    }
}

extension ServiceFault: RawRepresentable, Hashable, Codable {
    /// The fault of a name; nil where there is none.
    package init?(rawValue: String) {
        guard let fault = Self.allCases.first(where: { $0.name == rawValue }) else { return nil }
        self = fault
    }

    /// The name, which is also how settings and documents write a fault.
    package var rawValue: String { name }

    /// Compares names, which are unique.
    package static func == (left: ServiceFault, right: ServiceFault) -> Bool { left.name == right.name }

    /// Hashes the name.
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
