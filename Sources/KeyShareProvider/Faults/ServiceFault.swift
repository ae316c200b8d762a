package import KeyShareServer
package import KeyShareWire
package import SecretMemory
package import KeySharing
internal import OpenSSL

/// Something that a provider does wrong, or unusually, on purpose, so that consumers can be tested against it.
package enum ServiceFault: String, Sendable, Hashable, CaseIterable, Codable {
    case noService = "no-service"
    case otherServicesFirst = "other-services-first"
    case wrongVersion = "wrong-version"
    case neither
    case error
    case slow
    case wrongPassword = "wrong-password"
    case passwordRotated = "password-rotated"
    case quotePassword = "quote-password"
    case nonASCIIPassword = "non-ascii-password"
    case truncatedItem = "truncated-item"
    case cutHello = "cut-hello"
    case cutList = "cut-list"
    case cutItem = "cut-item"
    case cutStart = "cut-start"
    case cutServices = "cut-services"
    case cutPassword = "cut-password"
    case cutRead = "cut-read"
    case cutStop = "cut-stop"

    /// What goes wrong, as a phrase.
    package var explanation: String {
        switch self {
        case .noService: "items have no service at all"
        case .otherServicesFirst: "services of other names come first and last"
        case .wrongVersion: "only the next version of the protocol is spoken"
        case .neither: "the answer is no password, and no error either"
        case .error: "an error instead of the password"
        case .slow: "a second passes before services and content"
        case .wrongPassword: "a password that opens nothing"
        case .passwordRotated: "the password is rotated between its fetch and the read"
        case .quotePassword: "a password of quotation marks, backslashes and blanks"
        case .nonASCIIPassword: "a password outside ASCII and outside the BMP"
        case .truncatedItem: "the second half of every item is missing"
        case .cutHello: "the connection ends inside the answer to hello"
        case .cutList: "the connection ends inside a page of items"
        case .cutItem: "the connection ends inside one item's description"
        case .cutStart: "the connection ends inside the answer to startAccessing"
        case .cutServices: "the connection ends inside the names of the services"
        case .cutPassword: "the connection ends inside the password"
        case .cutRead: "the connection ends inside the bytes of an item"
        case .cutStop: "the connection ends inside the answer to stopAccessing"
        }
    }

    /// The part of it that is the connection's; nil where the provider's part is all.
    package var ofConnection: ConnectionFault? {
        switch self {
        case .wrongVersion:
            .versions(Wire.versions.upperBound + 1...Wire.versions.upperBound + 1)
        case .cutHello: .cut(.welcome)
        case .cutList: .cut(.page)
        case .cutItem: .cut(.itemReply)
        case .cutStart: .cut(.granted)
        case .cutServices: .cut(.servicesReply)
        case .cutPassword: .cut(.password)
        case .cutRead: .cut(.chunk)
        case .cutStop: .cut(.stopped)
        case .noService, .otherServicesFirst, .neither, .error, .slow, .wrongPassword, .passwordRotated,
            .quotePassword, .nonASCIIPassword, .truncatedItem:
            nil
        }
    }

    /// The password that stands in for the service password; nil for the real one.
    package var password: SecretBytes? {
        switch self {
        case .quotePassword: SecretBytes(utf8: #" "'`\" $(x) %s \0 ''"" "#)
        case .nonASCIIPassword: SecretBytes(utf8: "P\u{E4}\u{DF}w\u{F6}rt \u{5BC6}\u{7801} \u{1F511}")
        default: nil
        }
    }
}

/// A provider that has one fault.
package struct FaultyProvider: ProviderService {
    private let provider: Provider
    private let fault: ServiceFault
    private let rotate: @Sendable () throws -> Void

    /// - Parameter rotate: rotates the service password; called where the fault is just that.
    package init(
        _ provider: Provider, fault: ServiceFault, rotate: @escaping @Sendable () throws -> Void
    ) {
        self.provider = provider
        self.fault = fault
        self.rotate = rotate
    }

    package func services(for identifier: String) async throws(ProviderFailure) -> [String] {
        let names = try await provider.services(for: identifier)
        switch fault {
        case .noService: return []
        case .otherServicesFirst:
            return ["com.example.preview", PasswordService.name + ".old"] + names + ["com.example.last"]
        case .slow: await delay()
        default: break
        }
        return names
    }

    package func content(of identifier: String) async throws(ProviderFailure) -> [UInt8] {
        switch fault {
        case .slow: await delay()
        case .passwordRotated:
            do {
                try rotate()
            } catch {
                throw ProviderFailure(.serviceFailed, "the password cannot be rotated: \(error)")
            }
        default: break
        }
        let bytes = try await provider.content(of: identifier)
        return fault == .truncatedItem ? Array(bytes.prefix(bytes.count / 2)) : bytes
    }

    package func password(for identifier: String) throws(ProviderFailure) -> SecretBytes {
        switch fault {
        case .neither: return SecretBytes([])
        case .error: throw ProviderFailure(.serviceFailed, "the password service fails, as it was told to")
        case .wrongPassword:
            var random = RandomSource.system.generator()
            return ServicePassword.random(using: &random)
        default: return try provider.password(for: identifier)
        }
    }

    package func grantPeriod() throws(ProviderFailure) -> UInt64 {
        // Rotated between two requests of one grant, which a provider without this fault would end.
        fault == .passwordRotated ? 0 : try provider.grantPeriod()
    }

    package func page(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        try await provider.page(of: container, after: cursor, limit: limit)
    }

    package func item(_ identifier: String) async throws(ProviderFailure) -> Item {
        try await provider.item(identifier)
    }

    package func present(
        _ types: [String], after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        try await provider.present(types, after: cursor, limit: limit)
    }

    package func choose(_ row: String, types: [String]) async throws(ProviderFailure) -> LegacyExport {
        try await provider.choose(row, types: types)
    }

    package func identityFacts(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage {
        try await provider.identityFacts(after: cursor, limit: limit)
    }

    /// Ends early only where the connection has ended, and nobody waits for the answer.
    private func delay() async {
        try? await Task.sleep(for: .seconds(1))
    }
}
