internal import CertificateReading
internal import DeviceSimulation
internal import Diagnostics
package import KeyShareClient
internal import KeyShareProtocol
internal import KeyShareWire
package import KeySharing
internal import LocalSockets
package import OpenSSL
package import PersistentToken
package import SimulatedKeychain

/// An identity of a persistent token: a certificate, and a private key that never leaves the provider.
package struct TokenIdentity: Sendable {
    /// The token's entry in the provider's list.
    package let entry: TokenEntry
    /// The certificate of the identity, parsed from the entry.
    package let certificate: Certificate
    /// The summary that lists use to name and sort the identity.
    package let summary: IdentitySummary

    /// Parses the certificate of a token.
    ///
    /// - Throws: `CertificateError` if the entry contains no valid certificate.
    package init(_ entry: TokenEntry) throws(CertificateError) {
        self.entry = entry
        certificate = try Certificate(der: entry.certificate)
        summary = IdentitySummary(certificate)
    }
}

/// The items of the keychain group `com.apple.token`: the identities of persistent tokens.
///
/// The system returns these identities only to apps with an entitlement for the group. For other apps, the group is
/// empty.
package struct TokenKeychain: Sendable {
    /// The queries for identities. The sample consumer uses the first two.
    package enum Query: String, Sendable, CaseIterable {
        /// Keys with `kSecAttrCanSign`.
        case canSign
        /// Keys with `kSecAttrCanDecrypt`.
        case canDecrypt
        /// Keys with `kSecAttrCanDerive`.
        case canDerive
        /// All keys in the access group.
        case all

        /// Whether the query finds a key with these properties.
        package func finds(_ properties: TokenKeyProperties) -> Bool {
            switch self {
            case .canSign: properties.canSign
            case .canDecrypt: properties.canDecrypt
            case .canDerive: properties.canPerformKeyExchange
            case .all: true
            }
        }
    }

    private let entries: [TokenIdentity]

    /// Creates a keychain with these identities.
    init(_ identities: [TokenIdentity]) {
        entries = identities
    }

    /// Requests the tokens from the provider.
    ///
    /// - Parameters:
    ///   - client: A connection to the provider.
    ///   - entitlements: The entitlements of the requesting app.
    /// - Throws: `TokenError` `tokenNotFound` if the app is not entitled to tokens; the errors of
    ///   `ProviderClient.tokens()`, `ProviderFailure` and `SocketError`, also for an invalid certificate.
    package init(_ client: ProviderClient, entitlements: Entitlements = App.consumer.entitlements)
        async throws
    {
        guard entitlements.mayUseTokens else {
            throw TokenError(
                .tokenNotFound, "the app's entitlements do not contain \(Entitlements.tokenGroup)",
                obstacle: .notEntitled)
        }
        entries = try await client.tokens().map { entry throws(SocketError) in
            do throws(CertificateError) {
                return try TokenIdentity(entry)
            } catch {
                throw .invalidCertificate(of: entry.label, error)
            }
        }
    }

    /// Whether an error means that the group is empty for the app: the app is not entitled to tokens, or no provider
    /// with tokens is running.
    package static func isEmpty(after error: any Error) -> Bool {
        switch error {
        case let error as TokenError: error.obstacle == .notEntitled
        case let error as SocketError: error.code == .notRunning
        // A provider with protocol version 1 does not support tokens.
        case let error as ProviderFailure: error.code == .unknownRequest
        default: false
        }
    }

    /// The identities that a query finds, in the order of their registration.
    package func identities(_ query: Query = .all) -> [TokenIdentity] {
        entries.filter { query.finds($0.entry.properties) }
    }

    /// Finds an identity by its label or serial number, or by a unique prefix of either.
    ///
    /// - Throws: `RequestError`: `.noSuchIdentity`, `.ambiguousLabel`.
    package func identity(named name: String) throws -> TokenIdentity {
        let summary = try IdentityLookup.find(name, in: entries.map(\.summary))
        guard let found = entries.first(where: { $0.summary.label == summary.label }) else {
            throw RequestError(.noSuchIdentity, name)
        }
        return found
    }
}

extension SocketError {
    /// The error that a provider returned an invalid certificate for a token or an alias.
    static func invalidCertificate(of label: String, _ error: CertificateError) -> SocketError {
        SocketError(
            .malformedReply,
            "the provider returned an invalid certificate for \(label.visible): \(error.reason)")
    }
}
