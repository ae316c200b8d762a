internal import COpenSSL

/// The signer of a message whose signature was verified.
package struct CMSSigner: Sendable, Hashable {
    /// The signer's certificate, which was not validated.
    package let certificate: Certificate
    /// The reason why the signature may be forged although it is valid, such as `its digest algorithm is MD5`. Nil if
    /// the signature reaches ``CMSSignature/securityLevel``.
    package let weakness: String?

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - certificate: The signer's certificate.
    ///   - weakness: The reason why the signature may be forged, as a phrase about the signature; nil for a strong
    ///     signature.
    package init(_ certificate: Certificate, weakness: String? = nil) {
        self.certificate = certificate
        self.weakness = weakness
    }
}

/// One SignerInfo (RFC 5652, 5.3) of a message. Use it only while the OpenSSL message that contains it exists.
@safe struct CMSSignerInfo {
    private let info: OpaquePointer

    /// Returns every SignerInfo of a decoded message, which the caller still owns.
    static func all(in message: OpaquePointer) -> [CMSSignerInfo] {
        unsafe OpenSSLASN1.elements(CMS_get0_SignerInfos(message)).map {
            unsafe CMSSignerInfo(info: OpaquePointer($0))
        }
    }

    private init(info: OpaquePointer) { unsafe self.info = info }

    /// The signer's certificate; nil until `CMS_verify` has found it in the message.
    ///
    /// - Throws: `CertificateError` for a certificate that cannot be read.
    var certificate: Certificate? {
        get throws {
            var certificate: OpaquePointer?
            unsafe CMS_SignerInfo_get0_algs(info, nil, &certificate, nil, nil)
            return unsafe try certificate.map { pointer in
                try Certificate(der: unsafe OpenSSLASN1.der(pointer) { unsafe i2d_X509($0, $1) })
            }
        }
    }

    /// Whether OpenSSL can verify with the key: false if it cannot load the key, or if a DSA key inherits its
    /// parameters from the issuer (RFC 3279, 2.3.2).
    var hasUsableKey: Bool {
        var key: OpaquePointer?
        unsafe CMS_SignerInfo_get0_algs(info, &key, nil, nil, nil)
        return unsafe key.map { unsafe EVP_PKEY_missing_parameters($0) == 0 } ?? false
    }

    /// Returns the reason why the signature does not reach the security level; nil if it does.
    ///
    /// - Parameters:
    ///   - publicKey: The key in the signer's certificate.
    ///   - level: One of OpenSSL's security levels (SSL_CTX_set_security_level(3)).
    func weakness(_ publicKey: PublicKey, below level: Int) -> String? {
        guard level > 0 else { return nil }
        let required = [80, 112, 128, 192, 256][min(level, 5) - 1]
        var key: OpaquePointer?
        var digest: UnsafeMutablePointer<X509_ALGOR>?
        unsafe CMS_SignerInfo_get0_algs(info, &key, nil, &digest, nil)
        var object: OpaquePointer?
        unsafe X509_ALGOR_get0(&object, nil, nil, digest)
        let identifier = unsafe OBJ_obj2nid(object)
        if Self.strength(ofDigest: identifier) < required {
            let name = unsafe OBJ_nid2sn(identifier).map { unsafe String(cString: $0) } ?? "unknown"
            return "its digest algorithm is \(name)"
        }
        if publicKey.hasWeakRSAExponent {
            return "the exponent of the signer\u{2019}s key is even or less than 65,537"
        }
        guard let key = unsafe key, unsafe EVP_PKEY_get_security_bits(key) >= required else {
            return "the signer\u{2019}s \(publicKey.type.name) key has only \(publicKey.bits) bits"
        }
        return nil
    }

    /// Returns the collision resistance of a digest in bits, with the values of X509_get_signature_info(3); 0 for an
    /// unknown digest.
    private static func strength(ofDigest identifier: CInt) -> Int {
        switch identifier {
        case NID_md5: return 39
        case NID_sha1: return 63
        default:
            guard let digest = unsafe EVP_get_digestbyname(OBJ_nid2sn(identifier)) else { return 0 }
            return Int(unsafe EVP_MD_get_size(digest)) * 4
        }
    }
}
