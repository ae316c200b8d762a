/// The error types of this package, one case for each, like the domains of Apple's `NSError`.
///
/// A type that conforms to ``Failure`` names its domain. The commands switch over the domains to find the type that
/// defines the exit code and the hint of each error (`CommandSupport/FailureMapping`). An error type without a mapping
/// therefore does not compile.
package enum FailureDomain: String, Sendable, CaseIterable {
    /// An OpenSSL failure without a more specific error: `OpenSSLError`.
    case openSSL
    /// Certificates, keys and revocation lists: `CertificateError`.
    case certificate
    /// PKCS #12 files: `PKCS12Error`.
    case pkcs12
    /// S/MIME and CMS messages: `CMSError`.
    case cms
    /// Archives: `ZipError`.
    case zip
    /// Requested types, items and identities: `RequestError`.
    case request
    /// Import of items: `ImportError`.
    case `import`
    /// The program's own files and folders: `FileError`.
    case file
    /// The device: `DeviceError`.
    case device
    /// The keychain: `KeychainError`.
    case keychain
    /// The pasteboard: `PasteboardError`.
    case pasteboard
    /// Channels between two apps: `SharingChannelError`.
    case sharingChannel
    /// Sockets and the connections through them: `SocketError`.
    case socket
    /// The provider's responses: `ProviderFailure`.
    case provider
    /// Test credentials, profiles and scenarios: `ProvisioningError`.
    case provisioning
    /// The persistent token: `TokenError`.
    case token
    /// The commands themselves: `CommandFailure`.
    case command
}
