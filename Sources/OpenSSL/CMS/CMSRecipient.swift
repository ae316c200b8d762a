internal import COpenSSL

/// Whom a message is encrypted for (RecipientInfo, RFC 5652, 6.2), as the message names them.
package struct CMSRecipient: Sendable, Hashable {
    /// How the recipient gets the content's key.
    package enum Method: String, Sendable, Hashable {
        /// RSA with PKCS #1 v1.5.
        case rsaPKCS1 = "rsa-pkcs1"
        /// RSA with OAEP.
        case rsaOAEP = "rsa-oaep"
        /// Agreement on a curve (RFC 5753).
        case ecdh
        /// Anything else: a key that both have, a password.
        case other
    }

    /// How the recipient gets the content's key.
    package let method: Method
    /// The issuer of the recipient's certificate; nil where the message names the key in place of the certificate.
    package let issuer: DistinguishedName?
    /// The certificate's serial number as ``Certificate/serialHex``; nil as `issuer`.
    package let serialNumber: String?
    /// The certificate's subject key identifier; nil where the message names the certificate.
    package let subjectKeyIdentifier: [UInt8]?

    /// Whether the certificate is that of the recipient.
    package func isHolder(of certificate: Certificate) -> Bool {
        if let issuer, let serialNumber {
            return certificate.serialHex == serialNumber && certificate.issuer == issuer
        }
        return subjectKeyIdentifier.map { $0 == certificate.subjectKeyIdentifier } ?? false
    }

    /// The serial number, or the key identifier in hexadecimal, or what little is known.
    package var name: String {
        serialNumber ?? subjectKeyIdentifier.map(\.upperHex) ?? "a recipient without a certificate"
    }
}

/// One key of a recipient in a message that OpenSSL has decoded, for as long as the message is there.
@safe struct CMSRecipientKey {
    let recipient: CMSRecipient
    /// The `CMS_RecipientInfo`.
    private let info: OpaquePointer
    /// The `CMS_RecipientEncryptedKey` of an agreement; nil for others.
    private let encryptedKey: OpaquePointer?

    /// The keys of all recipients of a message, which stays the caller's.
    static func all(in message: OpaquePointer) -> [CMSRecipientKey] {
        unsafe OpenSSLASN1.elements(CMS_get0_RecipientInfos(message)).flatMap { raw -> [CMSRecipientKey] in
            let info = OpaquePointer(raw)
            switch unsafe CMS_RecipientInfo_type(info) {
            case CMS_RECIPINFO_TRANS: return unsafe [CMSRecipientKey(transport: info)]
            case CMS_RECIPINFO_AGREE:
                return unsafe OpenSSLASN1.elements(CMS_RecipientInfo_kari_get0_reks(info)).map {
                    unsafe CMSRecipientKey(agreement: info, OpaquePointer($0))
                }
            default:
                return unsafe [
                    CMSRecipientKey(
                        recipient: CMSRecipient(
                            method: .other, issuer: nil, serialNumber: nil, subjectKeyIdentifier: nil),
                        info: info, encryptedKey: nil)
                ]
            }
        }
    }

    private init(recipient: CMSRecipient, info: OpaquePointer, encryptedKey: OpaquePointer?) {
        self.recipient = recipient
        unsafe self.info = info
        unsafe self.encryptedKey = encryptedKey
    }

    private init(transport info: OpaquePointer) {
        var identifier: UnsafeMutablePointer<ASN1_OCTET_STRING>?
        var issuer: OpaquePointer?
        var serial: UnsafeMutablePointer<ASN1_INTEGER>?
        unsafe CMS_RecipientInfo_ktri_get0_signer_id(info, &identifier, &issuer, &serial)
        var algorithm: UnsafeMutablePointer<X509_ALGOR>?
        unsafe CMS_RecipientInfo_ktri_get0_algs(info, nil, nil, &algorithm)
        var object: OpaquePointer?
        unsafe X509_ALGOR_get0(&object, nil, nil, algorithm)
        let method: CMSRecipient.Method =
            switch unsafe OBJ_obj2nid(object) {
            case NID_rsaEncryption: .rsaPKCS1
            case NID_rsaesOaep: .rsaOAEP
            default: .other
            }
        unsafe self.init(
            recipient: CMSRecipient(method, identifier: identifier, issuer: issuer, serial: serial),
            info: info, encryptedKey: nil)
    }

    private init(agreement info: OpaquePointer, _ encryptedKey: OpaquePointer) {
        var identifier: UnsafeMutablePointer<ASN1_OCTET_STRING>?
        var issuer: OpaquePointer?
        var serial: UnsafeMutablePointer<ASN1_INTEGER>?
        unsafe CMS_RecipientEncryptedKey_get0_id(
            encryptedKey, &identifier, nil, nil, &issuer, &serial)
        unsafe self.init(
            recipient: CMSRecipient(.ecdh, identifier: identifier, issuer: issuer, serial: serial),
            info: info, encryptedKey: encryptedKey)
    }

    /// Has OpenSSL find the content's key, which it keeps in the message.
    ///
    /// - Returns: false where the key is not the recipient's, or what it should open was altered.
    func open(_ message: OpaquePointer, with key: OpaquePointer) -> Bool {
        defer { OpenSSLError.discardQueue() }
        if let encryptedKey = unsafe encryptedKey {
            return unsafe CMS_RecipientInfo_kari_set0_pkey(info, key) == 1
                && CMS_RecipientInfo_kari_decrypt(message, info, encryptedKey) == 1
        }
        // The recipient's key is freed with the message, which therefore gets a reference of its own.
        guard unsafe EVP_PKEY_up_ref(key) == 1 else { return false }
        guard unsafe CMS_RecipientInfo_set0_pkey(info, key) == 1 else {
            unsafe EVP_PKEY_free(key)
            return false
        }
        return unsafe CMS_RecipientInfo_decrypt(message, info) == 1
    }
}

extension CMSRecipient {
    /// Copies what a message says of a recipient; every pointer stays the message's.
    fileprivate init(
        _ method: Method, identifier: UnsafeMutablePointer<ASN1_OCTET_STRING>?, issuer: OpaquePointer?,
        serial: UnsafeMutablePointer<ASN1_INTEGER>?
    ) {
        self.method = method
        self.issuer = unsafe issuer.map { unsafe DistinguishedName(reading: $0) }
        serialNumber = unsafe serial.map { serial in
            let octets = unsafe OpenSSLASN1.octets(serial)
            let isNegative = unsafe ASN1_STRING_type(serial) == V_ASN1_NEG_INTEGER
            return (isNegative ? "-" : "") + (octets.isEmpty ? [0] : octets).upperHex
        }
        subjectKeyIdentifier = unsafe identifier.map { unsafe OpenSSLASN1.octets($0) }
    }
}
