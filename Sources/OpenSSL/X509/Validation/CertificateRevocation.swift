internal import COpenSSL
package import Foundation

/// The date and reason of a certificate's revocation.
package struct CertificateRevocation: Sendable, Hashable, CustomStringConvertible {
    /// The date of the revocation; nil if it is unreadable.
    package let date: Date?
    /// The number of the reason (RFC 5280 5.3.1); nil if none is given.
    package let reason: Int?

    init(date: Date?, reason: Int?) {
        self.date = date
        self.reason = reason
    }

    /// The revocation in an OCSP status; nil for another status.
    init?(_ status: CertificateStatus) {
        guard case .revoked(let date, let reason) = status else { return nil }
        self.init(date: date, reason: reason)
    }

    /// Copies an entry of a list (`X509_REVOKED`) without taking ownership of it.
    init(reading entry: OpaquePointer) {
        date = unsafe OpenSSLASN1.date(X509_REVOKED_get0_revocationDate(entry))
        reason = unsafe X509_REVOKED_get_ext_d2i(entry, NID_crl_reason, nil, nil).map { decoded in
            let code = unsafe decoded.assumingMemoryBound(to: ASN1_ENUMERATED.self)
            defer { unsafe ASN1_ENUMERATED_free(code) }
            return unsafe ASN1_ENUMERATED_get(code)
        }
        OpenSSLError.discardQueue()
    }

    /// The name of the reason in RFC 5280, such as `keyCompromise`, or its number if it is not defined there; nil if
    /// no reason is given.
    package var reasonName: String? {
        reason.map { Self.names[$0] ?? "\($0)" }
    }

    /// RFC 5280 5.3.1; 7 is not used.
    private static let names = [
        0: "unspecified", 1: "keyCompromise", 2: "cACompromise", 3: "affiliationChanged", 4: "superseded",
        5: "cessationOfOperation", 6: "certificateHold", 8: "removeFromCRL", 9: "privilegeWithdrawn",
        10: "aACompromise",
    ]

    /// The date and the reason in words.
    package var description: String {
        "certificate revoked" + (date.map { " at \($0.ISO8601Format())" } ?? "") + ", "
            + (reasonName.map { "reason: \($0)" } ?? "no reason given")
    }
}
