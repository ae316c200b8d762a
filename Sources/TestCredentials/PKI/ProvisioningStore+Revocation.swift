internal import DeviceSimulation
internal import Diagnostics
package import Foundation
internal import KeyShareProvider
package import OpenSSL
internal import PrivateFiles

/// The revocation of a certificate, as on the list of its issuer.
package struct Revocation: Sendable, Hashable {
    /// The date of revocation.
    package let date: Date
    /// The reason code (RFC 5280, 5.3.1).
    package let reason: RevocationReason
}

extension ProvisioningStore {
    /// Adds certificates to the revocation lists of their issuers and to the responses of the OCSP responder. The entry
    /// of a certificate that is already revoked is not changed.
    ///
    /// - Parameters:
    ///   - certificates: Certificates that authorities of this keychain issued.
    ///   - reason: The reason for the revocation.
    ///   - date: The date of revocation.
    /// - Returns: For each certificate, its revocation and whether it is new, or the `ProvisioningError`
    ///   `.notRevocable`.
    /// - Throws: `KeychainError` if the register can be neither read nor written. `CertificateError` if an authority
    ///   cannot be read. `FileError` if the lock cannot be acquired.
    package func revoke(
        _ certificates: [Certificate], reason: RevocationReason, at date: Date
    ) throws -> [Result<(revocation: Revocation, isNew: Bool), ProvisioningError>] {
        // Processes that write the register must not run concurrently.
        let lock = try lockProvisioning()
        defer { lock.release() }
        let authorities = try provider.authorityCertificates()
        var records: [IssuanceRecord] = []
        var results: [Result<(revocation: Revocation, isNew: Bool), ProvisioningError>] = []
        for certificate in certificates {
            let name = certificate.subject.commonName ?? "\(certificate.subject)"
            let isOurs = authorities.contains {
                $0.subject == certificate.issuer
                    && $0.subjectKeyIdentifier == certificate.authorityKeyIdentifier
            }
            if !isOurs {
                results.append(
                    .failure(
                        ProvisioningError(
                            .notRevocable,
                            "no authority of this keychain issued the certificate of \(name): \(certificate.issuer) did"
                        )))
            } else if certificate.isSerialNegative {
                results.append(
                    .failure(
                        ProvisioningError(
                            .notRevocable,
                            "the serial number of \(name) is negative, which a revocation list cannot contain"
                        )))
            } else if let former = try revocation(of: certificate) {
                results.append(.success((former, false)))
            } else {
                // The register stores whole seconds, like revocation lists.
                let moment = Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down))
                records.append(IssuanceRecord(certificate, revoked: moment, reason: reason))
                results.append(.success((Revocation(date: moment, reason: reason), true)))
            }
        }
        if !records.isEmpty { try add(toRegister: records) }
        return results
    }

    /// Returns the revocation of a certificate; nil if the certificate is not revoked.
    ///
    /// - Throws: `KeychainError` if the register cannot be read.
    package func revocation(of certificate: Certificate) throws -> Revocation? {
        let name = IssuanceRecord(certificate)
        return try register().first {
            $0.issuer == name.issuer && $0.serialNumber == name.serialNumber && $0.revoked != nil
        }.flatMap { record in record.revoked.map { Revocation(date: $0, reason: record.reason) } }
    }
}
