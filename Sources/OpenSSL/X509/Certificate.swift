package import KeySharing
internal import COpenSSL
package import Foundation

/// An X.509 certificate (RFC 5280), parsed once into values, beside its exact bytes.
///
/// Anything that OpenSSL decodes is a certificate here, however wrong its contents are: a field that cannot
/// be read is empty, and ``defects`` says so. Nothing is verified; that is ``CertificateVerifier``'s work.
/// Copies share one immutable parse. Equality is equality of the DER.
package struct Certificate: Sendable {
    private let contents: CertificateContents

    /// Parses the DER of one certificate.
    ///
    /// - Throws: `malformed` with OpenSSL's whole error queue where OpenSSL cannot decode it,
    ///   `trailingBytes` where something follows it.
    package init(der: [UInt8]) throws(CertificateError) {
        contents = try CertificateContents(der)
    }

    /// The certificates of a PEM text in its order; blocks of other kinds and text round them are skipped.
    ///
    /// - Throws: `missing` where there is none, `malformed` or `trailingBytes` where one is damaged.
    package static func pem(_ text: [UInt8]) throws(CertificateError) -> [Certificate] {
        let blocks = try PEM.blocks(text, labelled: ["CERTIFICATE", "X509 CERTIFICATE"])
        guard !blocks.isEmpty else {
            throw CertificateError(.missing, "the text holds no certificate in PEM")
        }
        var certificates: [Certificate] = []
        for block in blocks { certificates.append(try Certificate(der: block.der)) }
        return certificates
    }

    /// The certificate as PEM, ending in a line feed.
    package var pem: String { PEM.text("CERTIFICATE", der) }

    /// The bytes it was parsed from.
    package var der: [UInt8] { contents.der }
    /// The SHA-256 of the DER, 32 octets.
    package var sha256: [UInt8] { contents.sha256 }
    /// The SHA-256 in upper-case hexadecimal: the label in keychains and lists.
    package var label: String { sha256.upperHex }

    /// The version as people count it: 3 for everything with extensions.
    package var version: Int { contents.version }
    /// The magnitude of the serial number, big-endian; zero is one octet. See ``isSerialNegative``.
    package var serialNumber: [UInt8] { contents.serialNumber }
    /// Whether the serial number is below zero, which RFC 5280 4.1.2.2 forbids.
    package var isSerialNegative: Bool { contents.isSerialNegative }
    /// The serial number in upper-case hexadecimal, two digits an octet; a minus sign before a negative one.
    package var serialHex: String { (isSerialNegative ? "-" : "") + serialNumber.upperHex }

    /// Whose key it certifies.
    package var subject: DistinguishedName { contents.subject }
    /// Who signed it.
    package var issuer: DistinguishedName { contents.issuer }
    /// The first moment of its validity; `Date.distantPast` where that is unreadable (see ``defects``).
    package var notBefore: Date { contents.notBefore }
    /// The last moment of its validity; `Date.distantPast` where that is unreadable, so that it has expired.
    package var notAfter: Date { contents.notAfter }
    /// The signature's algorithm as RFCs name it, such as `sha256WithRSAEncryption`, or dotted.
    package var signatureAlgorithm: String { contents.signatureAlgorithm }

    /// The key usage; nil where the extension is absent or unreadable.
    package var keyUsage: KeyUsage? { contents.keyUsage }
    /// The extended key usages as dotted object identifiers, in order; nil where the extension is absent.
    package var extendedKeyUsage: [String]? { contents.extendedKeyUsage }
    /// The certificate policies as dotted object identifiers, in order.
    package var policies: [String] { contents.policies }
    /// The subject's other names, in order; empty where the extension is absent or unreadable.
    package var subjectAlternativeNames: [GeneralName] { contents.subjectAlternativeNames }
    /// The subject key identifier.
    package var subjectKeyIdentifier: [UInt8]? { contents.subjectKeyIdentifier }
    /// The key identifier part of the authority key identifier.
    package var authorityKeyIdentifier: [UInt8]? { contents.authorityKeyIdentifier }
    /// Whether basic constraints say that the subject is a certificate authority.
    package var isCertificateAuthority: Bool { contents.isCertificateAuthority }
    /// The subject's public key.
    package var publicKey: PublicKey { contents.publicKey }

    /// What is wrong with the certificate, a sentence each; empty for a sound one.
    package var defects: [String] { contents.defects }

    /// Whether subject and issuer are the same name.
    package var isSelfIssued: Bool { subject == issuer }

    /// Whether `date` lies in the validity, both ends included.
    package func isValid(at date: Date) -> Bool {
        notBefore <= date && date <= notAfter
    }

    /// What one half of the certificate's key can do.
    package func capabilities(of half: KeyCapabilities.Half) -> KeyCapabilities {
        KeyCapabilities(half, type: publicKey.type, usage: keyUsage)
    }

    /// Every extension in order, with its encoded contents; parsed anew at each call.
    package var extensions: [CertificateExtension] {
        (try? unsafe withPointer { certificate in
            unsafe (0..<X509_get_ext_count(certificate)).map {
                unsafe CertificateExtension(reading: X509_get_ext(certificate, $0))
            }
        }) ?? []
    }

    /// The URLs of the issuer's status responders (RFC 5280 4.2.2.1), in order; parsed anew at each call.
    package var responderURLs: [String] {
        let urls = try? unsafe withPointer { certificate in
            let urls = unsafe X509_get1_ocsp(certificate)
            defer { unsafe X509_email_free(urls) }
            return unsafe OpenSSLASN1.elements(urls).map {
                unsafe String(cString: $0.assumingMemoryBound(to: CChar.self))
            }
        }
        OpenSSLError.discardQueue()
        return urls ?? []
    }

    /// A C certificate (`X509`) for the length of the call, parsed anew, in the standard library context; in
    /// one that loads no key where OpenSSL must not load this one, which no verification then passes.
    ///
    /// It is the callee's own: what OpenSSL caches in it reaches no other thread.
    func withPointer<Result>(
        _ body: (OpaquePointer) throws(CertificateError) -> Result
    ) throws(CertificateError) -> Result {
        let context = publicKey.isLoadable ? LibraryContext.standard : LibraryContext.withoutProviders
        var certificate = unsafe X509_new_ex(context.pointer, nil)
        defer { unsafe X509_free(certificate) }
        unsafe der.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            // The result is nil also where only an extension is invalid; then `certificate` still holds what
            // was decoded. Where decoding fails, OpenSSL frees it and sets it to nil.
            unsafe _ = d2i_X509(&certificate, &cursor, bytes.count)
        }
        guard let certificate = unsafe certificate else {
            throw .draining(.malformed, "decoding a certificate")
        }
        OpenSSLError.discardQueue()
        return unsafe try body(certificate)
    }
}

extension Certificate: Hashable {
    package static func == (left: Certificate, right: Certificate) -> Bool {
        left.contents === right.contents || left.der == right.der
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(sha256) }
}

extension Certificate: CustomStringConvertible {
    /// The subject and the serial number.
    package var description: String { "\(subject) (\(serialHex))" }
}
