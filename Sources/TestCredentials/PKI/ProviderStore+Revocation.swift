internal import DeviceSimulation
package import Diagnostics
package import Foundation
package import KeyShareProvider
package import OpenSSL
internal import PrivateFiles

/// A certificate on the revocation list of its issuer.
package struct Revocation: Sendable, Hashable {
    /// When the certificate was revoked.
    package let date: Date
    /// Why it was revoked.
    package let reason: RevocationReason
}

extension ProviderStore {
    /// Puts certificates on the revocation lists of their issuers, and into the answers of the OCSP responder. A
    /// certificate that is on a list already stays there as it is.
    ///
    /// - Parameters:
    ///   - certificates: certificates that authorities of this keychain issued.
    ///   - reason: why they are revoked.
    ///   - date: when they are revoked.
    /// - Returns: for each certificate how it is on its list now, and whether it is new there; or the
    ///   `ProvisioningError` `.notRevocable`.
    /// - Throws: `KeychainError` where the register can be neither read nor written; `CertificateError` for an
    ///   unreadable authority; `FileError` where no lock can be had.
    package func revoke(
        _ certificates: [Certificate], reason: RevocationReason, at date: Date
    ) throws -> [Result<(revocation: Revocation, isNew: Bool), ProvisioningError>] {
        // Runs that write the register take turns.
        let lock = try lockProvisioning()
        defer { lock.release() }
        let authorities = try authorityCertificates()
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
                            .notRevocable, "the serial number of \(name) is negative, and no list can hold it"
                        )))
            } else if let former = try revocation(of: certificate) {
                results.append(.success((former, false)))
            } else {
                // The register keeps whole seconds, as lists do.
                let moment = Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down))
                records.append(IssuanceRecord(certificate, revoked: moment, reason: reason))
                results.append(.success((Revocation(date: moment, reason: reason), true)))
            }
        }
        if !records.isEmpty { try add(toRegister: records) }
        return results
    }

    /// How a certificate is on the revocation list of its issuer; nil where it was not revoked.
    ///
    /// - Throws: `KeychainError` where the register cannot be read.
    package func revocation(of certificate: Certificate) throws -> Revocation? {
        let name = IssuanceRecord(certificate)
        return try register().first {
            $0.issuer == name.issuer && $0.serialNumber == name.serialNumber && $0.revoked != nil
        }.flatMap { record in record.revoked.map { Revocation(date: $0, reason: record.reason) } }
    }
}
