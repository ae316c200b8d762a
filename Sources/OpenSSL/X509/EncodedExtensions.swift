internal import COpenSSL

/// C extensions (`X509_EXTENSION`), owned: freed with the last reference.
@safe final class EncodedExtensions {
    private(set) var pointers: [OpaquePointer] = unsafe []

    deinit {
        unsafe pointers.forEach { unsafe X509_EXTENSION_free($0) }
    }

    /// Encodes an OpenSSL structure of the extension `identifier`; the structure stays the caller's.
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

    /// Takes an extension as it is encoded.
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

    /// Adds a subject key identifier.
    func addSubjectKeyIdentifier(_ octets: [UInt8]) throws(CertificateError) {
        let identifier = unsafe try OpenSSLASN1.string(V_ASN1_OCTET_STRING, octets)
        defer { unsafe ASN1_OCTET_STRING_free(identifier) }
        unsafe try add(NID_subject_key_identifier, isCritical: false, identifier)
    }

    /// Adds an authority key identifier that holds only the key identifier.
    func addAuthorityKeyIdentifier(_ octets: [UInt8]) throws(CertificateError) {
        guard let identifier = unsafe AUTHORITY_KEYID_new() else {
            throw .draining(.unencodable, "writing the authority key identifier")
        }
        defer { unsafe AUTHORITY_KEYID_free(identifier) }
        unsafe identifier.pointee.keyid = try OpenSSLASN1.string(V_ASN1_OCTET_STRING, octets)
        unsafe try add(NID_authority_key_identifier, isCritical: false, identifier)
    }
}
