package import KeyShareClient
package import SecretMemory
package import DeviceSimulation
package import Foundation
package import KeySharing
internal import OpenSSL

/// The consumer's side of the legacy mechanism: the provider shows what fits, and the password comes from the
/// pasteboard, or from the user where the pasteboard holds none.
package struct LegacyImport: Sendable {
    private let importer: Importer
    private let reader: FileReader
    private let pasteboard: Pasteboard
    private let now: @Sendable () -> Date
    private let consent: @Sendable (PasteboardRequest) throws -> Bool
    private let askUser: @Sendable (Item) throws -> SecretBytes?

    /// - Parameters:
    ///   - reader: how much is taken of what the provider hands over; its password does not matter.
    ///   - now: the device's clock, which the pasteboard's expiry goes by.
    ///   - consent: whether the user lets the consumer read the pasteboard.
    ///   - askUser: the password of an item, from the user; nil where the user gives none.
    package init(
        _ importer: Importer, reader: FileReader = FileReader(password: nil), pasteboard: Pasteboard,
        now: @escaping @Sendable () -> Date,
        consent: @escaping @Sendable (PasteboardRequest) throws -> Bool,
        askUser: @escaping @Sendable (Item) throws -> SecretBytes?
    ) {
        self.importer = importer
        self.reader = reader
        self.pasteboard = pasteboard
        self.now = now
        self.consent = consent
        self.askUser = askUser
    }

    /// Presents the provider's list for the requested types, chooses the row of this identifier or file name,
    /// reads the file, then the pasteboard, and imports.
    ///
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
            let (password, isFromPasteboard) = try password(for: row)
            let results = await importer.importFile(bytes, named: row.identifier, with: reader.with(password))
            return isFromPasteboard ? results.map(Self.blamingPasteboard) : results
        } catch {
            return [ImportResult(item: name, entry: nil, outcome: .failed(error))]
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

    /// What the pasteboard holds; where that is nothing, or nothing any more, what the user says.
    private func password(for item: Item) throws -> (password: SecretBytes?, isFromPasteboard: Bool) {
        do {
            if let pasted = try pasteboard.read(by: .consumer, now: now(), consent: consent) {
                return (pasted, true)
            }
            guard let given = try askUser(item) else {
                throw ImportError(
                    .noPassword, "the pasteboard holds no password for \u{201C}\(item.filename)\u{201D}")
            }
            return (given, false)
        } catch let error where error.isExpired {
            guard let given = try askUser(item) else { throw error }
            return (given, false)
        }
    }

    /// A wrong password that came from the pasteboard says what may have happened to it.
    private static func blamingPasteboard(_ result: ImportResult) -> ImportResult {
        guard let error = result.error as? PKCS12Error, error.code == .wrongPassword else { return result }
        return ImportResult(
            item: result.item, entry: result.entry,
            outcome: .failed(
                ImportError(
                    .pasteboardHoldsOther, "the pasteboard holds something else than this file's password")))
    }
}

extension Error {
    fileprivate var isExpired: Bool { (self as? PasteboardError)?.code == .expired }
}
