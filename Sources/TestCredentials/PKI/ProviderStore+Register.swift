package import KeyShareProvider
internal import SecretMemory
package import DeviceSimulation
package import Foundation
internal import KeySharing
package import OpenSSL

/// A record of the authorities' register: a certificate, which the keychain need not hold, and whether it was revoked.
struct IssuanceRecord: Sendable, Hashable {
    /// The issuer's key identifier, upper-case hexadecimal.
    let issuer: String
    /// The serial number in hexadecimal, as `Certificate.serialHex` has it.
    let serialNumber: String
    /// When the certificate was revoked; nil where it was not.
    var revoked: Date?
    /// Why the certificate was revoked; without a meaning where it was not.
    var reason: RevocationReason

    /// A record of any certificate.
    init(
        issuer: String, serialNumber: String, revoked: Date? = nil, reason: RevocationReason = .keyCompromise
    ) {
        self.issuer = issuer
        self.serialNumber = serialNumber
        self.revoked = revoked
        self.reason = reason
    }

    /// The record of a certificate.
    init(_ certificate: Certificate, revoked: Date? = nil, reason: RevocationReason = .keyCompromise) {
        self.init(
            issuer: (certificate.authorityKeyIdentifier ?? []).upperHex, serialNumber: certificate.serialHex,
            revoked: revoked, reason: reason)
    }

    /// Reads a line that `text` wrote; nil for any other.
    fileprivate init?(_ text: Substring) {
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        guard (2...4).contains(fields.count) else { return nil }
        issuer = String(fields[0])
        serialNumber = String(fields[1])
        revoked = fields.count > 2 ? Double(fields[2]).map(Date.init(timeIntervalSince1970:)) : nil
        // Earlier versions revoked for one reason alone, and wrote none.
        reason =
            fields.count > 3 ? RevocationReason(rawValue: String(fields[3])) ?? .unspecified : .keyCompromise
    }

    /// The issuer and serial number, which name one certificate (RFC 5280 section 4.1.2.2).
    fileprivate var certificateName: String { "\(issuer) \(serialNumber)" }

    /// The line of the record in the keychain.
    fileprivate var text: String {
        guard let revoked else { return certificateName }
        let why = reason == .keyCompromise ? "" : " \(reason.rawValue)"
        return "\(certificateName) \(Int64(revoked.timeIntervalSince1970))\(why)"
    }

    /// Takes over the earlier of two revocations; of two at one moment, the reason that comes first by its name.
    fileprivate mutating func merge(_ other: IssuanceRecord) {
        guard let date = other.revoked else { return }
        if let revoked, (revoked, reason.rawValue) <= (date, other.reason.rawValue) { return }
        (revoked, reason) = (date, other.reason)
    }
}

extension ProviderStore {
    /// Adds certificates to the authorities' register.
    ///
    /// - Parameters:
    ///   - issued: certificates that were issued and that the keychain does not hold.
    ///   - revoked: certificates that are revoked from `date` on, whether or not the keychain holds them.
    /// - Throws: `KeychainError` where the register can be neither read nor written.
    package func register(
        issued: [Certificate] = [], revoked: [Certificate] = [], at date: Date
    ) throws(KeychainError) {
        try add(
            toRegister: issued.map { IssuanceRecord($0) } + revoked.map { IssuanceRecord($0, revoked: date) })
    }

    /// Adds records to the register. A certificate has one record. Once revoked, it stays revoked, from the earliest of
    /// all dates: the order in which keychains are merged does not matter.
    ///
    /// - Throws: `KeychainError` where the register can be neither read nor written.
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
        // An item of the keychain holds a mebibyte. The oldest records go first, and revoked certificates stay.
        var surplus = merged.count - Self.mostRecords
        merged.removeAll { record in
            guard surplus > 0, record.revoked == nil else { return false }
            surplus -= 1
            return true
        }
        guard merged != present else { return }
        try keychain.setPassword(
            SecretBytes(utf8: merged.map(\.text).joined(separator: "\n")), service: Self.registerName,
            account: Self.registerName, accessGroup: App.authorityGroup)
    }

    /// Reads the authorities' register, in the order in which records were added.
    ///
    /// - Throws: `KeychainError` where the register cannot be read.
    func register() throws(KeychainError) -> [IssuanceRecord] {
        let list = try keychain.password(
            service: Self.registerName, account: Self.registerName, accessGroup: App.authorityGroup)
        let text = list.map { unsafe $0.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
        return (text ?? "").split(separator: "\n").compactMap(IssuanceRecord.init)
    }

    /// Makes a revocation list of each authority that was ever made, good for thirty days from `date`; empty where the
    /// keychain has no PKI.
    ///
    /// - Throws: `KeychainError` where authorities or register cannot be read; `CertificateError` where OpenSSL refuses.
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

    /// The greatest number of records, unless more certificates are revoked.
    static let mostRecords = 10_000
}

/// A revocation list and the certificate of the authority that signed it.
package struct AuthorityRevocationList: Sendable {
    /// The certificate of the authority.
    package let authority: Certificate
    /// The list.
    package let list: CertificateRevocationList
}
