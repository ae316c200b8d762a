import KeyShareClient
import KeyShareServer
import KeyShareWire
import SecretMemory
import Foundation
import KeySharing
import Logging
import OpenSSL
import Synchronization
import TestSupport

/// A provider that answers what a test tells it to, over a real socket.
struct StandInProvider: ProviderService {
    var export: LegacyExport?
    var services = [PasswordService.name]
    var content: Result<[UInt8], ProviderFailure> = .success([])
    var secret: Result<SecretBytes, ProviderFailure> = .success(SecretBytes(utf8: "password"))
    /// How often all grants end behind a password that was given.
    var rotations: UInt64 = 0
    private let passwords = Counter()

    private final class Counter: Sendable {
        let value = Atomic<UInt64>(0)
    }

    static let item = Item(
        identifier: "All.zip", filename: "All.zip", kind: .zip, contentType: "purebred2025.zip.all",
        parent: Item.root, size: nil, created: Date(timeIntervalSince1970: 0))

    func page(of container: String, after cursor: String?, limit: Int) async throws(ProviderFailure)
        -> ItemPage
    {
        ItemPage(items: [Self.item], nextCursor: nil)
    }

    func item(_ identifier: String) async throws(ProviderFailure) -> Item { Self.item }

    func services(for identifier: String) async throws(ProviderFailure) -> [String] { services }

    func content(of identifier: String) async throws(ProviderFailure) -> [UInt8] { try content.get() }

    func password(for identifier: String) throws(ProviderFailure) -> SecretBytes {
        passwords.value.add(1, ordering: .relaxed)
        return try secret.get()
    }

    func grantPeriod() throws(ProviderFailure) -> UInt64 {
        min(passwords.value.load(ordering: .relaxed), rotations)
    }

    func present(
        _ types: [String], after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        ItemPage(items: export.map { [$0.item] } ?? [], nextCursor: nil)
    }

    func choose(_ row: String, types: [String]) async throws(ProviderFailure) -> LegacyExport {
        guard let export else { throw ProviderFailure(.notAvailable, "there are no rows") }
        return export
    }

    func identityFacts(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage { IdentityFactsPage(facts: [], nextCursor: nil) }

    /// Serves until `body` is done with its connection.
    func serving<Result: Sendable>(
        _ body: @Sendable (ProviderClient) async throws -> Result
    ) async throws -> Result {
        let scratch = try ScratchFolder()
        let path = scratch.path("provider.sock")
        // A busy machine is nobody's fault, so there are no deadlines to miss.
        var limits = ProviderServer.Limits()
        limits.hello = .seconds(600)
        limits.idle = .seconds(600)
        let server = try ProviderServer(
            path: path, service: self, limits: limits, logger: Logger(label: "test"))
        let running = Task { try await server.run() }
        defer { running.cancel() }
        let client = try await ProviderClient.connect(path: path, clientName: "test")
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
