internal import COpenSSL
package import Foundation

/// A certificate revocation list (RFC 5280 5): its bytes and the values that were parsed from them.
///
/// Nothing is verified. Two lists are equal if their bytes are.
package struct CertificateRevocationList: Sendable {
    /// One certificate on the list.
    package struct Entry: Sendable, Hashable {
        /// The magnitude of the certificate's serial number, big-endian.
        package let serialNumber: [UInt8]
        /// The date of the revocation; `Date.distantPast` if it cannot be read.
        package let date: Date
        /// The reason (RFC 5280 5.3.1), such as 1 for a compromised key; nil if the entry has no reason.
        package let reason: Int?
        /// The issuer of the certificate, for an entry of an indirect list (RFC 5280 5.3.3). Nil means the same issuer
        /// as the previous entry.
        package let issuer: DistinguishedName?

        /// Creates an entry that revokes the certificate with `serialNumber`.
        package init(
            serialNumber: [UInt8], date: Date, reason: Int? = nil, issuer: DistinguishedName? = nil
        ) {
            self.serialNumber = serialNumber
            self.date = date
            self.reason = reason
            self.issuer = issuer
        }
    }

    /// The DER that the list was parsed from.
    package let der: [UInt8]
    /// The signer of the list.
    package let issuer: DistinguishedName
    /// The time of issue; `Date.distantPast` if it cannot be read.
    package let thisUpdate: Date
    /// The time by which the next list is issued; nil if it is absent or cannot be read.
    package let nextUpdate: Date?
    /// The list number, big-endian; nil if the list has no number.
    package let number: [UInt8]?
    /// The signature's algorithm by OpenSSL's long name, or as a dotted object identifier.
    package let signatureAlgorithm: String
    /// The extensions of the list, in order, with their contents still encoded.
    package let extensions: [CertificateExtension]
    /// The revoked certificates, in the order of the list.
    package let entries: [Entry]

    /// Parses the DER of one list.
    ///
    /// - Throws: `malformed` with OpenSSL's whole error queue, `trailingBytes`.
    package init(der: [UInt8]) throws(CertificateError) {
        let list = unsafe try Self.decode(der)
        defer { unsafe X509_CRL_free(list) }
        self.der = der
        issuer = unsafe DistinguishedName(reading: X509_CRL_get_issuer(list))
        thisUpdate = unsafe OpenSSLASN1.date(X509_CRL_get0_lastUpdate(list)) ?? .distantPast
        nextUpdate = unsafe OpenSSLASN1.date(X509_CRL_get0_nextUpdate(list))
        number = unsafe X509_CRL_get_ext_d2i(list, NID_crl_number, nil, nil).map { number in
            let integer = unsafe number.assumingMemoryBound(to: ASN1_INTEGER.self)
            defer { unsafe ASN1_INTEGER_free(integer) }
            return unsafe OpenSSLASN1.octets(integer)
        }
        var algorithm: UnsafePointer<X509_ALGOR>?
        unsafe X509_CRL_get0_signature(list, nil, &algorithm)
        var object: OpaquePointer?
        unsafe X509_ALGOR_get0(&object, nil, nil, algorithm)
        signatureAlgorithm = unsafe ObjectIdentifierName.name(of: OpenSSLASN1.dotted(object))
        extensions = unsafe (0..<max(0, X509_CRL_get_ext_count(list))).map {
            unsafe CertificateExtension(reading: X509_CRL_get_ext(list, $0))
        }
        entries = unsafe OpenSSLASN1.elements(X509_CRL_get_REVOKED(list)).map {
            unsafe Entry(reading: OpaquePointer($0))
        }
        OpenSSLError.discardQueue()
    }

    /// The lists in a PEM text, in order. Other blocks, and text around blocks, are skipped.
    ///
    /// - Throws: `missing` if there is no list, `malformed` or `trailingBytes` if one is damaged.
    package static func pem(_ text: [UInt8]) throws(CertificateError) -> [CertificateRevocationList] {
        let blocks = try PEM.blocks(text, labelled: ["X509 CRL"])
        guard !blocks.isEmpty else {
            throw CertificateError(.missing, "the text contains no PEM revocation list")
        }
        var lists: [CertificateRevocationList] = []
        for block in blocks { lists.append(try CertificateRevocationList(der: block.der)) }
        return lists
    }

    /// The list as PEM, ending in a line feed.
    package var pem: String { PEM.text("X509 CRL", der) }

    /// A new C list (`X509_CRL`), which the caller owns.
    func makePointer() throws(CertificateError) -> OpaquePointer {
        unsafe try Self.decode(der)
    }

    private static func decode(_ der: [UInt8]) throws(CertificateError) -> OpaquePointer {
        unsafe try OpenSSLASN1.decode(der, as: "a revocation list") {
            unsafe d2i_X509_CRL(nil, $0, $1)
        } free: {
            unsafe X509_CRL_free($0)
        }
    }
}

extension CertificateRevocationList: Hashable {
    package static func == (left: CertificateRevocationList, right: CertificateRevocationList) -> Bool {
        left.der == right.der
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(der) }
}

extension CertificateRevocationList.Entry {
    fileprivate init(reading entry: OpaquePointer) {
        serialNumber = unsafe OpenSSLASN1.octets(X509_REVOKED_get0_serialNumber(entry))
        date = unsafe OpenSSLASN1.date(X509_REVOKED_get0_revocationDate(entry)) ?? .distantPast
        reason = unsafe X509_REVOKED_get_ext_d2i(entry, NID_crl_reason, nil, nil).map { reason in
            let code = unsafe reason.assumingMemoryBound(to: ASN1_ENUMERATED.self)
            defer { unsafe ASN1_ENUMERATED_free(code) }
            return unsafe ASN1_ENUMERATED_get(code)
        }
        issuer = unsafe X509_REVOKED_get_ext_d2i(entry, NID_certificate_issuer, nil, nil).flatMap { names in
            let names = OpaquePointer(names)
            defer { unsafe GENERAL_NAMES_free(names) }
            return unsafe DistributionPoint.directoryNames(names).first
        }
    }

    /// A new C entry (`X509_REVOKED`), which the caller owns.
    fileprivate func makePointer() throws(CertificateError) -> OpaquePointer {
        let serial = unsafe try OpenSSLASN1.integer(serialNumber)
        defer { unsafe ASN1_INTEGER_free(serial) }
        let time = unsafe try OpenSSLASN1.time(date)
        defer { unsafe ASN1_TIME_free(time) }
        guard let entry = unsafe X509_REVOKED_new() else {
            throw .draining(.unencodable, "writing a revocation")
        }
        unsafe X509_REVOKED_set_serialNumber(entry, serial)
        unsafe X509_REVOKED_set_revocationDate(entry, time)
        if let reason {
            let code = unsafe ASN1_ENUMERATED_new()
            defer { unsafe ASN1_ENUMERATED_free(code) }
            unsafe ASN1_ENUMERATED_set(code, reason)
            unsafe X509_REVOKED_add1_ext_i2d(entry, NID_crl_reason, code, 0, 0)
        }
        guard let issuer else { return unsafe entry }
        let names = unsafe try [GeneralName.directoryName(issuer)].makePointer()
        defer { unsafe GENERAL_NAMES_free(names) }
        unsafe X509_REVOKED_add1_ext_i2d(
            entry, NID_certificate_issuer, UnsafeMutableRawPointer(names), 1, 0)
        return unsafe entry
    }
}

extension CertificateIssuer {
    /// Signs a list of revoked certificates.
    ///
    /// - Parameters:
    ///   - entries: The entries. The list is sorted by serial number.
    ///   - thisUpdate: The time of issue. Fractions of a second are dropped.
    ///   - nextUpdate: The time by which the next list is issued; nil omits the field.
    ///   - number: The list number, big-endian.
    ///   - extensions: Further extensions, which are written after the standard ones.
    ///   - digest: The digest of the signature; nil for the key's standard digest.
    ///   - seed: The seed of a reproducible signature; nil for a random one.
    /// - Returns: The signed list.
    /// - Throws: `unencodable`, `unsignable`.
    package func revocationList(
        _ entries: [CertificateRevocationList.Entry], thisUpdate: Date, nextUpdate: Date?, number: [UInt8],
        extensions: [CertificateExtension] = [], digest: SignatureDigest? = nil, seed: Seed? = nil
    ) throws(CertificateError) -> CertificateRevocationList {
        guard let context = try? LibraryContext.drawing(from: seed),
            let list = unsafe X509_CRL_new_ex(context.pointer, nil)
        else {
            throw .draining(.unsignable, "creating a revocation list")
        }
        defer { unsafe X509_CRL_free(list) }
        unsafe X509_CRL_set_version(list, CLong(X509_CRL_VERSION_2))
        unsafe try certificate.subject.withPointer { (name: OpaquePointer) throws(CertificateError) in
            unsafe _ = X509_CRL_set_issuer_name(list, name)
        }
        let made = unsafe try OpenSSLASN1.time(thisUpdate)
        defer { unsafe ASN1_TIME_free(made) }
        unsafe X509_CRL_set1_lastUpdate(list, made)
        if let nextUpdate {
            let due = unsafe try OpenSSLASN1.time(nextUpdate)
            defer { unsafe ASN1_TIME_free(due) }
            unsafe X509_CRL_set1_nextUpdate(list, due)
        }
        for entry in entries { unsafe X509_CRL_add0_revoked(list, try entry.makePointer()) }
        unsafe X509_CRL_sort(list)

        let encoded = EncodedExtensions()
        try encoded.addAuthorityKeyIdentifier(
            certificate.subjectKeyIdentifier ?? certificate.publicKey.keyIdentifier)
        let integer = unsafe try OpenSSLASN1.integer(number)
        defer { unsafe ASN1_INTEGER_free(integer) }
        unsafe try encoded.add(NID_crl_number, isCritical: false, integer)
        for item in extensions { try encoded.add(item) }
        let added = unsafe encoded.pointers.allSatisfy { unsafe X509_CRL_add_ext(list, $0, -1) == 1 }
        guard added else { throw .draining(.unencodable, "adding an extension") }

        let digest = digest ?? .standard(for: privateKey.type)
        let signed = unsafe privateKey.withPointer { unsafe X509_CRL_sign(list, $0, digest?.pointer) }
        guard signed > 0 else { throw .draining(.unsignable, "signing a revocation list") }
        return try CertificateRevocationList(
            der: unsafe OpenSSLASN1.der(list) { unsafe i2d_X509_CRL($0, $1) })
    }
}
