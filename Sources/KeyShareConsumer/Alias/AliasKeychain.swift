internal import CertificateReading
internal import DeviceSimulation
package import Foundation
package import KeyShareClient
internal import KeyShareProtocol
package import KeySharing
internal import LocalSockets
internal import OpenSSL
internal import PersistentToken
package import SimulatedKeychain

/// The shared aliases with their certificates, as an Android app reads them with a query. KeyChain uses their keys if the
/// user has granted them.
package struct AliasKeychain: Sendable {
    /// An alias with its certificate and type.
    package struct Member: Sendable {
        /// The entry, with the type from the query.
        package let entry: AliasEntry
        /// The identity, whose key remains in KeyChain.
        package let identity: TokenIdentity
    }

    /// The aliases, in the order of the query.
    package let members: [Member]

    /// Queries all columns.
    ///
    /// - Parameters:
    ///   - client: A connection to the provider.
    ///   - app: The name of the querying app.
    /// - Throws: The errors of `ProviderClient.aliases`; `SocketError.Code.malformedReply` also if columns are missing, or if a
    ///   row has no valid certificate.
    package init(_ client: ProviderClient, app: App = .consumer) async throws {
        let columns = AliasQuery.Column.allCases
        let table = try await client.aliases(
            app: app.bundleIdentifier, columns: columns.map(\.rawValue))
        guard table.columns == columns.map(\.rawValue) else {
            throw SocketError(.malformedReply, "the provider did not return the requested columns")
        }
        members = try table.rows.map { row throws(SocketError) in
            do throws(CertificateError) {
                return try Member(alias: row[0], certificate: row[1], type: row[2])
            } catch {
                throw .invalidCertificate(of: row[0], error)
            }
        }
    }

    /// The identities of all aliases as a keychain of tokens, for code that uses external keys.
    package var tokens: TokenKeychain { TokenKeychain(members.map(\.identity)) }

    /// Finds an identity by its alias, or by a label or serial number or a unique prefix of either.
    ///
    /// - Throws: `RequestError`: `.noSuchIdentity`, `.ambiguousLabel`.
    package func identity(named name: String) throws -> TokenIdentity {
        if let member = members.first(where: { $0.entry.alias.utf8.elementsEqual(name.utf8) }) {
            return member.identity
        }
        return try tokens.identity(named: name)
    }

    /// Picks the aliases for a purpose.
    ///
    /// - Parameters:
    ///   - purpose: The purpose of the key.
    ///   - date: The time at which the certificate must be valid.
    package func pick(_ purpose: AliasPick.Purpose, at date: Date) -> AliasPick {
        AliasPick(purpose, from: members.map(\.entry), at: date)
    }
}

extension AliasKeychain.Member {
    /// Reads a row of a query.
    ///
    /// - Throws: `CertificateError` if the text is not a certificate.
    fileprivate init(alias: String, certificate text: String, type: String) throws(CertificateError) {
        let der = Data(base64Encoded: text, options: .ignoreUnknownCharacters) ?? Data()
        let certificate = try Certificate(der: Array(der))
        let key = certificate.publicKey
        entry = AliasEntry(
            alias: alias,
            certificate: AliasEntry.Certificate(
                der: certificate.der, type: AliasType(rawValue: type) ?? .other,
                warnings: AliasClassification(CertificateFacts(certificate))?.warnings ?? [],
                notBefore: certificate.notBefore, notAfter: certificate.notAfter,
                keyType: key.type == .rsa ? "RSA" : "EC", issuers: [certificate.issuer.der]))
        let family: SecKeyAlgorithm.KeyFamily = key.type == .rsa ? .rsa : .ec
        let objectID = Wire.aliasObjectPrefix + alias
        // KeyChain does not read the certificate's key usage. The consumer does, to choose an operation.
        identity = try TokenIdentity(
            TokenEntry(
                tokenID: objectID, objectID: objectID, label: alias, certificate: certificate.der,
                keyFamily: family, keyBits: key.bits,
                properties: TokenKeyProperties(usage: certificate.keyUsage, family: family, rule: .rfc5280),
                hasKey: true, rule: .rfc5280))
    }
}
