import Foundation
package import KeyShareClient
internal import KeyShareProtocol
package import KeyShareServer
package import KeyShareWire
package import KeySharing
import Logging
package import SecretMemory
import Synchronization

/// A test double of a provider, with invented items and configurable answers.
package struct StandInProvider: ProviderService {
    /// The items that the root lists.
    package var items: [Item]
    /// The items of folders, keyed by the folder's identifier.
    package var folders: [String: [Item]] = [:]
    /// The persistent token; nil for none.
    package var token: (any TokenService)?
    /// The shared aliases; nil for none.
    package var aliases: (any AliasService)?
    /// The bytes of items, keyed by identifier.
    package var contents: [String: [UInt8]] = [:]
    /// The result for the content of every item that is not in `contents`.
    package var content: Result<[UInt8], ProviderFailure> = .success([])
    /// The names of every item's services.
    package var services = ["another service", PasswordService.name]
    /// The result of every request for a password.
    package var secret: Result<SecretBytes, ProviderFailure> = .success(password)
    /// The only row of the legacy list; nil if every item is a row.
    package var export: LegacyExport?
    /// A gate that every export and every answer about facts must pass; nil for no gate.
    package var gate: Gate?
    /// All grants end after each of the first `rotations` passwords that the provider returns.
    package var rotations: UInt64 = 0
    /// Whether requests for one item's content share one export.
    package var sharesContent = false
    /// A hook that runs before a password is returned, on the server's event loop.
    package var beforePassword: (@Sendable () -> Void)?
    private let state = State()

    /// How many batches of requests the server began to answer.
    package var looks: Int { state.looks.load(ordering: .relaxed) }
    /// How many exports of content were begun.
    package var startedExports: Int { state.startedExports.load(ordering: .relaxed) }
    /// How many legacy exports were completed.
    package var exports: Int { state.exports.load(ordering: .relaxed) }

    /// The password, unless a test sets another one.
    package static let password = SecretBytes(utf8: "password")

    /// The default item: an archive.
    package static let item = Item(
        identifier: "All.zip", filename: "All.zip", kind: .zip, contentType: "purebred2025.zip.all",
        parent: Item.root, size: nil, created: Date(timeIntervalSince1970: 0))

    private final class State: Sendable {
        let period = Mutex<UInt64?>(0)
        let passwords = Atomic<UInt64>(0)
        let startedExports = Atomic(0)
        let exports = Atomic(0)
        let looks = Atomic(0)
    }

    /// Creates a provider of these items with these contents.
    package init(items: [Item], contents: [String: [UInt8]] = [:], gate: Gate? = nil) {
        self.items = items
        self.contents = contents
        self.gate = gate
    }

    /// Creates a provider of `count` files with identifiers as long as real ones; file n contains n bytes of
    /// value 7.
    package init(
        count: Int, secret: Result<SecretBytes, ProviderFailure> = .success(password), gate: Gate? = nil
    ) {
        let items = (0..<count).map { number in
            Self.file(String(repeating: "AB", count: 30) + String(format: "%04d", number), size: number)
        }
        let contents = items.map { ($0.identifier, Array(repeating: UInt8(7), count: $0.size ?? 0)) }
        self.init(items: items, contents: Dictionary(uniqueKeysWithValues: contents), gate: gate)
        self.secret = secret
    }

    /// Creates a provider of one archive, `StandInProvider.item`, with these answers.
    package init(
        services: [String] = [PasswordService.name], content: Result<[UInt8], ProviderFailure> = .success([]),
        secret: Result<SecretBytes, ProviderFailure> = .success(password), export: LegacyExport? = nil
    ) {
        self.init(items: [Self.item])
        self.services = services
        self.content = content
        self.secret = secret
        self.export = export
    }

    /// Creates the description of a PKCS #12 file in the root.
    package static func file(_ identifier: String, size: Int?) -> Item {
        Item(
            identifier: identifier, filename: "piv_\(identifier.suffix(4)).p12", kind: .pkcs12,
            contentType: "purebred2025.rsa.pkcs-12", parent: Item.root, size: size,
            created: Date(timeIntervalSince1970: 1_733_184_000))
    }

    /// Sets the period of grants, which ends earlier grants. Nil means that the provider cannot determine its period.
    package func setPeriod(_ period: UInt64?) {
        state.period.withLock { $0 = period }
    }

    /// Returns a page of the items of the root or of a folder. The cursor is the index of the next item.
    package func page(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        let listed = container == Item.root ? self.items : folders[container]
        guard let items = listed, let start = cursor.map({ Int($0) }) ?? 0, start <= items.count else {
            throw ProviderFailure(.notAvailable, "no such container")
        }
        let end = min(start + limit, items.count)
        return ItemPage(items: Array(items[start..<end]), nextCursor: end < items.count ? "\(end)" : nil)
    }

    /// Finds an item of the root.
    package func item(_ identifier: String) async throws(ProviderFailure) -> Item {
        guard let item = items.first(where: { $0.identifier == identifier }) else {
            throw ProviderFailure(.notAvailable, "no such item")
        }
        return item
    }

    /// Returns `services` for every item.
    package func services(for identifier: String) async throws(ProviderFailure) -> [String] {
        _ = try await item(identifier)
        return services
    }

    /// Reports that content must be exported. If `sharesContent` is true, requests for one item share an export.
    package func contentState(of identifier: String) async throws(ProviderFailure) -> ContentState {
        .needsExport(ExpectedCost(sharedName: sharesContent ? identifier : nil))
    }

    /// Waits until the gate is open, and returns the item's bytes in `contents`, or `content` by default.
    package func content(of identifier: String) async throws(ProviderFailure) -> [UInt8] {
        state.startedExports.add(1, ordering: .relaxed)
        await gate?.pass()
        return if let content = contents[identifier] { content } else { try content.get() }
    }

    /// Increments `looks`, and runs `body`.
    package func withStateSnapshot(_ body: () -> Void) {
        state.looks.add(1, ordering: .relaxed)
        body()
    }

    /// Calls `beforePassword`, and returns `secret` for every item.
    package func password(for identifier: String) throws(ProviderFailure) -> SecretBytes {
        beforePassword?()
        state.passwords.add(1, ordering: .relaxed)
        return try secret.get()
    }

    /// Returns the period that the test set, plus one for each of the first `rotations` passwords that were returned.
    package func grantPeriod() throws(ProviderFailure) -> UInt64 {
        guard let period = state.period.withLock({ $0 }) else {
            throw ProviderFailure(.serviceFailed, "the period is not known")
        }
        return period + min(state.passwords.load(ordering: .relaxed), rotations)
    }

    /// Lists `export`, or every item if `export` is nil. Rejects types of 2025.
    package func present(
        _ types: [String], after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        guard types.allSatisfy({ !$0.hasPrefix("purebred2025.") }) else {
            throw ProviderFailure(.mixedMechanisms, "types of the other mechanism")
        }
        if let export { return ItemPage(items: [export.item], nextCursor: nil) }
        return try await page(of: Item.root, after: cursor, limit: limit)
    }

    /// Returns `export`. If it is nil, returns a file of three bytes for an existing row. Waits until the gate is open,
    /// and fails if the task was cancelled.
    package func choose(_ row: String, types: [String]) async throws(ProviderFailure) -> LegacyExport {
        await gate?.pass()
        guard !Task.isCancelled else { throw ProviderFailure(.serviceFailed, "cancelled") }
        state.exports.add(1, ordering: .relaxed)
        if let export { return export }
        _ = try await item(row)
        return LegacyExport(item: Self.file("export", size: 3), content: [1, 2, 3])
    }

    /// Returns the facts of `WireSamples`, after the gate is open.
    package func identityFacts(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage {
        await gate?.pass()
        return IdentityFactsPage(facts: WireSamples.facts, nextCursor: nil)
    }

    /// Returns the facts and details of `WireSamples`.
    package func identities(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage {
        IdentityFactsPage(facts: WireSamples.detailedFacts, nextCursor: nil)
    }
}

extension StandInProvider {
    /// Serves on a socket in a scratch folder, and calls `body` with a connection to it.
    ///
    /// - Throws: The error of `body`, and errors of the server and the connection.
    package func serving<Result: Sendable>(
        limits: ProviderClient.Limits = ProviderClient.Limits(),
        _ body: @Sendable (ProviderClient) async throws -> Result
    ) async throws -> Result {
        let scratch = try ScratchFolder()
        let path = scratch.path("provider.sock")
        let server = try ProviderServer(
            path: path, service: self, limits: .withoutDeadlines, logger: Logger(label: "test"))
        let running = Task { try await server.run() }
        defer { running.cancel() }
        let client = try await ProviderClient.connect(path: path, clientName: "test", limits: limits)
        let result: Result
        do {
            result = try await body(client)
        } catch {
            await client.close()
            throw error
        }
        await client.close()
        return result
    }
}

extension ProviderServer.Limits {
    /// The usual limits with deadlines of ten minutes, so that no test fails because the machine is busy.
    package static var withoutDeadlines: ProviderServer.Limits {
        var limits = ProviderServer.Limits()
        limits.hello = .seconds(600)
        limits.frame = .seconds(600)
        limits.idle = .seconds(600)
        limits.stalled = .seconds(600)
        return limits
    }
}
