internal import Diagnostics
package import DeviceSimulation
package import Foundation
package import KeyShareClient
package import KeySharing
package import SecretMemory

/// The legacy mechanism on the consumer's side: the provider shows what fits the types asked for, and the
/// password comes from the pasteboard, or from the user where the pasteboard holds none (docs/rules.md R4.10
/// to R4.18).
package struct LegacyImport: Sendable {
    private let importer: Importer
    private let pasteboard: Pasteboard
    private let now: @Sendable () -> Date
    private let consent: @Sendable (PasteboardRequest) async throws -> Bool
    private let askUser: @Sendable (Item) throws -> SecretBytes?

    /// Makes the consumer's side.
    ///
    /// - Parameters:
    ///   - importer: imports what was read.
    ///   - pasteboard: the device's pasteboard, where the provider puts the password.
    ///   - now: the clock of the device, by which a password on the pasteboard expires.
    ///   - consent: whether the user lets the consumer read the pasteboard.
    ///   - askUser: the password of an item, from the user; nil where the user gives none.
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

    /// Presents the provider's list for the requested types, chooses a row, reads the file and then the
    /// password, and imports. Neither is ever written to disk for review (docs/rules.md R7.8).
    ///
    /// - Parameters:
    ///   - name: the identifier or file name of the row.
    ///   - request: the requested types.
    ///   - client: the connection to the provider.
    /// - Returns: a result for each identity and each failure; never empty.
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

    /// The password on the pasteboard; where it holds none, or one that has expired, the password that the
    /// user gives (docs/rules.md R4.16).
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
                .noPassword, "the pasteboard holds no password for \u{201C}\(item.filename)\u{201D}")
        }
        return (given, .user)
    }
}
