internal import CertificateReading
package import DeviceSimulation
internal import Foundation
package import KeySharing
package import OpenSSL

/// An identity in the consumer's keychain.
package struct StoredIdentity: Sendable {
    package let summary: IdentitySummary
    package let certificate: Certificate
    /// When it can be used.
    package let accessibility: Accessibility
    /// The keychain group that holds it.
    package let accessGroup: String
}

/// The consumer's side of the device's keychain.
package struct ConsumerStore: Sendable {
    private let keychain: Keychain

    package init(_ device: Device) throws {
        keychain = try Keychain(device: device, app: .consumer)
    }

    /// Adds identities in one transaction, to be used only on this device and while it has a passcode.
    ///
    /// - Returns: for each what became of it; that one failed keeps none of the others out.
    /// - Throws: `KeychainError` where nothing could be added, `CancellationError`.
    package func add(
        _ identities: [PKCS12Identity]
    ) async throws -> [AddOutcome] {
        // Writing a key takes about as long as storing it, and stores alone have to wait for each other.
        let new = try await identities.concurrentMap(
            width: ProcessInfo.processInfo.activeProcessorCount
        ) { identity in
            Result {
                NewIdentity(
                    label: identity.label, certificate: identity.certificate.der,
                    privateKey: try identity.privateKey.pkcs8(),
                    applicationTag: IdentitySummary(identity.certificate).tag,
                    notBefore: identity.certificate.notBefore, accessibility: .whenPasscodeSetThisDeviceOnly)
            }
        }
        return try keychain.add(new)
    }

    /// Every identity, in the order of lists.
    ///
    /// - Throws: `KeychainError`; `CertificateError` for a certificate that was damaged since.
    package func identities() throws -> [StoredIdentity] {
        let held = try keychain.identities().map { record in
            let certificate = try Certificate(der: record.certificate)
            return StoredIdentity(
                summary: IdentitySummary(certificate), certificate: certificate,
                accessibility: record.attributes.accessibility,
                accessGroup: record.attributes.accessGroup)
        }
        let byLabel = Dictionary(held.map { ($0.summary.label, $0) }, uniquingKeysWith: { first, _ in first })
        return SortedIdentities(held.map(\.summary), under: .keySharing2025).identities.compactMap {
            byLabel[$0.label]
        }
    }

    /// The identities whose label starts with `prefix`, case aside.
    ///
    /// - Throws: as ``identities()``; `RequestError` `.noSuchIdentity` where there is none, `.ambiguousLabel` where
    ///   there are several.
    package func identity(labelled prefix: String) throws -> StoredIdentity {
        let matches = try identities().filter { $0.summary.label.hasPrefix(prefix.uppercased()) }
        guard let match = matches.first, !prefix.isEmpty else {
            throw RequestError(.noSuchIdentity, prefix)
        }
        guard matches.count == 1 else {
            throw RequestError(.ambiguousLabel, prefix, candidates: matches.map(\.summary.label))
        }
        return match
    }

    /// The private key of an identity.
    ///
    /// - Throws: `KeychainError`; `CertificateError` for a key that was damaged since.
    package func privateKey(of label: String) throws -> PrivateKey {
        try PrivateKey(pkcs8: try keychain.privateKey(label: label))
    }

    /// Removes everything, and says how many items that was.
    ///
    /// - Throws: `KeychainError`.
    package func removeAll() throws -> Int {
        try keychain.removeAll()
    }
}
