internal import Diagnostics
package import DeviceSimulation
package import Foundation
package import KeyShareClient
package import KeySharing
package import SecretMemory
internal import SimulatedKeychain

/// The consumer's side of the legacy mechanism. The provider lists the identities with the requested types. The
/// password comes from the pasteboard, or from the user if the pasteboard contains none (docs/rules.md R4.10 to
/// R4.18).
package struct LegacyImport: Sendable {
    private let importer: Importer
    private let pasteboard: Pasteboard
    private let now: @Sendable () -> Date
    private let consent: @Sendable (PasteboardRequest) async throws -> Bool
    private let askUser: @Sendable (Item) throws -> SecretBytes?

    /// Creates an importer for the legacy mechanism.
    ///
    /// - Parameters:
    ///   - importer: Imports the file.
    ///   - pasteboard: The device's pasteboard, to which the provider writes the password.
    ///   - now: The device's clock, which determines whether a password on the pasteboard has expired.
    ///   - consent: Asks the user whether the consumer may read the pasteboard.
    ///   - askUser: Asks the user for the password of an item. Returns nil if the user enters none.
    package init(
        _ importer: Importer, pasteboard: Pasteboard, now: @escaping @Sendable () -> Date,
        consent: @escaping @Sendable (PasteboardRequest) async throws -> Bool,
        askUser: @escaping @Sendable (Item) throws -> SecretBytes?
    ) {
        self.importer = importer
        self.pasteboard = pasteboard
        self.now = now
        self.consent = consent
        self.askUser = askUser
    }

    /// Requests the provider's list for the requested types, selects a row, reads the file and then the password, and
    /// imports the identities. File and password are never written to disk (docs/rules.md R7.8).
    ///
    /// - Parameters:
    ///   - name: The identifier or file name of the row.
    ///   - request: The requested types.
    ///   - client: The connection to the provider.
    /// - Returns: A result for each identity and each failure; never empty.
    package func importRow(_ name: String, _ request: TypeRequest, from client: ProviderClient) async
        -> [ImportResult]
    {
        do {
            let rows = try await client.present(request.identifiers)
            guard let row = try ItemLookup.match(name, in: rows) else {
                throw RequestError(.noSuchItem, name)
            }
            let export = try await client.choose(row.identifier, types: request.identifiers)
            let bytes = try await content(of: export, from: client)
            let (password, origin) = try await password(for: row)
            return await importer.importFile(bytes, named: row.identifier, password: password, from: origin)
        } catch {
            return [ImportResult(item: name, outcome: .failed(error))]
        }
    }

    private func content(of export: Item, from client: ProviderClient) async throws -> [UInt8] {
        do {
            let bytes = try await client.readAll(export.identifier)
            try? await client.stopAccessing(export.identifier)
            return bytes
        } catch {
            try? await client.stopAccessing(export.identifier)
            throw error
        }
    }

    /// Returns the password on the pasteboard. Asks the user for it if the pasteboard contains none, or an expired one
    /// (docs/rules.md R4.16).
    private func password(for item: Item) async throws -> (SecretBytes, PasswordOrigin) {
        let pasted: SecretBytes?
        do throws(PasteboardError) {
            pasted = try await pasteboard.read(by: .consumer, now: now(), waitingForConsent: consent)
        } catch {
            guard error.code == .expired, let given = try askUser(item) else { throw error }
            return (given, .user)
        }
        if let pasted { return (pasted, .pasteboard) }
        guard let given = try askUser(item) else {
            throw ImportError(
                .noPassword, "the pasteboard contains no password for \u{201C}\(item.filename)\u{201D}")
        }
        return (given, .user)
    }
}
