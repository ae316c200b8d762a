/// The error types of this package, one case for each, like the domains of Apple's `NSError`.
///
/// A type that conforms to ``Failure`` names its domain. The commands switch over the domains to find the type that
/// has an exit code and a hint for each error (`CommandSupport/FailureMapping`), so that an error type without a
/// mapping does not compile.
package enum FailureDomain: String, Sendable, CaseIterable {
    /// OpenSSL failed in a way that has no better error: `OpenSSLError`.
    case openSSL
    /// Certificates, keys and revocation lists: `CertificateError`.
    case certificate
    /// PKCS #12 files: `PKCS12Error`.
    case pkcs12
    /// Messages of S/MIME and CMS: `CMSError`.
    case cms
    /// Archives: `ZipError`.
    case zip
    /// Types, items and identities that are asked for: `RequestError`.
    case request
    /// Import of items: `ImportError`.
    case `import`
    /// Files and folders that are ours: `FileError`.
    case file
    /// The device: `DeviceError`.
    case device
    /// The keychain: `KeychainError`.
    case keychain
    /// The pasteboard: `PasteboardError`.
    case pasteboard
    /// Channels between two apps: `SharingChannelError`.
    case sharingChannel
    /// Sockets, and the connection through them: `SocketError`.
    case socket
    /// The answers of a provider: `ProviderFailure`.
    case provider
    /// Test credentials, profiles and scenarios: `ProvisioningError`.
    case provisioning
    /// The persistent token: `TokenError`.
    case token
    /// The commands themselves: `CommandFailure`.
    case command
}
