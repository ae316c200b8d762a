internal import COpenSSL
package import Foundation

/// The algorithms, recipients and signers that a message names. Nothing is decrypted or verified.
package struct CMSDescription: Sendable {
    /// One signature (SignerInfo, RFC 5652, 5.3).
    package struct Signer: Sendable {
        /// The signer's certificate; nil if it is not in the message.
        package var certificate: Certificate?
        /// The serial number and issuer of the certificate, or its key identifier, as in the message.
        package var name: String
        /// The digest, as a dotted object identifier.
        package var digest: String
        /// The name of the digest, such as `sha256`.
        package var digestName: String
        /// The signature algorithm, as a dotted object identifier.
        package var signatureAlgorithm: String
        /// The name of the signature algorithm, such as `rsassaPss`.
        package var signatureAlgorithmName: String
        /// The time at which the signer claims to have signed; nil if the signature contains none.
        package var signingTime: Date?
        /// Whether the time is encoded as GeneralizedTime.
        package var hasGeneralizedSigningTime: Bool
        /// The names of the algorithms that the signer claims to support (SMIMECapabilities), in order of preference.
        package var capabilities: [String]
        /// Whether the signature covers attributes.
        package var hasSignedAttributes: Bool

        fileprivate init(_ info: CMSSignerInfo, _ certificates: inout MessageCertificates) {
            certificate = try? info.certificate(in: &certificates)
            name = info.signerName
            (digest, signatureAlgorithm) = info.algorithmIdentifiers
            (digestName, signatureAlgorithmName) = info.algorithms
            signingTime = info.signingTime
            hasGeneralizedSigningTime = info.hasGeneralizedSigningTime
            capabilities = info.capabilities
            hasSignedAttributes = info.hasSignedAttributes
        }
    }

    /// The kind of the message.
    package var kind: CMSStructure.Kind
    /// The type of the content inside, as a dotted object identifier; empty if OpenSSL does not return it.
    package var contentType: String
    /// The name of ``contentType``.
    package var contentTypeName: String
    /// The cipher of the content, as a dotted object identifier; nil for a signed message.
    package var contentEncryption: String?
    /// The name of the cipher; nil for a signed message.
    package var contentEncryptionName: String?
    /// The recipients of an encrypted message, in order.
    package var recipients: [CMSRecipient]
    /// The signatures, in order.
    package var signers: [Signer]
    /// The certificates, in order. Certificates that cannot be read are omitted.
    package var certificates: [Certificate]
    /// The revocation lists in DER, in order.
    package var encodedLists: [[UInt8]]

    /// Whether decryption detects alterations of the content.
    package var isAuthenticated: Bool { kind == .authEnvelopedData }

    /// Creates the description of a message that was already parsed.
    ///
    /// - Throws: `CMSError`: `.malformed` if OpenSSL cannot decode the message, `.overLimit` for too many signatures.
    package init(_ structure: CMSStructure) throws {
        self = unsafe try structure.withMessage(in: .withoutProviders) { message in
            defer { OpenSSLError.discardQueue() }
            return unsafe try CMSDescription(structure, message)
        }
    }

    /// Parses a message in DER or BER, and creates its description.
    ///
    /// - Throws: `CMSError`, also `.unsupported` for a content type without a ``CMSStructure/Kind``.
    package init(der: [UInt8]) throws {
        try self.init(try CMSStructure(reading: ArraySource(der)) { _ in })
    }

    private init(_ structure: CMSStructure, _ message: OpaquePointer) throws {
        kind = structure.kind
        contentType = unsafe CMS_get0_eContentType(message).map { unsafe OpenSSLASN1.dotted($0) } ?? ""
        contentTypeName = ObjectIdentifierName.name(of: contentType)
        contentEncryption = structure.contentEncryption
        contentEncryptionName = structure.contentEncryption.map {
            ContentCipher(oid: $0)?.rawValue ?? ObjectIdentifierName.name(of: $0)
        }
        guard structure.kind == .signedData else {
            recipients = unsafe CMSRecipientKey.all(in: message, passwords: structure.passwordParameters)
                .map(\.recipient)
            (signers, certificates, encodedLists) = ([], [], [])
            return
        }
        recipients = []
        unsafe CMS_set1_signers_certs(message, nil, 0)
        let infos = unsafe CMSSignerInfo.all(in: message)
        guard infos.count <= CMSLimits.signers else {
            throw CMSError(
                .overLimit,
                "the message has \(infos.count) signatures; the limit is \(CMSLimits.signers)")
        }
        var decoded = MessageCertificates()
        signers = infos.map { Signer($0, &decoded) }
        let held = unsafe CMS_get1_certs(message)
        defer { unsafe OPENSSL_sk_pop_free(held) { unsafe X509_free(OpaquePointer($0)) } }
        certificates = unsafe OpenSSLASN1.elements(held).compactMap {
            try? unsafe decoded.certificate(OpaquePointer($0))
        }
        encodedLists = unsafe CMSSignature.encodedLists(in: message)
    }
}
