internal import COpenSSL
package import Foundation

/// A signed message, SignedData (RFC 5652, 5), whose signatures can be verified.
///
/// Signers' certificates are not validated here; `CertificateVerifier` does that.
package struct CMSSignature: Sendable {
    /// OpenSSL's security level below which a signature counts as weak. Level 2 requires 112 bits of security, and so
    /// excludes MD5, SHA-1, and RSA keys below 2,048 bits. The `verify` command requires it of certificates by default.
    package static let securityLevel = 2

    /// The certificates in the order of the message. They need not belong to signers.
    package let certificates: [Certificate]
    /// The revocation lists in the order of the message. Lists that cannot be read are omitted.
    package let lists: [EncodedRevocationList]
    let structure: CMSStructure

    /// Reads the certificates of a signed message. Nothing is verified.
    ///
    /// - Throws: `CMSError`: `.malformed`, also for a message that is not signed; `.overLimit` for too many signatures;
    ///   `CertificateError` for a certificate that cannot be read, or whose key is too costly to use.
    package init(_ structure: CMSStructure) throws {
        guard structure.kind == .signedData else { throw CMSError(.malformed, "the message is not signed") }
        self.structure = structure
        // OpenSSL loads no keys in this context, so a costly key cannot take long.
        (certificates, lists) = unsafe try structure.withMessage(in: .withoutProviders) { message in
            let signers = unsafe OpenSSLASN1.elements(CMS_get0_SignerInfos(message)).count
            guard signers > 0 else { throw CMSError(.malformed, "the message has no signature") }
            guard signers <= CMSLimits.signers else {
                throw CMSError(
                    .overLimit, "the message has \(signers) signatures; the limit is \(CMSLimits.signers)")
            }
            let held = unsafe CMS_get1_certs(message)
            defer { unsafe OPENSSL_sk_pop_free(held) { unsafe X509_free(OpaquePointer($0)) } }
            let certificates = unsafe try OpenSSLASN1.elements(held).map {
                let der = unsafe OpenSSLASN1.der(OpaquePointer($0)) { unsafe i2d_X509($0, $1) }
                let certificate = try Certificate(der: der)
                guard certificate.publicKey.isLoadable else {
                    throw CertificateError(
                        .costlyKey(oid: ""),
                        "the key of \(certificate) is rejected: operations with a key this large could take too long"
                    )
                }
                return certificate
            }
            let lists = unsafe Self.encodedLists(in: message).compactMap {
                try? EncodedRevocationList(der: $0)
            }
            return (certificates, lists)
        }
    }

    /// The revocation lists of a decoded message in DER.
    static func encodedLists(in message: OpaquePointer) -> [[UInt8]] {
        let lists = unsafe CMS_get1_crls(message)
        defer {
            unsafe OPENSSL_sk_pop_free(lists) { unsafe X509_CRL_free(OpaquePointer($0)) }
            OpenSSLError.discardQueue()
        }
        return unsafe OpenSSLASN1.elements(lists).map {
            unsafe OpenSSLASN1.der(OpaquePointer($0)) { unsafe i2d_X509_CRL($0, $1) }
        }
    }

    /// Verifies every signature over the content in `file`.
    ///
    /// - Parameter file: The signed content: an open file, which is read from its current position to its end.
    /// - Returns: One signer for each signature. ``CMSSigner/weakness`` is set if the signature is below
    ///   ``securityLevel``.
    /// - Throws: `CMSError`: `.invalidSignature` if a signature does not match, its signed attributes do not fit the
    ///   content or the certificate, or its certificate is not in the message; `.unsupported` if a signer's key cannot be
    ///   used.
    package func verify(_ file: CInt) throws -> [CMSSigner] { try Self.signers(try examine(file)) }

    /// Returns the signers, if every signature verifies.
    ///
    /// - Throws: `CMSError`, as ``verify(_:)`` does, for the first signature that does not verify.
    package static func signers(_ reports: [CMSSignerReport]) throws(CMSError) -> [CMSSigner] {
        if let missing = reports.first(where: { $0.outcome == .missingCertificate }) {
            throw CMSError(
                .invalidSignature, "the message does not contain the signer's certificate",
                cause: missing.cause
            )
        }
        for report in reports {
            if case .unsupported(let reason) = report.outcome {
                throw CMSError(
                    .unsupported(oid: report.certificate?.publicKey.type == .dsa ? OID.dsa : ""),
                    "the signature was not verified because \(reason)", cause: report.cause)
            }
        }
        if let wrong = reports.first(where: { $0.outcome == .mismatch }) {
            throw CMSError(
                .invalidSignature,
                "the signature does not match: the message was altered after it was signed",
                cause: wrong.cause)
        }
        for case .unsuitableAttributes(let reason) in reports.map(\.outcome) {
            throw CMSError(.invalidSignature, "the signature is not accepted because \(reason)")
        }
        return reports.compactMap { report in
            report.certificate.map { CMSSigner($0, weakness: report.weakness) }
        }
    }

    /// Whether keys of this type can sign messages. OpenSSL 3.0 does not support EdDSA for messages (RFC 8419).
    package static func isSupported(_ type: KeyType) -> Bool {
        switch type {
        case .rsa, .ec, .dsa: true
        case .ed25519, .ed448, .x25519, .x448, .other: false
        }
    }

    /// Creates a detached signature of a content.
    ///
    /// - Parameters:
    ///   - file: The content: an open file, which is read from its current position to its end.
    ///   - certificate: The signer's certificate, which is included in the message.
    ///   - key: The private key of the certificate.
    ///   - chain: Further certificates to include in the message.
    ///   - signingTime: The time that the signature claims (RFC 5652, 11.3); nil for the current time.
    ///   - seed: The seed of a reproducible test signature, from which the private key can be computed; nil for
    ///     OpenSSL's random source.
    /// - Returns: The message in DER. Its digest algorithm is SHA-256.
    /// - Throws: `CMSError`: `.unsuitableKey` if the key cannot sign messages or does not match the certificate,
    ///   `.unmakable` if OpenSSL cannot create the message; `CertificateError`; any error of the holder of an external
    ///   key.
    package static func sign(
        _ file: CInt, as certificate: Certificate, with key: PrivateKey, chain: [Certificate] = [],
        signingTime: Date? = nil, seed: Seed? = nil
    ) throws -> [UInt8] {
        let type = certificate.publicKey.type
        guard isSupported(type) else {
            throw CMSError(
                .unsuitableKey,
                "the key of \(certificate) cannot sign messages: keys of type \(type.name) are not supported"
            )
        }
        let flags = UInt32(CMS_PARTIAL | CMS_DETACHED | CMS_BINARY)
        let context = try LibraryContext.drawing(from: seed)
        guard let message = unsafe CMS_sign_ex(nil, nil, nil, nil, flags, context.pointer, nil) else {
            throw CMSError.draining(.unmakable, "creating a signed message")
        }
        defer { unsafe CMS_ContentInfo_free(message) }
        let time = unsafe try signingTime.map { (date) throws(CertificateError) in
            unsafe try OpenSSLASN1.time(date)
        }
        defer { unsafe ASN1_TIME_free(time) }
        unsafe try certificate.withPointer { (pointer) throws(CertificateError) -> Result<Void, CMSError> in
            let signer = unsafe key.withPointer { key in
                unsafe CMS_add1_signer(message, pointer, key, EVP_sha256(), flags)
            }
            guard let signer = unsafe signer else {
                return .failure(.draining(.unsuitableKey, "the key of \(certificate) cannot sign messages"))
            }
            guard unsafe add(time, to: signer) else {
                return .failure(.draining(.unmakable, "adding the signing time to a message"))
            }
            return .success(())
        }.get()
        for other in chain where other != certificate {
            unsafe try other.withPointer { (pointer) throws(CertificateError) in
                guard unsafe CMS_add1_cert(message, pointer) == 1 else {
                    throw .draining(.unencodable, "adding a certificate to a message")
                }
            }
        }
        let input = unsafe BIO_new_fd(file, BIO_NOCLOSE)
        defer { unsafe BIO_free(input) }
        let isSigned = try PrivateKey.rethrowingExternalErrors {
            unsafe CMS_final(message, input, nil, flags) == 1
        }
        guard isSigned else { throw CMSError.draining(.unmakable, "signing a message") }
        return unsafe OpenSSLASN1.der(message) { unsafe i2d_CMS_ContentInfo($0, $1) }
    }

    /// Adds a signing time to a signature that is not complete. Without one, OpenSSL adds the current time when it
    /// signs.
    private static func add(
        _ time: UnsafeMutablePointer<ASN1_TIME>?, to signer: OpaquePointer
    ) -> Bool {
        guard let time = unsafe time else { return true }
        return unsafe CMS_signed_add1_attr_by_NID(
            signer, NID_pkcs9_signingTime, time.pointee.type, time, -1) == 1
    }
}
