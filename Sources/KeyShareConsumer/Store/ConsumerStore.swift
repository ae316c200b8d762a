internal import CertificateReading
package import DeviceSimulation
internal import Foundation
package import KeySharing
package import OpenSSL
package import SimulatedKeychain
internal import StandardExtensions

/// An identity in the consumer's keychain, without its private key.
package struct StoredIdentity: Sendable {
    /// The summary of the identity: its label, type and date.
    package let summary: IdentitySummary
    /// The certificate of the identity.
    package let certificate: Certificate
    /// The device states in which the private key may be used.
    package let accessibility: Accessibility
    /// The keychain access group of the identity.
    package let accessGroup: String
}

/// The consumer's identities in a device's keychain.
package struct ConsumerStore: Sendable {
    private let keychain: Keychain

    /// Opens the consumer's keychain, and creates it on first use.
    ///
    /// - Throws: `KeychainError`, `FileError`, `DeviceError`.
    package init(_ device: Device) throws {
        keychain = try Keychain(device: device, app: .consumer)
    }

    /// Opens the consumer's keychain read-only; nil if the device has no such keychain.
    ///
    /// - Throws: `KeychainError`.
    package init?(existingOn device: Device) throws(KeychainError) {
        guard let keychain = try Keychain(existingOn: device, app: .consumer) else { return nil }
        self.keychain = keychain
    }

    /// The labels of the identities in the keychain.
    ///
    /// - Throws: `KeychainError`.
    package func labels() throws(KeychainError) -> [String] {
        try keychain.identityAttributes().map(\.label)
    }

    /// Adds identities in one transaction. Their keys can be used only on this device, and only while it has a passcode
    /// (docs/rules.md R8.4).
    ///
    /// - Returns: An outcome for each identity, in the order of `identities`. The failure of one identity does not
    ///   affect the others.
    /// - Throws: `KeychainError` if no identity could be added, `CancellationError`.
    package func add(_ identities: [PKCS12Identity]) async throws -> [ImportResult.Outcome] {
        // Encoding a key takes about as long as storing it. Keys are encoded in parallel, but only one task writes to
        // the keychain.
        let prepared = try await identities.concurrentMap(
            width: ProcessInfo.processInfo.activeProcessorCount
        ) { identity in
            let summary = IdentitySummary(identity.certificate)
            let stored = Result {
                NewIdentity(
                    label: summary.label, certificate: identity.certificate.der,
                    privateKey: try identity.privateKey.pkcs8(), applicationTag: summary.tag,
                    notBefore: summary.notBefore, accessibility: .whenPasscodeSetThisDeviceOnly)
            }
            return (summary, stored)
        }
        return zip(prepared, try keychain.add(prepared.map(\.1))).map { prepared, outcome in
            switch outcome {
            case .added: .imported(prepared.0)
            case .duplicate: .duplicate(prepared.0)
            case .failed(let error): .failed(error)
            }
        }
    }

    /// The identities in the keychain, in list order (docs/rules.md R3.10).
    ///
    /// - Throws: `KeychainError`; `CertificateError` for a certificate that was damaged after it was stored.
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

    /// Returns the identity with this label, serial number or file name. If there is none, returns the identity whose
    /// label or serial number starts with `name` (docs/rules.md R7.21).
    ///
    /// - Throws: `RequestError`: `.noSuchIdentity` if no identity matches, `.ambiguousLabel` if several do;
    ///   `KeychainError`, `CertificateError`.
    package func identity(named name: String) throws -> StoredIdentity {
        let held = try identities()
        let label = try IdentityLookup.find(name, in: held.map(\.summary)).label
        guard let match = held.first(where: { $0.summary.label == label }) else {
            throw RequestError(.noSuchIdentity, name)
        }
        return match
    }

    /// The private key of the identity with this label.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound`, `.interactionNotAllowed` on a locked device;
    ///   `CertificateError` for a key that was damaged after it was stored.
    package func privateKey(of label: String) throws -> PrivateKey {
        try PrivateKey(pkcs8: try keychain.privateKey(label: label))
    }

    /// Removes every item from the consumer's keychain, and returns the number of removed items.
    ///
    /// - Throws: `KeychainError`.
    package func removeAll() throws -> Int {
        try keychain.removeAll()
    }
}
