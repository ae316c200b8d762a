internal import COpenSSL
package import Foundation

/// A certificate revocation list with its header and extensions decoded (RFC 5280 5.1, 5.2).
///
/// A list may have hundreds of thousands of entries. They are decoded only when a verification needs the list, so a
/// folder with many lists is cheap to read. A malformed entry is not detected until then.
package final class EncodedRevocationList: Sendable {
    /// The contents of the issuing distribution point extension (RFC 5280 5.2.5).
    package struct Scope: Sendable, Hashable {
        /// The distribution point's URLs.
        package var urls: [String] = []
        /// The distribution point's directory names.
        package var directoryNames: [DistinguishedName] = []
        /// The DER of the distribution point's name, which may also be a directory name; empty if there is none.
        package var name: [UInt8] = []
        /// Whether the list covers only end-entity certificates.
        package var isForUsersOnly = false
        /// Whether the list covers only certificates of authorities.
        package var isForAuthoritiesOnly = false
        /// Whether the list covers only attribute certificates.
        package var isForAttributesOnly = false
        /// The reasons (ReasonFlags) for which the list contains revocations; nil for all reasons.
        package var reasons: [UInt8]?
        /// Whether the list contains certificates of other issuers.
        package var isIndirect = false
    }

    /// The maximum number of names in the certificateIssuer of an entry (RFC 5280 5.3.3). The following entries inherit
    /// these names, and OpenSSL compares each of them for every entry with the certificate's serial number.
    package static let mostEntryIssuers = 16
    /// The maximum number of entries with the same serial number in an indirect list, one for each issuer. OpenSSL
    /// compares the issuers of all of them with that of each certificate with this number.
    package static let mostEqualSerialNumbers = 256

    /// The signer of the list.
    package let issuer: DistinguishedName
    /// The time of issue.
    package let thisUpdate: Date
    /// The time by which the next list is issued; nil if the list does not contain it.
    package let nextUpdate: Date?
    /// The list number, big-endian; nil if the list has no number.
    package let number: [UInt8]?
    /// The number of the list since which a delta list contains the changes, big-endian (RFC 5280 5.2.4); nil for a
    /// complete list.
    let deltaBase: [UInt8]?
    /// The restrictions of the list's scope; nil if the list is unrestricted.
    package let scope: Scope?
    /// The URLs of the delta lists with the changes since this list (freshestCRL, RFC 5280 5.2.6), in order.
    package let deltaURLs: [String]
    /// The time since when revocations remain on the list after the certificates have expired (expiredCertsOnCRL); nil
    /// if they may be removed.
    package let keepsExpiredSince: Date?
    /// The length of the DER in octets.
    package let count: Int

    /// The ``DistinguishedName/matchingKey`` of the issuer's name.
    let issuerKey: NameMatchingKey
    /// The digest of the signature (``DigestStrength``).
    let digest: CInt

    /// Whether the bytes are kept in memory. If false, they are loaded when they are needed.
    package let isHeld: Bool

    private let load: @Sendable () throws(CertificateError) -> [UInt8]

    /// Decodes the header of one list in DER and keeps the bytes.
    ///
    /// - Throws: `malformed`, `trailingBytes`, `overLimit` for too many distribution points.
    package convenience init(der: [UInt8]) throws(CertificateError) {
        try self.init(der, isHeld: true) { () throws(CertificateError) in der }
    }

    /// Decodes the header of one list in DER. The bytes are not kept; `load` is called whenever they are needed, for
    /// example to read the file again.
    ///
    /// - Throws: `malformed`, `trailingBytes`, `overLimit` for too many distribution points.
    package convenience init(
        head der: [UInt8], load: @escaping @Sendable () throws(CertificateError) -> [UInt8]
    ) throws(CertificateError) {
        try self.init(der, isHeld: false, load)
    }

    private init(
        _ der: [UInt8], isHeld: Bool, _ load: @escaping @Sendable () throws(CertificateError) -> [UInt8]
    ) throws(CertificateError) {
        let parts = try RevocationListParts(der)
        issuer = parts.issuer
        issuerKey = parts.issuer.matchingKey
        thisUpdate = parts.thisUpdate
        nextUpdate = parts.nextUpdate
        number = parts.number
        deltaBase = parts.deltaBase
        scope = parts.scope
        deltaURLs = parts.deltaURLs
        keepsExpiredSince = parts.keepsExpiredSince
        digest = parts.digest
        count = der.count
        self.isHeld = isHeld
        self.load = load
    }

    /// Whether the list contains only the changes since another list (RFC 5280 5.2.4).
    package var isDelta: Bool { deltaBase != nil }

    /// Whether the list is current at `date`: it was issued, and its next update is not due yet.
    package func isCurrent(at date: Date) -> Bool {
        thisUpdate <= date && (nextUpdate.map { date <= $0 } ?? true)
    }

    /// Whether the list or an entry has a critical extension that OpenSSL does not process. Each call parses the list again.
    var hasUnknownCriticalExtension: Bool {
        guard let der = try? load(), let parts = try? RevocationListParts(der) else { return false }
        return parts.hasUnknownCriticalExtension(in: der)
    }

    /// Whether a key (`EVP_PKEY`) created the signature of the list. Its entries may be malformed.
    ///
    /// - Throws: The errors of `load`.
    func isSigned(by key: OpaquePointer?) throws(CertificateError) -> Bool {
        let der = try load()
        guard let parts = try? RevocationListParts(der) else { return false }
        return (try? unsafe parts.isSigned(in: der, by: key)) ?? false
    }

    /// The SHA-256 of the part that the issuer signed. It is the same for all encodings of the list with a correct signature.
    ///
    /// - Throws: `malformed`; the errors of `load`.
    package func signedPart() throws(CertificateError) -> [UInt8] {
        let der = try load()
        return Digest.sha256(der[try RevocationListParts(der).signed])
    }

    /// The entries whose serial numbers occur more than once, keyed by the number in the form of ``Certificate/serialHex``.
    ///
    /// - Throws: `malformed`; the errors of `load`.
    func repeatedEntries() throws(CertificateError) -> [String: [RepeatedEntry]] {
        let der = try load()
        return try RevocationListParts(der).repeatedEntries(in: der)
    }

    /// A C list (`X509_CRL`) with its entries, owned by the caller.
    ///
    /// - Throws: `malformed`, `trailingBytes`, `overLimit` for too many issuers of an entry; the errors of `load`.
    func makePointer() throws(CertificateError) -> OpaquePointer {
        let der = try load()
        try RevocationListParts(der).requireEntries(in: der)
        return unsafe try OpenSSLASN1.decode(der, as: "a revocation list") { cursor, count in
            var list = unsafe X509_CRL_new_ex(LibraryContext.standard.pointer, nil)
            // If decoding fails, OpenSSL frees the list and sets it to nil.
            return unsafe d2i_X509_CRL(&list, cursor, count)
        } free: {
            unsafe X509_CRL_free($0)
        }
    }
}
