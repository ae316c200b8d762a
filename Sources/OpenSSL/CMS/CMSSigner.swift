internal import COpenSSL
internal import Foundation
internal import StandardExtensions
internal import SwiftASN1

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

    /// Returns the signer's certificate; nil until `CMS_set1_signers_certs` has found it.
    ///
    /// - Parameter certificates: The certificates of the same message.
    /// - Throws: `CertificateError` for a certificate that cannot be read.
    func certificate(
        in certificates: inout MessageCertificates
    ) throws(CertificateError) -> Certificate? {
        guard let pointer = unsafe certificatePointer else { return nil }
        return unsafe try certificates.certificate(pointer)
    }

    /// Whether `CMS_set1_signers_certs` has found the signer's certificate.
    var hasCertificate: Bool { unsafe certificatePointer != nil }

    /// The signer's certificate, which the message owns.
    private var certificatePointer: OpaquePointer? {
        var certificate: OpaquePointer?
        unsafe CMS_SignerInfo_get0_algs(info, nil, &certificate, nil, nil)
        return unsafe certificate
    }

    /// The name of the signer's certificate in the message: the serial number and issuer, or the key identifier in
    /// hexadecimal (SignerIdentifier).
    var signerName: String {
        var identifier: UnsafeMutablePointer<ASN1_OCTET_STRING>?
        var issuer: OpaquePointer?
        var serial: UnsafeMutablePointer<ASN1_INTEGER>?
        unsafe CMS_SignerInfo_get0_signer_id(info, &identifier, &issuer, &serial)
        if let serial = unsafe serial, let issuer = unsafe issuer {
            return unsafe "\(OpenSSLASN1.serialHex(serial)) (issued by \(DistinguishedName(reading: issuer)))"
        }
        return unsafe identifier.map { unsafe OpenSSLASN1.octets($0).upperHex } ?? "an unnamed signer"
    }

    /// The names of the digest and of the signature algorithm.
    var algorithms: (digest: String, signature: String) {
        let identifiers = algorithmIdentifiers
        return (
            ObjectIdentifierName.name(of: identifiers.digest),
            ObjectIdentifierName.name(of: identifiers.signature)
        )
    }

    /// The dotted object identifiers of the digest and of the signature algorithm.
    var algorithmIdentifiers: (digest: String, signature: String) {
        var digest: UnsafeMutablePointer<X509_ALGOR>?
        var signature: UnsafeMutablePointer<X509_ALGOR>?
        unsafe CMS_SignerInfo_get0_algs(info, nil, nil, &digest, &signature)
        return unsafe (Self.identifier(digest), Self.identifier(signature))
    }

    private static func identifier(_ algorithm: UnsafePointer<X509_ALGOR>?) -> String {
        var object: OpaquePointer?
        unsafe X509_ALGOR_get0(&object, nil, nil, algorithm)
        return unsafe OpenSSLASN1.dotted(object)
    }

    /// Whether the signingTime attribute is a GeneralizedTime.
    var hasGeneralizedSigningTime: Bool {
        unsafe attribute(NID_pkcs9_signingTime, V_ASN1_GENERALIZEDTIME) != nil
    }

    /// The time in the signingTime attribute (RFC 5652, 11.3), which the signer claims; nil if it is absent or cannot
    /// be read.
    ///
    /// The time must be DER: `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`. OpenSSL would also accept a time without seconds,
    /// with a fraction, or with an offset.
    var signingTime: Date? {
        for (type, length) in [(V_ASN1_UTCTIME, 13), (V_ASN1_GENERALIZEDTIME, 15)] {
            guard let time = unsafe attribute(NID_pkcs9_signingTime, type) else { continue }
            let text = unsafe OpenSSLASN1.octets(time.assumingMemoryBound(to: ASN1_STRING.self))
            let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
            guard text.count == length, text.last == UInt8(ascii: "Z"),
                text.dropLast().allSatisfy({ digits.contains($0) })
            else { return nil }
            return unsafe OpenSSLASN1.date(time.assumingMemoryBound(to: ASN1_TIME.self))
        }
        return nil
    }

    /// Whether the signature contains the signingTime attribute, even if it cannot be read.
    var hasSigningTime: Bool { unsafe CMS_signed_get_attr_by_NID(info, NID_pkcs9_signingTime, -1) >= 0 }

    /// The algorithms in the SMIMECapabilities attribute (RFC 8551, 2.5.2), in order; empty if it is absent.
    var capabilities: [String] {
        guard let value = unsafe attribute(NID_SMIMECapabilities, V_ASN1_SEQUENCE) else { return [] }
        let der = unsafe OpenSSLASN1.octets(value.assumingMemoryBound(to: ASN1_STRING.self))
        let decoded = try? unsafe OpenSSLASN1.decode(der, as: "capabilities") {
            unsafe d2i_X509_ALGORS(nil, $0, $1)
        } free: {
            unsafe OPENSSL_sk_pop_free($0) {
                unsafe X509_ALGOR_free($0?.assumingMemoryBound(to: X509_ALGOR.self))
            }
        }
        defer { OpenSSLError.discardQueue() }
        guard let list = unsafe decoded else { return [] }
        defer {
            unsafe OPENSSL_sk_pop_free(list) {
                unsafe X509_ALGOR_free($0?.assumingMemoryBound(to: X509_ALGOR.self))
            }
        }
        return unsafe OpenSSLASN1.elements(list).map {
            ObjectIdentifierName.name(
                of: unsafe Self.identifier($0.assumingMemoryBound(to: X509_ALGOR.self)))
        }
    }

    /// Whether the signature covers attributes such as the signing time (RFC 5652, 5.4).
    var hasSignedAttributes: Bool { unsafe CMS_signed_get_attr_count(info) >= 0 }

    /// The first value of a signed attribute, if it has this ASN.1 type. The message owns it.
    private func attribute(_ identifier: CInt, _ type: CInt) -> UnsafeMutableRawPointer? {
        let place = unsafe CMS_signed_get_attr_by_NID(info, identifier, -1)
        guard place >= 0, let attribute = unsafe CMS_signed_get_attr(info, place) else { return nil }
        defer { OpenSSLError.discardQueue() }
        return unsafe X509_ATTRIBUTE_get0_data(attribute, 0, type, nil)
    }

    /// Returns whether the signature matches the attributes and the content.
    ///
    /// - Parameter digests: The chain of digests through which the content was read (CMS_dataInit(3)).
    func verify(_ digests: OpaquePointer) -> Bool {
        if hasSignedAttributes, unsafe CMS_SignerInfo_verify(info) != 1 { return false }
        return unsafe CMS_SignerInfo_verify_content(info, digests) == 1
    }

    /// Returns the reason why the signed attributes do not fit the content or the signer's certificate, as a clause that
    /// begins with its subject; nil if they do. OpenSSL does not check this.
    ///
    /// The signature covers the content type only through the content-type attribute, so an attacker could change the
    /// type of a message without it.
    ///
    /// - Parameter contentType: The type of the content (eContentType, RFC 5652, 5.2).
    func attributeDefect(contentType: OpaquePointer?) -> String? {
        guard hasSignedAttributes else {
            return unsafe OBJ_obj2nid(contentType) == NID_pkcs7_data
                ? nil : "content of this type requires signed attributes (RFC 5652, 5.3)"
        }
        let attribute = unsafe attribute(NID_pkcs9_contentType, V_ASN1_OBJECT).map { OpaquePointer($0) }
        guard let attribute = unsafe attribute, unsafe OBJ_cmp(attribute, contentType) == 0 else {
            return "the content-type attribute does not match the type of the content (RFC 5652, 11.1)"
        }
        // Another type, such as a time stamp or a receipt, is not the body of a message, although its signature matches.
        guard unsafe OBJ_obj2nid(contentType) == NID_pkcs7_data else {
            let name = ObjectIdentifierName.name(of: unsafe OpenSSLASN1.dotted(contentType))
            return "the content has the type \(name) instead of id-data (RFC 8551, 2.4.1)"
        }
        return signingCertificateDefect
    }

    /// Returns the reason why an attribute signingCertificate or signingCertificateV2 (RFC 5035, 3) does not identify the
    /// signer's certificate, as a clause that begins with its subject; nil if both do, or are absent.
    ///
    /// The signature does not cover the certificates in the message, so another certificate for the same key could
    /// replace the signer's. `CMS_verify` checks these attributes only with `CMS_CADES`.
    private var signingCertificateDefect: String? {
        defer { OpenSSLError.discardQueue() }
        let attributes = [
            ("signingCertificate", NID_id_smime_aa_signingCertificate),
            ("signingCertificateV2", NID_id_smime_aa_signingCertificateV2),
        ]
        for (name, identifier) in attributes {
            guard unsafe CMS_signed_get_attr_by_NID(info, identifier, -1) >= 0 else { continue }
            // -3: neither a second attribute nor a second value is allowed (RFC 5035, 5.3 and 5.4).
            let value = unsafe CMS_signed_get0_data_by_OBJ(info, OBJ_nid2obj(identifier), -3, V_ASN1_SEQUENCE)
            guard let value = unsafe value,
                let matches = isSignerFirst(
                    unsafe OpenSSLASN1.octets(value.assumingMemoryBound(to: ASN1_STRING.self)), identifier)
            else { return "the attribute \(name) cannot be read (RFC 5035, 5)" }
            if !matches { return "the attribute \(name) identifies another certificate (RFC 5035, 3)" }
        }
        return nil
    }

    /// Whether the first entry of a SigningCertificate or SigningCertificateV2 identifies the signer's certificate; nil if
    /// it cannot be read. The other entries restrict the path, and their certificates may be missing.
    private func isSignerFirst(_ der: [UInt8], _ identifier: CInt) -> Bool? {
        guard let first = DERElement(der)?.children.first?.children.first else { return nil }
        var serializer = DER.Serializer()
        serializer.appendConstructedNode(identifier: .sequence) { serializer in
            serializer.appendConstructedNode(identifier: .sequence) { $0.serializeRawBytes(first.encoded) }
        }
        let bytes = serializer.serializedBytes
        var certificate: OpaquePointer?
        unsafe CMS_SignerInfo_get0_algs(info, nil, &certificate, nil, nil)
        let chain = unsafe OPENSSL_sk_new_null()
        defer { unsafe OPENSSL_sk_free(chain) }
        unsafe OPENSSL_sk_push(chain, UnsafeRawPointer(certificate))
        let isFirstVersion = identifier == NID_id_smime_aa_signingCertificate
        let free: (OpaquePointer?) -> Void = {
            if isFirstVersion {
                unsafe ESS_SIGNING_CERT_free($0)
            } else {
                unsafe ESS_SIGNING_CERT_V2_free($0)
            }
        }
        let value = try? unsafe OpenSSLASN1.decode(bytes, as: "an attribute") {
            unsafe isFirstVersion ? d2i_ESS_SIGNING_CERT(nil, $0, $1) : d2i_ESS_SIGNING_CERT_V2(nil, $0, $1)
        } free: {
            unsafe free($0)
        }
        guard let value = unsafe value else { return nil }
        defer { unsafe free(value) }
        return unsafe OSSL_ESS_check_signing_certs(
            isFirstVersion ? value : nil, isFirstVersion ? nil : value, chain, 1) == 1
    }

    /// Whether OpenSSL implements the digest.
    var hasKnownDigest: Bool {
        var digest: UnsafeMutablePointer<X509_ALGOR>?
        unsafe CMS_SignerInfo_get0_algs(info, nil, nil, &digest, nil)
        var object: OpaquePointer?
        unsafe X509_ALGOR_get0(&object, nil, nil, digest)
        return unsafe EVP_get_digestbyname(OBJ_nid2sn(OBJ_obj2nid(object))) != nil
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
        let required = DigestStrength.bits(requiredAt: level)
        var key: OpaquePointer?
        var digest: UnsafeMutablePointer<X509_ALGOR>?
        unsafe CMS_SignerInfo_get0_algs(info, &key, nil, &digest, nil)
        var object: OpaquePointer?
        unsafe X509_ALGOR_get0(&object, nil, nil, digest)
        let identifier = unsafe OBJ_obj2nid(object)
        if DigestStrength.bits(of: identifier) < required {
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
}
