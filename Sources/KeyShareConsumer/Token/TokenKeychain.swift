internal import CertificateReading
package import DeviceSimulation
package import KeyShareClient
internal import KeyShareWire
package import KeySharing
internal import LocalSockets
package import OpenSSL
package import PersistentToken

/// An identity of a persistent token: a certificate, and a key that is used and never handed over.
package struct TokenIdentity: Sendable {
    /// What the token says of it.
    package let entry: TokenEntry
    /// The certificate.
    package let certificate: Certificate
    /// Whose the identity is.
    package let summary: IdentitySummary

    /// Reads the certificate of a token.
    ///
    /// - Throws: `CertificateError` where it is none.
    package init(_ entry: TokenEntry) throws(CertificateError) {
        self.entry = entry
        certificate = try Certificate(der: entry.certificate)
        summary = IdentitySummary(certificate)
    }
}

/// The items of the keychain's group `com.apple.token`, which are the identities of persistent tokens.
///
/// The system gives them to an app whose entitlements have the group. Other apps find nothing there.
package struct TokenKeychain: Sendable {
    /// What a query for identities asks for. The sample consumer asks the first two.
    package enum Query: String, Sendable, CaseIterable {
        /// `kSecAttrCanSign`.
        case canSign
        /// `kSecAttrCanDecrypt`.
        case canDecrypt
        /// `kSecAttrCanDerive`.
        case canDerive
        /// The group alone.
        case all

        /// Whether a key is found.
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

    /// Asks the provider for the tokens.
    ///
    /// - Parameters:
    ///   - client: a connection to the provider.
    ///   - entitlements: those of the app that asks.
    /// - Throws: `TokenError` `tokenNotFound` where the app is not entitled to tokens; `CertificateError`;
    ///   `ProviderFailure` and `SocketError`, as `ProviderClient.tokens()`.
    package init(_ client: ProviderClient, entitlements: Entitlements = App.consumer.entitlements)
        async throws
    {
        guard entitlements.mayUseTokens else {
            throw TokenError(
                .tokenNotFound, "the app's entitlements do not have \(Entitlements.tokenGroup)",
                obstacle: .notEntitled)
        }
        entries = try await client.tokens().map { try TokenIdentity($0) }
    }

    /// Whether an error says that the group is empty for the app: it is not entitled, or no provider with tokens serves.
    package static func isEmpty(after error: any Error) -> Bool {
        switch error {
        case let error as TokenError: error.obstacle == .notEntitled
        case let error as SocketError: error.code == .notRunning
        // A provider of version 1 of the protocol has no tokens.
        case let error as ProviderFailure: error.code == .unknownRequest
        default: false
        }
    }

    /// The identities that a query finds, in the order in which they were registered.
    package func identities(_ query: Query = .all) -> [TokenIdentity] {
        entries.filter { query.finds($0.entry.properties) }
    }

    /// Finds an identity by its label or serial number, or enough of the start of one.
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
