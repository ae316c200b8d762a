internal import DeviceSimulation
internal import Foundation
internal import KeyShareProtocol
internal import KeyShareProvider
internal import KeyShareServer
internal import KeyShareWire
internal import KeySharing
internal import Logging
internal import OpenSSL
internal import SecretMemory
internal import TestCredentials
internal import TestVectors

/// Runs the provider of a service test vector while a consumer imports from it.
enum ServiceHost {
    /// The location of the provider and the item to import.
    struct Place: Sendable {
        /// The path of the socket.
        let socket: String
        /// The name of the item.
        let item: String
    }

    /// Provisions a device in `folder`, runs its provider while `body` runs, and then stops the provider.
    ///
    /// - Throws: The errors of the device, the keychain and the socket.
    static func serve<Result: Sendable>(
        _ vector: ServiceVector, in folder: String, settings: TestVectorSuite.Settings,
        _ body: (Place) async -> Result
    ) async throws -> Result {
        let device = try Device(folder: folder + "/device")
        try device.begin()
        let store = try ProviderStore(device)
        let made = try await Provisioner(store).run(
            ProvisioningRequest(
                persons: settings.person.map { [$0] } ?? [], personCount: 1, types: [.signature],
                generations: 1,
                algorithm: .p256, date: settings.date),
            from: ProvisioningRandomness(settings.source.child("service")))
        guard let identity = made.made.first else {
            throw ProviderFailure(.internalError, "nothing was provisioned")
        }
        let fault: ServiceFault? = if case .fault(let fault) = vector.trouble { fault } else { nil }
        let date = settings.date
        let provider = try Provider(
            store, profile: settings.profile, fixedPassword: fault?.password, now: { date },
            putOnPasteboard: { _ in })
        let service: any ProviderService =
            switch vector.trouble {
            case .none: provider
            case .fault(let fault):
                FaultyProvider(provider, fault: fault, sleep: { try await Task.sleep(for: $0) })
            case .locked:
                LockingProvider(provider) {
                    // Lock the device again for a consumer that retries.
                    try device.unlock()
                    try device.lock()
                }
            }
        let server = try ProviderServer(
            path: folder + "/provider.sock", service: service,
            services: fault?.services ?? [PasswordService.name],
            fault: fault?.connection, logger: Logger(label: "conformance") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await server.run() }
        let name =
            vector.wantsArchive
            ? IdentitySelector.signature.zipName : Item.file(identity, under: .keySharing2025).filename
        let result = await body(Place(socket: server.path, item: name))
        running.cancel()
        try await running.value
        return result
    }
}

/// A provider whose device is locked after it has returned a password.
private struct LockingProvider: ProviderService {
    private let provider: Provider
    private let lock: @Sendable () throws -> Void

    init(_ provider: Provider, lock: @escaping @Sendable () throws -> Void) {
        self.provider = provider
        self.lock = lock
    }

    func password(for identifier: String) throws(ProviderFailure) -> SecretBytes {
        let password = try provider.password(for: identifier)
        do {
            try lock()
        } catch {
            throw ProviderFailure(.serviceFailed, "the device cannot be locked: \(error)")
        }
        return password
    }

    func page(of container: String, after cursor: String?, limit: Int) async throws(ProviderFailure)
        -> ItemPage
    {
        try await provider.page(of: container, after: cursor, limit: limit)
    }

    func item(_ identifier: String) async throws(ProviderFailure) -> Item {
        try await provider.item(identifier)
    }

    func services(for identifier: String) async throws(ProviderFailure) -> [String] {
        try await provider.services(for: identifier)
    }

    func contentState(of identifier: String) async throws(ProviderFailure) -> ContentState {
        try await provider.contentState(of: identifier)
    }

    func content(of identifier: String) async throws(ProviderFailure) -> [UInt8] {
        try await provider.content(of: identifier)
    }

    func grantPeriod() throws(ProviderFailure) -> UInt64 { try provider.grantPeriod() }

    func present(
        _ types: [String], after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        try await provider.present(types, after: cursor, limit: limit)
    }

    func exportCost(_ row: String, types: [String]) async throws(ProviderFailure) -> ExpectedCost {
        try await provider.exportCost(row, types: types)
    }

    func choose(_ row: String, types: [String]) async throws(ProviderFailure) -> LegacyExport {
        try await provider.choose(row, types: types)
    }

    func identityFacts(after cursor: String?, limit: Int) async throws(ProviderFailure) -> IdentityFactsPage {
        try await provider.identityFacts(after: cursor, limit: limit)
    }

    func identities(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage {
        try await provider.identities(of: container, after: cursor, limit: limit)
    }
}
