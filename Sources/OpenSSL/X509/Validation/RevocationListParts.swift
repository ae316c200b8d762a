internal import COpenSSL
internal import Foundation

/// The parts of a revocation list's DER that surround its entries, and the position of the entries.
///
/// The structure must be as RFC 5280 5.1 and 5.2 define it. Three forms that the text of the RFC forbids to issuers
/// but its ASN.1 allows are accepted: a list without nextUpdate, a GeneralizedTime before 2050, and an empty sequence
/// of entries.
struct RevocationListParts {
    let issuer: DistinguishedName
    let thisUpdate: Date
    private(set) var nextUpdate: Date?
    private(set) var number: [UInt8]?
    private(set) var deltaBase: [UInt8]?
    private(set) var scope: EncodedRevocationList.Scope?
    private(set) var deltaURLs: [String] = []
    private(set) var keepsExpiredSince: Date?
    /// The digest of the signature (``DigestStrength``).
    let digest: CInt

    /// The position of the signed part.
    let signed: Range<Int>
    /// The positions of the signature's algorithm and the signature.
    private let algorithm: Range<Int>
    private let signature: Range<Int>
    /// The extensions of the list.
    private var extensions = FoundExtensions()
    /// Whether the list has version 2. Only such a list may have extensions.
    private let isVersion2: Bool
    /// The position of the entries; nil if the list has no entries.
    let entries: Range<Int>?

    /// Reads everything except the entries.
    ///
    /// - Throws: `malformed`, `trailingBytes`, `overLimit` for too many distribution points.
    init(_ der: [UInt8]) throws(CertificateError) {
        var file = DERWalk(der)
        guard let list = file.skip(V_ASN1_SEQUENCE) else { throw Self.malformed("it is not a SEQUENCE") }
        guard file.isAtEnd else {
            throw CertificateError(
                .trailingBytes, "\(der.count - list.whole.upperBound) bytes follow a revocation list")
        }
        var outer = DERWalk(der, in: list.contents)
        guard let signed = outer.skip(V_ASN1_SEQUENCE), let algorithm = outer.skip(V_ASN1_SEQUENCE),
            let signature = outer.skip(V_ASN1_BIT_STRING), outer.isAtEnd,
            // A signature with unused bits cannot be verified with any key. The verifier reports it.
            der[signature.contents].first.map({ $0 <= 7 }) == true
        else { throw Self.malformed("contents, algorithm or signature is missing") }
        self.signed = signed.whole
        self.algorithm = algorithm.whole
        self.signature = signature.whole

        var walk = DERWalk(der, in: signed.contents)
        let version = walk.skip(V_ASN1_INTEGER)
        if let version, der[version.contents] != [1] { throw Self.malformed("its version is not 2") }
        isVersion2 = version != nil
        guard let inner = walk.skip(V_ASN1_SEQUENCE), der[inner.whole] == der[algorithm.whole] else {
            throw Self.malformed("its two signature algorithms differ")
        }
        digest = try Self.digest(ofAlgorithm: Array(der[inner.whole]))
        guard let name = walk.skip(V_ASN1_SEQUENCE), !name.contents.isEmpty else {
            throw Self.malformed("it has no issuer")
        }
        issuer = try DistinguishedName(der: Array(der[name.whole]))
        guard let made = Self.time(&walk, der) else { throw Self.malformed("its thisUpdate is not a time") }
        thisUpdate = made
        nextUpdate = Self.time(&walk, der)
        entries = walk.skip(V_ASN1_SEQUENCE)?.contents
        if !walk.isAtEnd {
            guard let wrapped = walk.skip(0, class: V_ASN1_CONTEXT_SPECIFIC), walk.isAtEnd else {
                throw Self.malformed("an element is at the wrong position")
            }
            guard isVersion2 else { throw Self.malformed("it has extensions, but its version is not 2") }
            extensions = try Self.requireExtensions(der, wrapped.contents)
            try readExtensions(Array(der[wrapped.contents]))
        }
        OpenSSLError.discardQueue()
    }

    /// Checks the structure of every entry (RFC 5280 5.1.2.6, 5.3).
    ///
    /// - Throws: `malformed`, `overLimit` for too many issuers of an entry, or too many entries with one serial number.
    func requireEntries(in der: [UInt8]) throws(CertificateError) {
        guard let entries else { return }
        let isIndirect = scope?.isIndirect == true
        var counts: [ArraySlice<UInt8>: Int] = [:]
        var walk = DERWalk(der, in: entries)
        while !walk.isAtEnd {
            guard let entry = walk.skip(V_ASN1_SEQUENCE) else {
                throw Self.malformed("an entry is not a SEQUENCE")
            }
            var fields = DERWalk(der, in: entry.contents)
            guard let serial = fields.skip(V_ASN1_INTEGER), !serial.contents.isEmpty,
                Self.hasTime(&fields, der)
            else { throw Self.malformed("an entry has no serial number or no time") }
            if isIndirect {
                counts[der[serial.contents], default: 0] += 1
                guard counts[der[serial.contents], default: 0] <= EncodedRevocationList.mostEqualSerialNumbers
                else { throw Self.tooManyEntries }
            }
            if fields.isAtEnd { continue }
            guard isVersion2 else {
                throw Self.malformed("an entry has extensions, but the list's version is not 2")
            }
            let found = try Self.requireExtensions(der, fields.position..<entry.contents.upperBound)
            // RFC 5280 5.3.3 defines certificateIssuer only for indirect lists.
            guard isIndirect || !found.types.contains(Self.certificateIssuer) else {
                throw Self.malformed("an entry has an issuer, but the list is not indirect")
            }
        }
    }

    /// Whether the list or an entry has a critical extension that OpenSSL does not process. Such a list must not be used
    /// to determine that a certificate is not revoked (RFC 5280 5.2, 5.3). False if the entries are malformed.
    func hasUnknownCriticalExtension(in der: [UInt8]) -> Bool {
        // issuingDistributionPoint, authorityKeyIdentifier and deltaCRLIndicator.
        let known: Set<ArraySlice<UInt8>> = [[0x55, 0x1D, 0x1C], [0x55, 0x1D, 0x23], [0x55, 0x1D, 0x1B]]
        if !extensions.critical.isSubset(of: known) { return true }
        guard let entries else { return false }
        var walk = DERWalk(der, in: entries)
        while let entry = walk.skip(V_ASN1_SEQUENCE) {
            var fields = DERWalk(der, in: entry.contents)
            guard fields.skip(V_ASN1_INTEGER) != nil, Self.hasTime(&fields, der), !fields.isAtEnd,
                let found = try? Self.requireExtensions(der, fields.position..<entry.contents.upperBound)
            else { continue }
            if !found.critical.isSubset(of: [Self.certificateIssuer]) { return true }
        }
        return false
    }

    /// Whether a key (`EVP_PKEY`) created the signature of the list. The entries are not decoded.
    ///
    /// - Throws: `malformed` if the signature or its algorithm cannot be decoded.
    func isSigned(in der: [UInt8], by key: OpaquePointer?) throws(CertificateError) -> Bool {
        let contents = unsafe try OpenSSLASN1.decode(Array(der[signed]), as: "a revocation list's contents") {
            unsafe d2i_ASN1_TYPE(nil, $0, $1)
        } free: {
            unsafe ASN1_TYPE_free($0)
        }
        defer { unsafe ASN1_TYPE_free(contents) }
        let method = unsafe try Self.decodeAlgorithm(Array(der[algorithm]))
        defer { unsafe X509_ALGOR_free(method) }
        let bits = unsafe try OpenSSLASN1.decode(Array(der[signature]), as: "a revocation list's signature") {
            unsafe d2i_ASN1_BIT_STRING(nil, $0, $1)
        } free: {
            unsafe ASN1_BIT_STRING_free($0)
        }
        defer { unsafe ASN1_BIT_STRING_free(bits) }
        defer { OpenSSLError.discardQueue() }
        let context = LibraryContext.standard
        return unsafe ASN1_item_verify_ex(
            ASN1_ANY_it(), method, bits, contents, nil, key, context.pointer, nil) == 1
    }

    private static let tooManyNames = CertificateError(
        .overLimit,
        "a revocation list has more than \(DistributionPoint.mostNames) names in its distribution points")

    private static let tooManyIssuers = CertificateError(
        .overLimit,
        "an entry of a revocation list has more than \(EncodedRevocationList.mostEntryIssuers) issuers")

    private static let tooManyEntries = CertificateError(
        .overLimit,
        """
        an indirect revocation list has more than \(EncodedRevocationList.mostEqualSerialNumbers) entries with the same \
        serial number
        """)

    private static func malformed(_ reason: String) -> CertificateError {
        .draining(.malformed, "decoding a revocation list: \(reason)")
    }

    /// Decodes a signature algorithm, which the caller frees.
    private static func decodeAlgorithm(
        _ der: [UInt8]
    ) throws(CertificateError) -> UnsafeMutablePointer<X509_ALGOR> {
        unsafe try OpenSSLASN1.decode(der, as: "a revocation list's algorithm") {
            unsafe d2i_X509_ALGOR(nil, $0, $1)
        } free: {
            unsafe X509_ALGOR_free($0)
        }
    }

    private static func digest(ofAlgorithm der: [UInt8]) throws(CertificateError) -> CInt {
        let algorithm = unsafe try decodeAlgorithm(der)
        defer { unsafe X509_ALGOR_free(algorithm) }
        return unsafe DigestStrength.digest(of: algorithm)
    }

    // MARK: - Times

    /// Moves past a time in UTC with seconds, without fractions (RFC 5280 4.1.2.5). Returns nil if none is next.
    private static func skipTime(_ walk: inout DERWalk, _ der: [UInt8]) -> DERWalk.Element? {
        var ahead = walk
        let short = ahead.skip(V_ASN1_UTCTIME)
        guard let element = short ?? ahead.skip(V_ASN1_GENERALIZEDTIME) else { return nil }
        let text = der[element.contents]
        guard text.count == (short == nil ? 15 : 13), text.last == UInt8(ascii: "Z"),
            text.dropLast().allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        walk = ahead
        return element
    }

    /// Moves past a time and checks that it exists; the 30th of February does not.
    private static func time(_ walk: inout DERWalk, _ der: [UInt8]) -> Date? {
        var ahead = walk
        guard let element = skipTime(&ahead, der) else { return nil }
        let octets = Array(der[element.whole])
        let time = unsafe octets.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            return unsafe d2i_ASN1_TIME(nil, &cursor, bytes.count)
        }
        defer { unsafe ASN1_TIME_free(time) }
        guard let date = unsafe OpenSSLASN1.date(time) else { return nil }
        walk = ahead
        return date
    }

    /// Moves past the time of an entry. There may be a hundred thousand entries, so only the form is checked.
    private static func hasTime(_ walk: inout DERWalk, _ der: [UInt8]) -> Bool {
        skipTime(&walk, der) != nil
    }

    // MARK: - Extensions

    /// Checks that a range contains one non-empty list of extensions without duplicates (RFC 5280 4.2), and returns the
    /// contents of their object identifiers.
    private static func requireExtensions(
        _ der: [UInt8], _ range: Range<Int>
    ) throws(CertificateError) -> FoundExtensions {
        var walk = DERWalk(der, in: range)
        guard let list = walk.skip(V_ASN1_SEQUENCE), walk.isAtEnd, !list.contents.isEmpty else {
            throw malformed("its extensions are not a SEQUENCE, or are empty")
        }
        var found = FoundExtensions()
        var items = DERWalk(der, in: list.contents)
        while !items.isAtEnd {
            guard let item = items.skip(V_ASN1_SEQUENCE) else {
                throw malformed("an extension is not a SEQUENCE")
            }
            var fields = DERWalk(der, in: item.contents)
            guard let type = fields.skip(V_ASN1_OBJECT) else { throw malformed("an extension has no type") }
            let flag = fields.skip(V_ASN1_BOOLEAN).map { der[$0.contents] } ?? [0x00]
            guard [[0x00], [0xFF]].contains(flag) else {
                throw malformed("an extension's critical flag is invalid")
            }
            guard let value = fields.skip(V_ASN1_OCTET_STRING), fields.isAtEnd else {
                throw malformed("an extension has no value, or more than one")
            }
            if der[type.contents] == certificateIssuer { try requireIssuers(der, value.contents) }
            guard found.types.insert(der[type.contents]).inserted else {
                throw malformed("it contains the same extension twice")
            }
            if flag == [0xFF] { found.critical.insert(der[type.contents]) }
        }
        return found
    }

    /// The contents of the object identifiers of extensions.
    private struct FoundExtensions {
        var types: Set<ArraySlice<UInt8>> = []
        var critical: Set<ArraySlice<UInt8>> = []
    }

    /// The contents of the object identifier of certificateIssuer, 2.5.29.29.
    private static let certificateIssuer: ArraySlice<UInt8> = [0x55, 0x1D, 0x1D]

    /// Checks that a range contains a certificateIssuer (RFC 5280 5.3.3) with a directory name, without too many names.
    private static func requireIssuers(_ der: [UInt8], _ range: Range<Int>) throws(CertificateError) {
        var walk = DERWalk(der, in: range)
        guard let list = walk.skip(V_ASN1_SEQUENCE), walk.isAtEnd else {
            throw malformed("the issuer of an entry is not a SEQUENCE")
        }
        var names = DERWalk(der, in: list.contents)
        var count = 0
        var hasDirectoryName = false
        while !names.isAtEnd {
            if names.skip(GEN_DIRNAME, class: V_ASN1_CONTEXT_SPECIFIC) != nil {
                hasDirectoryName = true
            } else if names.skipAny() == nil {
                throw malformed("the issuer of an entry is not a name")
            }
            count += 1
            guard count <= EncodedRevocationList.mostEntryIssuers else { throw tooManyIssuers }
        }
        guard hasDirectoryName else { throw malformed("the issuer of an entry has no directory name") }
    }

    private mutating func readExtensions(_ der: [UInt8]) throws(CertificateError) {
        let extensions = unsafe try OpenSSLASN1.decode(der, as: "a revocation list's extensions") {
            unsafe d2i_X509_EXTENSIONS(nil, $0, $1)
        } free: {
            unsafe OPENSSL_sk_pop_free($0) { unsafe X509_EXTENSION_free($0.map(OpaquePointer.init)) }
        }
        defer {
            unsafe OPENSSL_sk_pop_free(extensions) { unsafe X509_EXTENSION_free($0.map(OpaquePointer.init)) }
        }
        if let decoded = unsafe try Self.decoded(NID_crl_number, in: extensions) {
            let integer = unsafe decoded.assumingMemoryBound(to: ASN1_INTEGER.self)
            defer { unsafe ASN1_INTEGER_free(integer) }
            number = unsafe OpenSSLASN1.octets(integer)
        }
        if let decoded = unsafe try Self.decoded(NID_delta_crl, in: extensions) {
            let integer = unsafe decoded.assumingMemoryBound(to: ASN1_INTEGER.self)
            defer { unsafe ASN1_INTEGER_free(integer) }
            deltaBase = unsafe OpenSSLASN1.octets(integer)
        }
        keepsExpiredSince = unsafe try Self.keepsExpiredSince(extensions)
        let points = unsafe try DistributionPoint.points(Self.decoded(NID_freshest_crl, in: extensions))
        guard !DistributionPoint.areTooMany(points) else { throw Self.tooManyNames }
        deltaURLs = points.flatMap(\.urls)
        if let decoded = unsafe try Self.decoded(NID_issuing_distribution_point, in: extensions) {
            let point = unsafe decoded.assumingMemoryBound(to: ISSUING_DIST_POINT.self)
            defer { unsafe ISSUING_DIST_POINT_free(point) }
            scope = unsafe try Self.scope(point.pointee)
        }
    }

    /// Reads the extension expiredCertsOnCRL (X.509 9.5.2.8), which OpenSSL does not decode; nil if it is absent.
    ///
    /// - Throws: `malformed` if it is not a time.
    private static func keepsExpiredSince(_ extensions: OpaquePointer) throws(CertificateError) -> Date? {
        let type = unsafe OBJ_txt2obj("2.5.29.60", 1)
        defer { unsafe ASN1_OBJECT_free(type) }
        let index = unsafe X509v3_get_ext_by_OBJ(extensions, type, -1)
        guard index >= 0, let value = unsafe X509_EXTENSION_get_data(X509v3_get_ext(extensions, index)) else {
            return nil
        }
        let der = unsafe OpenSSLASN1.octets(value)
        var walk = DERWalk(der)
        guard let date = time(&walk, der), walk.isAtEnd else {
            throw malformed("its extension expiredCertsOnCRL is not a time")
        }
        return date
    }

    /// Decodes one extension; the caller frees it. Returns nil if the list does not have it.
    ///
    /// - Throws: `malformed` if it cannot be decoded.
    private static func decoded(
        _ identifier: CInt, in extensions: OpaquePointer
    ) throws(CertificateError) -> UnsafeMutableRawPointer? {
        guard unsafe X509v3_get_ext_by_NID(extensions, identifier, -1) >= 0 else { return nil }
        guard let decoded = unsafe X509V3_get_d2i(extensions, identifier, nil, nil) else {
            throw malformed(
                "its extension \(unsafe String(cString: OBJ_nid2sn(identifier))) cannot be decoded")
        }
        return unsafe decoded
    }

    /// Reads an issuing distribution point. It must not be empty, and may restrict the list to one kind of certificate
    /// at most (RFC 5280 5.2.5).
    private static func scope(
        _ point: ISSUING_DIST_POINT
    ) throws(CertificateError) -> EncodedRevocationList.Scope {
        let kinds = unsafe [point.onlyuser, point.onlyCA, point.onlyattr].count { $0 > 0 }
        guard kinds <= 1 else {
            throw malformed(
                "its issuing distribution point restricts it to more than one kind of certificate")
        }
        guard unsafe DistributionPoint.nameCount(point.distpoint) <= DistributionPoint.mostNames else {
            throw tooManyNames
        }
        let isEmpty =
            unsafe kinds == 0 && point.distpoint == nil && point.onlysomereasons == nil
            && point.indirectCRL <= 0
        guard !isEmpty else { throw malformed("its issuing distribution point is empty") }
        return unsafe EncodedRevocationList.Scope(
            urls: DistributionPoint.urls(point.distpoint),
            directoryNames: DistributionPoint.directoryNames(point.distpoint),
            name: DistributionPoint.encodedName(point.distpoint),
            isForUsersOnly: point.onlyuser > 0, isForAuthoritiesOnly: point.onlyCA > 0,
            isForAttributesOnly: point.onlyattr > 0,
            reasons: point.onlysomereasons.map { unsafe OpenSSLASN1.octets($0) },
            isIndirect: point.indirectCRL > 0)
    }
}
