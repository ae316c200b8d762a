internal import DeviceSimulation
package import Foundation
internal import KeyShareProvider
internal import KeySharing
package import OpenSSL
internal import SecretMemory
package import SimulatedKeychain
internal import StandardExtensions

/// A record in the authorities' register: a certificate and its revocation, if any. The keychain does not necessarily
/// contain the certificate.
package struct IssuanceRecord: Sendable, Hashable {
    /// The key identifier of the issuer, in upper-case hexadecimal.
    let issuer: String
    /// The serial number, in the format of `Certificate.serialHex`.
    let serialNumber: String
    /// The date of the revocation; nil if the certificate is not revoked.
    var revoked: Date?
    /// The reason for the revocation. It has no meaning if the certificate was not revoked.
    var reason: RevocationReason

    /// Creates the record of a certificate from its issuer and serial number.
    init(
        issuer: String, serialNumber: String, revoked: Date? = nil, reason: RevocationReason = .keyCompromise
    ) {
        self.issuer = issuer
        self.serialNumber = serialNumber
        self.revoked = revoked
        self.reason = reason
    }

    /// Creates the record of a certificate.
    package init(_ certificate: Certificate, revoked: Date? = nil, reason: RevocationReason = .keyCompromise)
    {
        self.init(
            issuer: (certificate.authorityKeyIdentifier ?? []).upperHex, serialNumber: certificate.serialHex,
            revoked: revoked, reason: reason)
    }

    /// Decodes a line that ``text`` encoded. Returns nil for any other line.
    fileprivate init?(_ text: Substring) {
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        guard (2...4).contains(fields.count) else { return nil }
        issuer = String(fields[0])
        serialNumber = String(fields[1])
        revoked = fields.count > 2 ? Double(fields[2]).map(Date.init(timeIntervalSince1970:)) : nil
        // Earlier versions supported only one reason and did not write it.
        reason =
            fields.count > 3 ? RevocationReason(rawValue: String(fields[3])) ?? .unspecified : .keyCompromise
    }

    /// The issuer and the serial number, which identify one certificate (RFC 5280, section 4.1.2.2).
    fileprivate var certificateName: String { "\(issuer) \(serialNumber)" }

    /// The line of the record in the register.
    fileprivate var text: String {
        guard let revoked else { return certificateName }
        let why = reason == .keyCompromise ? "" : " \(reason.rawValue)"
        return "\(certificateName) \(Int64(revoked.timeIntervalSince1970))\(why)"
    }

    /// Keeps the earlier of two revocations, but a final one rather than a hold. If their dates are equal, keeps the reason
    /// whose name sorts first.
    fileprivate mutating func merge(_ other: IssuanceRecord) {
        guard let date = other.revoked else { return }
        if let revoked {
            let (isHold, isOtherHold) = (reason == .certificateHold, other.reason == .certificateHold)
            let isFirst = (revoked, reason.rawValue) <= (date, other.reason.rawValue)
            if isHold == isOtherHold ? isFirst : isOtherHold { return }
        }
        (revoked, reason) = (date, other.reason)
    }
}

extension ProvisioningStore {
    /// Adds certificates to the authorities' register.
    ///
    /// - Parameters:
    ///   - issued: Issued certificates that the keychain does not contain.
    ///   - revoked: Certificates that are revoked at `date`, whether or not the keychain contains them.
    /// - Throws: `KeychainError` if the register can be neither read nor written.
    package func register(
        issued: [Certificate] = [], revoked: [Certificate] = [], at date: Date
    ) throws(KeychainError) {
        try add(
            toRegister: issued.map { IssuanceRecord($0) } + revoked.map { IssuanceRecord($0, revoked: date) })
    }

    /// Adds records to the register. Each certificate has one record. A revoked certificate remains revoked, and its
    /// earliest revocation date is kept. The order in which keychains are merged therefore does not matter.
    ///
    /// - Throws: `KeychainError` if the register can be neither read nor written.
    func add(toRegister records: [IssuanceRecord]) throws(KeychainError) {
        let present = try register()
        var merged: [IssuanceRecord] = []
        var indices: [String: Int] = [:]
        for record in present + records {
            if let index = indices[record.certificateName] {
                merged[index].merge(record)
            } else {
                indices[record.certificateName] = merged.count
                merged.append(record)
            }
        }
        // A keychain item is limited to one mebibyte. Remove the oldest records of certificates that are not revoked.
        var surplus = merged.count - Self.mostRecords
        merged.removeAll { record in
            guard surplus > 0, record.revoked == nil else { return false }
            surplus -= 1
            return true
        }
        guard merged != present else { return }
        try provider.keychain.setPassword(
            SecretBytes(utf8: merged.map(\.text).joined(separator: "\n")), service: Self.registerName,
            account: Self.registerName, accessGroup: App.authorityGroup)
    }

    /// Reads the authorities' register, in the order in which records were added.
    ///
    /// - Throws: `KeychainError` if the register cannot be read.
    func register() throws(KeychainError) -> [IssuanceRecord] {
        let list = try provider.keychain.password(
            service: Self.registerName, account: Self.registerName, accessGroup: App.authorityGroup)
        let text = list.map { unsafe $0.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
        return (text ?? "").split(separator: "\n").compactMap(IssuanceRecord.init)
    }

    /// Creates a revocation list for each authority, valid for thirty days from `date`. Returns an empty array if the
    /// keychain contains no PKI.
    ///
    /// - Throws: `KeychainError` if the authorities or the register cannot be read. `CertificateError` if OpenSSL
    ///   fails.
    package func revocationLists(at date: Date) throws -> [AuthorityRevocationList] {
        let records = try register()
        return try authorities().flatMap { authority in
            try authority.issuers.map { role, issuer in
                AuthorityRevocationList(
                    authority: issuer.certificate,
                    list: try authority.revocationList(of: role, revoked: records, at: date, from: .system))
            }
        }
    }

    private static let registerName = "KeyShareRegister"

    /// The maximum number of records. If more certificates are revoked, all their records are kept.
    static let mostRecords = 10_000
}

/// A revocation list and the certificate of the authority that signed it.
package struct AuthorityRevocationList: Sendable {
    /// The certificate of the authority that signed the list.
    package let authority: Certificate
    /// The revocation list that the authority signed.
    package let list: CertificateRevocationList
}
