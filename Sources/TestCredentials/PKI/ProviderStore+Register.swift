package import KeyShareProvider
internal import SecretMemory
package import DeviceSimulation
package import Foundation
internal import KeySharing
package import OpenSSL

/// One line of the authorities' register: a certificate that the keychain need not hold, and whether it was
/// revoked.
struct IssuanceRecord: Sendable, Hashable {
    /// The issuer's key identifier, upper-case hexadecimal.
    let issuer: String
    /// As `Certificate.serialHex` has it.
    let serialNumber: String
    /// When it was revoked; nil where it was not.
    var revoked: Date?

    init(issuer: String, serialNumber: String, revoked: Date? = nil) {
        self.issuer = issuer
        self.serialNumber = serialNumber
        self.revoked = revoked
    }

    init(_ certificate: Certificate, revoked: Date? = nil) {
        issuer = (certificate.authorityKeyIdentifier ?? []).upperHex
        serialNumber = certificate.serialHex
        self.revoked = revoked
    }

    /// Reads what `text` wrote; nil for anything else.
    fileprivate init?(_ text: Substring) {
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        guard (2...3).contains(fields.count) else { return nil }
        issuer = String(fields[0])
        serialNumber = String(fields[1])
        revoked = fields.count > 2 ? Double(fields[2]).map(Date.init(timeIntervalSince1970:)) : nil
    }

    /// What names the certificate among all: issuer and serial number.
    fileprivate var certificateName: String { "\(issuer) \(serialNumber)" }

    fileprivate var text: String {
        certificateName + (revoked.map { " \(Int64($0.timeIntervalSince1970))" } ?? "")
    }

    /// Why every certificate here was revoked: keyCompromise (RFC 5280 5.3.1).
    static let reason = 1
}

extension ProviderStore {
    /// Puts certificates into the authorities' register.
    ///
    /// - Parameters:
    ///   - issued: certificates that the keychain does not hold.
    ///   - revoked: certificates that are revoked from `date` on, held or not.
    /// - Throws: `KeychainError`.
    package func register(
        issued: [Certificate] = [], revoked: [Certificate] = [], at date: Date
    ) throws(KeychainError) {
        try add(
            toRegister: issued.map { IssuanceRecord($0) } + revoked.map { IssuanceRecord($0, revoked: date) })
    }

    /// Puts lines into the register. A certificate has one line; once revoked it stays so, from the earliest
    /// date that anybody gave, whatever the order in which keychains come together.
    ///
    /// - Throws: `KeychainError`.
    func add(toRegister records: [IssuanceRecord]) throws(KeychainError) {
        let present = try register()
        var lines: [IssuanceRecord] = []
        var places: [String: Int] = [:]
        for record in present + records {
            if let place = places[record.certificateName] {
                lines[place].revoked = [lines[place].revoked, record.revoked].compactMap(\.self).min()
            } else {
                places[record.certificateName] = lines.count
                lines.append(record)
            }
        }
        // An item of the keychain holds a mebibyte; the oldest lines go first, but for those of the revoked.
        var surplus = lines.count - Self.mostLines
        lines.removeAll { line in
            guard surplus > 0, line.revoked == nil else { return false }
            surplus -= 1
            return true
        }
        guard lines != present else { return }
        try keychain.setPassword(
            SecretBytes(utf8: lines.map(\.text).joined(separator: "\n")), service: Self.registerName,
            account: Self.registerName, accessGroup: App.authorityGroup)
    }

    /// The authorities' register, in the order it was written.
    ///
    /// - Throws: `KeychainError`.
    func register() throws(KeychainError) -> [IssuanceRecord] {
        let list = try keychain.password(
            service: Self.registerName, account: Self.registerName, accessGroup: App.authorityGroup)
        let text = list.map { unsafe $0.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
        return (text ?? "").split(separator: "\n").compactMap(IssuanceRecord.init)
    }

    /// A revocation list of each authority there ever was, good for thirty days from `date`; none where there
    /// is no PKI.
    ///
    /// - Throws: `KeychainError`, `CertificateError`.
    package func revocationLists(at date: Date) throws -> [CertificateRevocationList] {
        let records = try register()
        return try authorities().flatMap {
            try $0.revocationLists(revoked: records, at: date, from: .system)
        }
    }

    private static let registerName = "KeyShareRegister"

    /// How many lines there are at most, unless more are of revoked certificates.
    static let mostLines = 10_000
}
