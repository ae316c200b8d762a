internal import COpenSSL

/// An extension of a certificate, a revocation list or an OCSP request, with its contents still encoded (RFC 5280,
/// 4.2).
package struct CertificateExtension: Sendable, Hashable {
    /// The type (`extnID`), as a dotted object identifier.
    package let oid: String
    /// Whether a program that does not recognize the extension must reject the certificate.
    package let isCritical: Bool
    /// The contents of the OCTET STRING `extnValue`. They should be DER, but are not checked.
    package let value: [UInt8]

    /// Creates an extension of any type. `value` is written into the certificate unchanged, even if it is not DER.
    package init(oid: String, isCritical: Bool = false, value: [UInt8]) {
        self.oid = oid
        self.isCritical = isCritical
        self.value = value
    }

    /// Copies a C extension (`X509_EXTENSION`), which the caller still owns.
    init(reading pointer: OpaquePointer?) {
        oid = unsafe OpenSSLASN1.dotted(X509_EXTENSION_get_object(pointer))
        isCritical = unsafe X509_EXTENSION_get_critical(pointer) > 0
        value = unsafe OpenSSLASN1.octets(X509_EXTENSION_get_data(pointer))
    }
}
