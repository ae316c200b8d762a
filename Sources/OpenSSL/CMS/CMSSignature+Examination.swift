internal import COpenSSL

extension CMSSignature {
    /// Verifies each signature over the content in `file` independently of the others.
    ///
    /// - Parameters:
    ///   - file: The signed content: an open file, which is read from its current position to its end.
    ///   - others: Further certificates, among which a signer is looked up if the message does not contain its
    ///     certificate.
    ///   - level: The security level that digest and key must reach.
    /// - Returns: One report for each signature, in the order of the message.
    /// - Throws: `CMSError.Code.malformed` if OpenSSL cannot decode the message; `CertificateError` for a certificate
    ///   that cannot be read.
    package func examine(
        _ file: CInt, accompaniedBy others: [Certificate] = [], securityLevel level: Int = securityLevel
    ) throws -> [CMSSignerReport] {
        unsafe try structure.withMessage(in: .standard) { message in
            unsafe CMS_set1_signers_certs(message, nil, 0)
            let signers = unsafe CMSSignerInfo.all(in: message)
            if !others.isEmpty, signers.contains(where: { !$0.hasCertificate }) {
                unsafe try Self.add(others, to: message)
            }
            let input = unsafe BIO_new_fd(file, BIO_NOCLOSE)
            defer { unsafe BIO_free(input) }
            let digests = unsafe CMS_dataInit(message, input)
            // Frees the digests that CMS_dataInit put before `input`, but not `input`.
            defer {
                var top: OpaquePointer? = unsafe digests
                while let filter = unsafe top, unsafe filter != input {
                    unsafe top = BIO_pop(filter)
                    unsafe BIO_free(filter)
                }
            }
            let errors = OpenSSLError.draining("reading a signed message")
            let failure = unsafe digests == nil ? errors : nil
            let isAttributes = SignedAttributeContent.isContent(of: file)
            if let digests = unsafe digests { unsafe Self.readAll(digests) }
            let contentType = unsafe CMS_get0_eContentType(message)
            var decoded = MessageCertificates(known: certificates + others)
            return try signers.map { signer in
                let mayMatch = !isAttributes || signer.hasSignedAttributes
                let certificate = try signer.certificate(in: &decoded)
                return unsafe Self.report(
                    on: signer, certificate, mayMatch ? digests : nil, failure,
                    declared: structure.digestAlgorithms,
                    contentType: contentType, securityLevel: level)
            }
        }
    }

    /// Reads the content to its end, which computes the digests.
    private static func readAll(_ digests: OpaquePointer) {
        unsafe withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { buffer in
            while unsafe BIO_read(digests, buffer.baseAddress, CInt(buffer.count)) > 0 {}
        }
        OpenSSLError.discardQueue()
    }

    private static func add(_ others: [Certificate], to message: OpaquePointer) throws {
        let stack = unsafe OPENSSL_sk_new_null()
        defer { unsafe OPENSSL_sk_pop_free(stack) { unsafe X509_free(OpaquePointer($0)) } }
        for other in others {
            unsafe OPENSSL_sk_push(stack, UnsafeRawPointer(try other.makePointer()))
        }
        unsafe CMS_set1_signers_certs(message, stack, 0)
    }

    private static func report(
        on signer: CMSSignerInfo, _ certificate: Certificate?, _ digests: OpaquePointer?,
        _ failure: OpenSSLError?, declared: Set<String>, contentType: OpaquePointer?, securityLevel: Int
    ) -> CMSSignerReport {
        let (digest, signature) = signer.algorithms
        var cause: OpenSSLError?
        var outcome = outcome(of: signer, certificate, digest)
        if outcome == .sound {
            if let digests = unsafe digests, unsafe signer.verify(digests) {
                outcome = .sound
            } else if !declared.contains(signer.algorithmIdentifiers.digest) {
                // OpenSSL computes only the digests that the message declares.
                outcome = .unsupported(
                    reason:
                        "the digest of the signer, \(digest), is missing from digestAlgorithms (RFC 5652, 5.1)"
                )
                cause = failure
            } else if let failure {
                outcome = .unsupported(
                    reason: "OpenSSL does not implement a digest that the message declares")
                cause = failure
            } else {
                outcome = .mismatch
            }
            let errors = OpenSSLError.draining("verifying a signature")
            if outcome != .sound { cause = cause ?? errors }
        }
        if outcome == .sound, let reason = unsafe signer.attributeDefect(contentType: contentType) {
            outcome = .unsuitableAttributes(reason: reason)
        }
        return CMSSignerReport(
            outcome: outcome, certificate: certificate, signerName: signer.signerName, digest: digest,
            signatureAlgorithm: signature, signingTime: signer.signingTime,
            hasSigningTime: signer.hasSigningTime, capabilities: signer.capabilities,
            hasSignedAttributes: signer.hasSignedAttributes,
            weakness: certificate.flatMap { signer.weakness($0.publicKey, below: securityLevel) },
            cause: cause)
    }

    /// The outcome as far as it does not depend on the content; ``CMSSignerReport/Outcome/sound`` if verification can
    /// begin.
    private static func outcome(
        of signer: CMSSignerInfo, _ certificate: Certificate?, _ digest: String
    ) -> CMSSignerReport.Outcome {
        guard let certificate else { return .missingCertificate }
        let type = certificate.publicKey.type
        if !mayVerify(type) {
            return .unsupported(
                reason: "OpenSSL 3.0 cannot verify messages signed with a key of type \(type.name)")
        }
        guard signer.hasUsableKey else {
            return .unsupported(
                reason: "the \(type.name) key of \(certificate) cannot be used"
                    + (type == .dsa ? ": its certificate does not contain the parameters" : ""))
        }
        guard signer.hasKnownDigest else {
            return .unsupported(reason: "OpenSSL does not implement the digest \(digest)")
        }
        return .sound
    }

    /// Whether messages that were signed with a key of this type may be verified. Other than for signing, keys that are
    /// restricted to RSA-PSS are suitable.
    private static func mayVerify(_ type: KeyType) -> Bool {
        switch type {
        case .rsa, .ec, .dsa: true
        case .other(let oid): oid == OID.rsaPSS
        case .ed25519, .ed448, .x25519, .x448: false
        }
    }
}
