internal import COpenSSL
internal import SecretMemory
internal import StandardExtensions

/// A recipient of an encrypted message (RecipientInfo, RFC 5652, 6.2), as the message identifies it.
package struct CMSRecipient: Sendable, Hashable {
    /// The methods by which a recipient obtains the content's key.
    package enum Method: String, Sendable, Hashable {
        /// RSA with PKCS #1 v1.5.
        case rsaPKCS1 = "rsa-pkcs1"
        /// RSA with OAEP.
        case rsaOAEP = "rsa-oaep"
        /// Key agreement on an elliptic curve (RFC 5753).
        case ecdh
        /// A key that sender and recipient share (KEKRecipientInfo, RFC 5652, 6.2.3).
        case sharedKey = "kek"
        /// A password (PasswordRecipientInfo, RFC 5652, 6.2.4).
        case password
        /// Any other method, such as ML-KEM (KEMRecipientInfo, RFC 9629).
        case other
    }

    /// The method by which the recipient obtains the content's key.
    package let method: Method
    /// The issuer of the recipient's certificate; nil if the message identifies the recipient by key.
    package let issuer: DistinguishedName?
    /// The certificate's serial number in the form of ``Certificate/serialHex``; nil if `issuer` is nil.
    package let serialNumber: String?
    /// The certificate's subject key identifier; nil if the message identifies the recipient by certificate.
    package let subjectKeyIdentifier: [UInt8]?
    /// The identifier of the shared key (KEKIdentifier, RFC 5652, 6.2.3); nil for other methods.
    package private(set) var sharedKeyIdentifier: [UInt8]?
    /// The name of the algorithm that encrypts the content's key, such as `rsaesOaep`; nil if it is unknown.
    package private(set) var keyEncryption: String?
    /// The parameters of a password; nil for other methods, and if they are not supported.
    package private(set) var password: PasswordParameters?

    /// Whether the recipient needs a password or a shared key instead of a private key.
    package var isOpenedBySecret: Bool { method == .password || method == .sharedKey }

    /// Returns whether `certificate` is the recipient's. Compares the issuer and serial number, or the key identifier
    /// if the message identifies the recipient by that.
    package func isHolder(of certificate: Certificate) -> Bool {
        if let issuer, let serialNumber {
            return certificate.serialHex == serialNumber && certificate.issuer == issuer
        }
        return subjectKeyIdentifier.map { $0 == certificate.subjectKeyIdentifier } ?? false
    }

    /// The recipient's name for display: the certificate's serial number and issuer, or the key identifier in
    /// hexadecimal.
    package var name: String {
        if let serialNumber { return serialNumber + (issuer.map { " (issued by \($0))" } ?? "") }
        if let subjectKeyIdentifier { return subjectKeyIdentifier.upperHex }
        return switch method {
        case .password: "a password"
        case .sharedKey: "a shared key" + (sharedKeyIdentifier.map { " (\($0.upperHex))" } ?? "")
        default: "a recipient whose method OpenSSL 3.0 does not implement"
        }
    }
}

/// The encrypted content key for one recipient. Use it only while the OpenSSL message that contains it exists.
@safe struct CMSRecipientKey {
    let recipient: CMSRecipient
    /// The `CMS_RecipientInfo`.
    private let info: OpaquePointer
    /// The `CMS_RecipientEncryptedKey` of a key agreement; nil for other methods.
    private let encryptedKey: OpaquePointer?

    /// Returns the encrypted content keys for all recipients of `message`. They point into the message, which the
    /// caller still owns.
    ///
    /// - Parameter passwords: The parameters of each recipient with a password, in order.
    static func all(
        in message: OpaquePointer, passwords: [PasswordParameters?]
    ) -> [CMSRecipientKey] {
        var passwords = passwords[...]
        return unsafe OpenSSLASN1.elements(CMS_get0_RecipientInfos(message)).flatMap {
            raw -> [CMSRecipientKey] in
            let info = OpaquePointer(raw)
            switch unsafe CMS_RecipientInfo_type(info) {
            case CMS_RECIPINFO_TRANS: return unsafe [CMSRecipientKey(transport: info)]
            case CMS_RECIPINFO_AGREE:
                return unsafe OpenSSLASN1.elements(CMS_RecipientInfo_kari_get0_reks(info)).map {
                    unsafe CMSRecipientKey(agreement: info, OpaquePointer($0))
                }
            case CMS_RECIPINFO_KEK: return unsafe [CMSRecipientKey(shared: info)]
            case CMS_RECIPINFO_PASS:
                let recipient = CMSRecipient(password: passwords.popFirst() ?? nil)
                return unsafe [CMSRecipientKey(recipient: recipient, info: info, encryptedKey: nil)]
            default:
                let recipient = unsafe CMSRecipient(.other, identifier: nil, issuer: nil, serial: nil)
                return unsafe [CMSRecipientKey(recipient: recipient, info: info, encryptedKey: nil)]
            }
        }
    }

    private init(shared info: OpaquePointer) {
        var algorithm: UnsafeMutablePointer<X509_ALGOR>?
        var identifier: UnsafeMutablePointer<ASN1_OCTET_STRING>?
        unsafe CMS_RecipientInfo_kekri_get0_id(info, &algorithm, &identifier, nil, nil, nil)
        let recipient = CMSRecipient(
            sharedKey: unsafe identifier.map { unsafe OpenSSLASN1.octets($0) },
            algorithm: unsafe Self.name(algorithm))
        unsafe self.init(recipient: recipient, info: info, encryptedKey: nil)
    }

    private static func name(_ algorithm: UnsafePointer<X509_ALGOR>?) -> String? {
        guard let algorithm = unsafe algorithm else { return nil }
        var object: OpaquePointer?
        unsafe X509_ALGOR_get0(&object, nil, nil, algorithm)
        return ObjectIdentifierName.name(of: unsafe OpenSSLASN1.dotted(object))
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
            recipient: CMSRecipient(
                method, identifier: identifier, issuer: issuer, serial: serial,
                algorithm: Self.name(algorithm)),
            info: info, encryptedKey: nil)
    }

    private init(agreement info: OpaquePointer, _ encryptedKey: OpaquePointer) {
        var identifier: UnsafeMutablePointer<ASN1_OCTET_STRING>?
        var issuer: OpaquePointer?
        var serial: UnsafeMutablePointer<ASN1_INTEGER>?
        unsafe CMS_RecipientEncryptedKey_get0_id(
            encryptedKey, &identifier, nil, nil, &issuer, &serial)
        var algorithm: UnsafeMutablePointer<X509_ALGOR>?
        unsafe CMS_RecipientInfo_kari_get0_alg(info, &algorithm, nil)
        unsafe self.init(
            recipient: CMSRecipient(
                .ecdh, identifier: identifier, issuer: issuer, serial: serial,
                algorithm: Self.name(algorithm)),
            info: info, encryptedKey: encryptedKey)
    }

    /// Decrypts the content key with the recipient's private key. OpenSSL stores the result in `message`.
    ///
    /// - Returns: False if `key` is not the recipient's, or if the encrypted content key was altered.
    func open(_ message: OpaquePointer, with key: OpaquePointer) -> Bool {
        defer { OpenSSLError.discardQueue() }
        if let encryptedKey = unsafe encryptedKey {
            return unsafe CMS_RecipientInfo_kari_set0_pkey(info, key) == 1
                && CMS_RecipientInfo_kari_decrypt(message, info, encryptedKey) == 1
        }
        // OpenSSL frees the recipient's key together with the message, so the message needs its own reference.
        guard unsafe EVP_PKEY_up_ref(key) == 1 else { return false }
        guard unsafe CMS_RecipientInfo_set0_pkey(info, key) == 1 else {
            unsafe EVP_PKEY_free(key)
            return false
        }
        return unsafe CMS_RecipientInfo_decrypt(message, info) == 1
    }

    /// Decrypts the content key with a password or a shared key. OpenSSL stores the result in `message`.
    ///
    /// - Returns: False if the secret is wrong, or if the encrypted content key was altered.
    func open(_ message: OpaquePointer, withSecret secret: SecretBytes) -> Bool {
        defer { OpenSSLError.discardQueue() }
        return unsafe secret.withUnsafeBytes { bytes in
            // OpenSSL only reads the secret, although the parameters are not constant. It would free a secret that
            // remains in the structure.
            let start = unsafe UnsafeMutablePointer(
                mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
            if recipient.method == .password {
                defer { unsafe CMS_RecipientInfo_set0_password(info, nil, 0) }
                return unsafe CMS_RecipientInfo_set0_password(info, start, bytes.count) == 1
                    && CMS_RecipientInfo_decrypt(message, info) == 1
            }
            defer { unsafe CMS_RecipientInfo_set0_key(info, nil, 0) }
            return unsafe CMS_RecipientInfo_set0_key(info, start, bytes.count) == 1
                && CMS_RecipientInfo_decrypt(message, info) == 1
        }
    }
}

extension OpenSSLASN1 {
    /// A serial number in the form of ``Certificate/serialHex``.
    static func serialHex(_ serial: UnsafePointer<ASN1_INTEGER>) -> String {
        let octets = unsafe octets(serial)
        let isNegative = unsafe ASN1_STRING_type(serial) == V_ASN1_NEG_INTEGER
        return (isNegative ? "-" : "") + octets.upperHex
    }
}

extension CMSRecipient {
    /// Copies the fields that identify a recipient. The message still owns every pointer.
    fileprivate init(
        _ method: Method, identifier: UnsafeMutablePointer<ASN1_OCTET_STRING>?, issuer: OpaquePointer?,
        serial: UnsafeMutablePointer<ASN1_INTEGER>?, algorithm: String? = nil
    ) {
        self.method = method
        keyEncryption = algorithm
        self.issuer = unsafe issuer.map { unsafe DistinguishedName(reading: $0) }
        serialNumber = unsafe serial.map { unsafe OpenSSLASN1.serialHex($0) }
        subjectKeyIdentifier = unsafe identifier.map { unsafe OpenSSLASN1.octets($0) }
    }

    /// A recipient with a shared key.
    fileprivate init(sharedKey identifier: [UInt8]?, algorithm: String?) {
        unsafe self.init(.sharedKey, identifier: nil, issuer: nil, serial: nil, algorithm: algorithm)
        sharedKeyIdentifier = identifier
    }

    /// A recipient with a password.
    fileprivate init(password: PasswordParameters?) {
        unsafe self.init(
            .password, identifier: nil, issuer: nil, serial: nil,
            algorithm: password.map { ObjectIdentifierName.name(of: $0.cipher) })
        self.password = password
    }
}
