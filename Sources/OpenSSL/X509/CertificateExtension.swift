internal import COpenSSL

/// One extension of a certificate or revocation list, as it is encoded.
package struct CertificateExtension: Sendable, Hashable {
    /// The type as a dotted object identifier.
    package let oid: String
    /// Whether who does not know the extension must refuse the certificate.
    package let isCritical: Bool
    /// The contents of the extension's OCTET STRING: DER, by rights.
    package let value: [UInt8]

    /// An extension of any type; `value` goes into the certificate as it is, even where it is no DER.
    package init(oid: String, isCritical: Bool = false, value: [UInt8]) {
        self.oid = oid
        self.isCritical = isCritical
        self.value = value
    }

    /// Copies what a C extension holds; it stays its owner's.
    init(reading pointer: OpaquePointer?) {
        oid = unsafe OpenSSLASN1.dotted(X509_EXTENSION_get_object(pointer))
        isCritical = unsafe X509_EXTENSION_get_critical(pointer) > 0
        value = unsafe OpenSSLASN1.octets(X509_EXTENSION_get_data(pointer))
    }
}
