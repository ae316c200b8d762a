package import KeySharing
internal import COpenSSL
package import Foundation
internal import StandardExtensions

/// An X.509 certificate (RFC 5280, 4): its bytes and the values that were parsed from them.
///
/// Anything that OpenSSL can decode is accepted, even if its contents are wrong. A field that cannot be read is empty
/// and listed in ``defects``. Nothing is verified; ``CertificateVerifier`` does that. Copies share the parsed values.
/// Two certificates are equal if their bytes are.
package struct Certificate: Sendable {
    private let contents: CertificateContents

    /// Parses the DER of one certificate.
    ///
    /// - Throws: `malformed` with OpenSSL's reasons if it cannot decode the bytes; `trailingBytes` if data follows
    ///   the certificate.
    package init(der: [UInt8]) throws(CertificateError) {
        contents = try CertificateContents(der)
    }

    /// The certificates in a PEM text, in order. Other blocks, and text around blocks, are skipped.
    ///
    /// - Throws: `missing` if there is no certificate, `malformed` or `trailingBytes` if one is damaged.
    package static func pem(_ text: [UInt8]) throws(CertificateError) -> [Certificate] {
        let blocks = try PEM.blocks(text, labelled: ["CERTIFICATE", "X509 CERTIFICATE"])
        guard !blocks.isEmpty else {
            throw CertificateError(.missing, "the text contains no PEM certificate")
        }
        var certificates: [Certificate] = []
        for block in blocks { certificates.append(try Certificate(der: block.der)) }
        return certificates
    }

    /// The certificate as PEM, ending in a line feed.
    package var pem: String { PEM.text("CERTIFICATE", der) }

    /// The DER that the certificate was parsed from.
    package var der: [UInt8] { contents.der }
    /// The SHA-256 of ``der``, 32 octets.
    package var sha256: [UInt8] { contents.sha256 }
    /// The name of the identity in keychains and lists: ``sha256`` in upper-case hexadecimal (docs/rules.md R3.11).
    package var label: String { sha256.upperHex }

    /// The version number: 3 for a certificate with extensions. The encoded value is one less (RFC 5280, 4.1.2.1).
    package var version: Int { contents.version }
    /// The magnitude of the serial number, big-endian; zero is one octet. ``isSerialNegative`` is the sign.
    package var serialNumber: [UInt8] { contents.serialNumber }
    /// Whether the serial number is negative, which RFC 5280, 4.1.2.2 forbids.
    package var isSerialNegative: Bool { contents.isSerialNegative }
    /// The serial number in upper-case hexadecimal, two digits for each octet, with a minus sign if it is negative
    /// (docs/rules.md R3.13).
    package var serialHex: String { (isSerialNegative ? "-" : "") + serialNumber.upperHex }

    /// The name of the holder of the key.
    package var subject: DistinguishedName { contents.subject }
    /// The name of the authority that signed the certificate.
    package var issuer: DistinguishedName { contents.issuer }
    /// The start of the validity period; `Date.distantPast` if it cannot be read.
    package var notBefore: Date { contents.notBefore }
    /// The last second of the validity period; `Date.distantPast` if it cannot be read, so that the certificate
    /// counts as expired.
    package var notAfter: Date { contents.notAfter }
    /// The signature's algorithm by OpenSSL's long name, such as `sha256WithRSAEncryption`, or as a dotted object
    /// identifier.
    package var signatureAlgorithm: String { contents.signatureAlgorithm }

    /// The key usage (RFC 5280, 4.2.1.3); nil if the extension is absent or cannot be read.
    package var keyUsage: KeyUsage? { contents.keyUsage }
    /// The extended key usages (RFC 5280, 4.2.1.12) as dotted object identifiers, in order; nil if the extension is
    /// absent or cannot be read.
    package var extendedKeyUsage: [String]? { contents.extendedKeyUsage }
    /// The certificate policies (RFC 5280, 4.2.1.4) as dotted object identifiers, in order; empty if the extension is
    /// absent or cannot be read.
    package var policies: [String] { contents.policies }
    /// The subject's alternative names (RFC 5280, 4.2.1.6), in order; empty if the extension is absent or cannot be
    /// read.
    package var subjectAlternativeNames: [GeneralName] { contents.subjectAlternativeNames }
    /// The subject key identifier (RFC 5280, 4.2.1.2); nil if the extension is absent or cannot be read.
    package var subjectKeyIdentifier: [UInt8]? { contents.subjectKeyIdentifier }
    /// The `keyIdentifier` in the authority key identifier (RFC 5280, 4.2.1.1); nil if it is absent or cannot be read.
    package var authorityKeyIdentifier: [UInt8]? { contents.authorityKeyIdentifier }
    /// Whether the subject is a certificate authority according to the basic constraints (RFC 5280, 4.2.1.9).
    package var isCertificateAuthority: Bool { contents.isCertificateAuthority }
    /// The subject's public key.
    package var publicKey: PublicKey { contents.publicKey }

    /// The defects of the certificate: one sentence for each field that cannot be read or has a forbidden value.
    package var defects: [String] { contents.defects }

    /// Whether the subject and the issuer are equal, as in a root certificate (RFC 5280, 3.2).
    package var isSelfIssued: Bool { subject == issuer }

    /// Whether the bytes have the outer structure of a certificate: a SEQUENCE that begins with a SEQUENCE. A PKCS #12
    /// file begins with a version instead. The contents may still be malformed.
    package static func isLikely(der: [UInt8]) -> Bool {
        var file = DERWalk(der)
        guard let outer = file.skip(V_ASN1_SEQUENCE) else { return false }
        var fields = DERWalk(der, in: outer.contents)
        return fields.skip(V_ASN1_SEQUENCE) != nil
    }

    /// Whether `date` is within the validity period, both ends included (RFC 5280, 4.1.2.5).
    package func isValid(at date: Date) -> Bool {
        // The validity period consists of whole seconds, including the last one (RFC 5280, 4.1.2.5).
        notBefore <= date && date.timeIntervalSince1970.rounded(.down) <= notAfter.timeIntervalSince1970
    }

    /// The operations that one half of the certificate's key permits, according to its type and the key usage.
    package func capabilities(of half: KeyCapabilities.Half) -> KeyCapabilities {
        KeyCapabilities(half, type: publicKey.type, usage: keyUsage)
    }

    /// All extensions, in order, with their contents still encoded. Each call parses the certificate again.
    package var extensions: [CertificateExtension] {
        (try? unsafe withFields { certificate in
            unsafe (0..<X509_get_ext_count(certificate)).map {
                unsafe CertificateExtension(reading: X509_get_ext(certificate, $0))
            }
        }) ?? []
    }

    /// The dotted types of the extensions that OpenSSL knows but cannot decode, in order. Each call parses the
    /// certificate again.
    package var undecodableExtensions: [String] {
        let types = try? unsafe withFields { certificate in
            unsafe (0..<X509_get_ext_count(certificate)).compactMap { index -> String? in
                let item = unsafe X509_get_ext(certificate, index)
                guard unsafe ExtensionDecoding(item) == .undecodable else { return nil }
                return unsafe OpenSSLASN1.dotted(X509_EXTENSION_get_object(item))
            }
        }
        OpenSSLError.discardQueue()
        return types ?? []
    }

    /// The URLs of the issuer's OCSP responders (RFC 5280, 4.2.2.1), in order and without duplicates, but at most
    /// ``mostAccessLocations``. Each call parses the certificate again.
    package var responderURLs: [String] {
        var seen: Set<String> = []
        return accessURLs(NID_ad_OCSP).filter { !$0.isEmpty && seen.insert($0).inserted }
    }

    /// The URLs of the issuer's certificates (caIssuers, RFC 5280, 4.2.2.1), in order, but at most
    /// ``mostAccessLocations``. Each call parses the certificate again.
    package var issuerURLs: [String] { accessURLs(NID_ad_ca_issuers) }

    /// The maximum number of URLs of responders, and of the issuer's certificates, that are read.
    package static let mostAccessLocations = 64

    /// The URLs with this access method in the authority information access.
    private func accessURLs(_ method: CInt) -> [String] {
        let urls = try? unsafe withFields { certificate -> [String] in
            guard let decoded = unsafe X509_get_ext_d2i(certificate, NID_info_access, nil, nil) else {
                return []
            }
            let descriptions = OpaquePointer(decoded)
            defer { unsafe AUTHORITY_INFO_ACCESS_free(descriptions) }
            let urls = unsafe OpenSSLASN1.elements(descriptions).lazy.compactMap { element -> String? in
                let description = unsafe element.assumingMemoryBound(to: ACCESS_DESCRIPTION.self).pointee
                guard unsafe OBJ_obj2nid(description.method) == method,
                    let location = unsafe description.location,
                    case .uniformResourceIdentifier(let url) = unsafe GeneralName(reading: location)
                else { return nil }
                return url
            }
            return unsafe Array(urls.prefix(Self.mostAccessLocations))
        }
        OpenSSLError.discardQueue()
        return urls ?? []
    }

    /// The SHA-256 of the part that the issuer signed, re-encoded. Unlike ``sha256``, it is the same for all encodings
    /// of the certificate with a correct signature. Each call parses the certificate again.
    package var signedPart: [UInt8] {
        let part = try? unsafe withFields { certificate in
            unsafe OpenSSLASN1.der(certificate) { unsafe i2d_re_X509_tbs($0, $1) }
        }
        return part.flatMap { $0.isEmpty ? nil : Digest.sha256($0) } ?? sha256
    }

    /// Calls `body` with a new C certificate (`X509`) and frees it afterwards. Only its fields can be read: its key is
    /// not loaded, and its extensions are not checked.
    func withFields<Result>(_ body: (OpaquePointer) -> Result) throws(CertificateError) -> Result {
        let certificate = unsafe try CertificateContents.decode(der)
        defer { unsafe X509_free(certificate) }
        OpenSSLError.discardQueue()
        return unsafe body(certificate)
    }

    /// Calls `body` with a new C certificate (`X509`) from ``makePointer()`` and frees it afterwards.
    ///
    /// The certificate is not shared, so OpenSSL's caches in it are never visible to another thread.
    func withPointer<Result>(
        _ body: (OpaquePointer) throws(CertificateError) -> Result
    ) throws(CertificateError) -> Result {
        let certificate = unsafe try makePointer()
        defer { unsafe X509_free(certificate) }
        return unsafe try body(certificate)
    }

    /// Parses the certificate into a new C certificate (`X509`), which the caller frees.
    ///
    /// It belongs to the standard library context. If OpenSSL must not load its key, it belongs to a context that loads
    /// no keys, and no verification of it succeeds.
    ///
    /// - Throws: `malformed` if OpenSSL cannot decode the certificate.
    func makePointer() throws(CertificateError) -> OpaquePointer {
        let context = publicKey.isLoadable ? LibraryContext.standard : LibraryContext.withoutProviders
        var certificate = unsafe X509_new_ex(context.pointer, nil)
        unsafe der.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            // The result is also nil if only an extension is invalid; `certificate` then still contains the decoded
            // fields. If decoding fails, OpenSSL frees it and sets it to nil.
            unsafe _ = d2i_X509(&certificate, &cursor, bytes.count)
        }
        guard let certificate = unsafe certificate else {
            throw .draining(.malformed, "decoding a certificate")
        }
        OpenSSLError.discardQueue()
        return unsafe certificate
    }
}

extension Certificate: Hashable {
    package static func == (left: Certificate, right: Certificate) -> Bool {
        left.contents === right.contents || left.der == right.der
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(sha256) }
}

extension Certificate: CustomStringConvertible {
    /// The subject, and the serial number in parentheses.
    package var description: String { "\(subject) (\(serialHex))" }
}
