internal import COpenSSL

/// A list of C extensions (`X509_EXTENSION`). It owns the extensions and frees them.
@safe final class EncodedExtensions {
    /// The C extensions in the order in which they were added. This object owns them.
    private(set) var pointers: [OpaquePointer] = unsafe []

    deinit {
        unsafe pointers.forEach { unsafe X509_EXTENSION_free($0) }
    }

    /// Encodes an extension from OpenSSL's structure for it, which the caller still owns.
    ///
    /// - Parameter identifier: OpenSSL's number for the extension's type, such as `NID_key_usage`.
    /// - Throws: `unencodable` if the structure is nil or cannot be written.
    func add(_ identifier: CInt, isCritical: Bool, _ structure: UnsafeMutableRawPointer?)
        throws(CertificateError)
    {
        guard let structure = unsafe structure,
            let pointer = unsafe X509V3_EXT_i2d(identifier, isCritical ? 1 : 0, structure)
        else {
            throw .draining(
                .unencodable, "writing the extension \(unsafe String(cString: OBJ_nid2sn(identifier)))")
        }
        unsafe pointers.append(pointer)
    }

    /// Adds an extension whose contents are encoded already.
    ///
    /// - Throws: `unencodable` if the type is not an object identifier.
    func add(_ encoded: CertificateExtension) throws(CertificateError) {
        let object = unsafe try OpenSSLASN1.object(encoded.oid)
        defer { unsafe ASN1_OBJECT_free(object) }
        let value = unsafe try OpenSSLASN1.string(V_ASN1_OCTET_STRING, encoded.value)
        defer { unsafe ASN1_OCTET_STRING_free(value) }
        guard
            let pointer = unsafe X509_EXTENSION_create_by_OBJ(nil, object, encoded.isCritical ? 1 : 0, value)
        else {
            throw .draining(.unencodable, "writing the extension \(encoded.oid)")
        }
        unsafe pointers.append(pointer)
    }

    /// Adds a subject key identifier (RFC 5280, 4.2.1.2).
    ///
    /// - Throws: `unencodable` if OpenSSL has no memory for it.
    func addSubjectKeyIdentifier(_ octets: [UInt8]) throws(CertificateError) {
        let identifier = unsafe try OpenSSLASN1.string(V_ASN1_OCTET_STRING, octets)
        defer { unsafe ASN1_OCTET_STRING_free(identifier) }
        unsafe try add(NID_subject_key_identifier, isCritical: false, identifier)
    }

    /// Adds an authority key identifier with only the key identifier (RFC 5280, 4.2.1.1).
    ///
    /// - Throws: `unencodable` if OpenSSL has no memory for it.
    func addAuthorityKeyIdentifier(_ octets: [UInt8]) throws(CertificateError) {
        guard let identifier = unsafe AUTHORITY_KEYID_new() else {
            throw .draining(.unencodable, "writing the authority key identifier")
        }
        defer { unsafe AUTHORITY_KEYID_free(identifier) }
        unsafe identifier.pointee.keyid = try OpenSSLASN1.string(V_ASN1_OCTET_STRING, octets)
        unsafe try add(NID_authority_key_identifier, isCritical: false, identifier)
    }
}
