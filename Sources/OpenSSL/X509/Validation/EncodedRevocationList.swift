internal import COpenSSL
package import Foundation

/// A certificate revocation list of which only the head and the extensions are read (RFC 5280 5.1, 5.2).
///
/// The entries, which may be hundreds of thousands, are decoded where a verification needs the list, so that a
/// folder full of lists costs little. An entry that cannot be decoded shows only then.
package final class EncodedRevocationList: Sendable {
    /// What the issuing distribution point extension says (RFC 5280 5.2.5).
    package struct Scope: Sendable, Hashable {
        /// The distribution point's URLs.
        package var urls: [String] = []
        /// Whether the list holds certificates of end entities alone.
        package var isForUsersOnly = false
        /// Whether the list holds certificates of authorities alone.
        package var isForAuthoritiesOnly = false
        /// Whether the list holds attribute certificates alone.
        package var isForAttributesOnly = false
        /// Whether the list holds revocations for some reasons alone.
        package var isForSomeReasons = false
        /// Whether the list holds certificates of other issuers.
        package var isIndirect = false
    }

    /// Who signed the list.
    package let issuer: DistinguishedName
    /// When the list was made; `Date.distantPast` where that is unreadable.
    package let thisUpdate: Date
    /// When the next list is due; nil where that is absent or unreadable.
    package let nextUpdate: Date?
    /// The list's own number, big-endian; nil where it has none.
    package let number: [UInt8]?
    /// Whether the list holds the changes since another one (RFC 5280 5.2.4).
    package let isDelta: Bool
    /// What the list is limited to; nil where it is not limited.
    package let scope: Scope?
    /// The URLs at which the changes since the list are told (freshestCRL, RFC 5280 5.2.6), in order.
    package let deltaURLs: [String]
    /// The length of the DER in octets.
    package let count: Int

    /// The issuer's name as ``DistinguishedName/matchingKey`` has it.
    let issuerKey: NameMatchingKey

    /// Whether the bytes are in memory rather than where they came from.
    package let isHeld: Bool

    private let load: @Sendable () throws(CertificateError) -> [UInt8]

    /// Reads the head of one list in DER and keeps the bytes.
    ///
    /// - Throws: `malformed`, `trailingBytes`.
    package convenience init(der: [UInt8]) throws(CertificateError) {
        try self.init(der, isHeld: true) { () throws(CertificateError) in der }
    }

    /// Reads the head of one list in DER and asks `load` for the bytes whenever they are needed, such as from
    /// the file they came from.
    ///
    /// - Throws: `malformed`, `trailingBytes`.
    package convenience init(
        head der: [UInt8], load: @escaping @Sendable () throws(CertificateError) -> [UInt8]
    ) throws(CertificateError) {
        try self.init(der, isHeld: false, load)
    }

    private init(
        _ der: [UInt8], isHeld: Bool, _ load: @escaping @Sendable () throws(CertificateError) -> [UInt8]
    ) throws(CertificateError) {
        let parts = try Parts(der)
        issuer = parts.issuer
        issuerKey = parts.issuer.matchingKey
        thisUpdate = parts.thisUpdate ?? .distantPast
        nextUpdate = parts.nextUpdate
        number = parts.number
        isDelta = parts.isDelta
        scope = parts.scope
        deltaURLs = parts.deltaURLs
        count = der.count
        self.isHeld = isHeld
        self.load = load
    }

    /// Whether the list is of use at `date`: made before and not yet replaced.
    package func isCurrent(at date: Date) -> Bool {
        thisUpdate <= date && (nextUpdate.map { date <= $0 } ?? true)
    }

    /// A C list (`X509_CRL`) with its entries, owned by the caller.
    ///
    /// - Throws: `malformed`, `trailingBytes`; what `load` throws.
    func makePointer() throws(CertificateError) -> OpaquePointer {
        unsafe try OpenSSLASN1.decode(try load(), as: "a revocation list") { cursor, count in
            var list = unsafe X509_CRL_new_ex(LibraryContext.standard.pointer, nil)
            // Where decoding fails, OpenSSL frees the list and sets it to nil.
            return unsafe d2i_X509_CRL(&list, cursor, count)
        } free: {
            unsafe X509_CRL_free($0)
        }
    }
}

/// The parts of a list's DER that come before and behind its entries.
private struct Parts {
    var issuer: DistinguishedName
    var thisUpdate: Date?
    var nextUpdate: Date?
    var number: [UInt8]?
    var isDelta = false
    var scope: EncodedRevocationList.Scope?
    var deltaURLs: [String] = []

    init(_ der: [UInt8]) throws(CertificateError) {
        var walk = DERWalk(der)
        guard let list = walk.enter(V_ASN1_SEQUENCE) else { throw Self.malformed }
        guard list.end == der.count else {
            throw CertificateError(
                .trailingBytes, "\(der.count - list.end) bytes follow a revocation list")
        }
        guard let signed = walk.enter(V_ASN1_SEQUENCE) else { throw Self.malformed }
        let signatureStart = signed.end
        // The version is there in every list that has extensions.
        _ = walk.skip(V_ASN1_INTEGER)
        guard walk.skip(V_ASN1_SEQUENCE) != nil, let name = walk.skip(V_ASN1_SEQUENCE) else {
            throw Self.malformed
        }
        issuer = try DistinguishedName(der: Array(der[name.whole]))
        guard let made = walk.skip(V_ASN1_UTCTIME) ?? walk.skip(V_ASN1_GENERALIZEDTIME) else {
            throw Self.malformed
        }
        thisUpdate = Self.date(der[made.whole])
        if let due = walk.skip(V_ASN1_UTCTIME) ?? walk.skip(V_ASN1_GENERALIZEDTIME) {
            nextUpdate = Self.date(der[due.whole])
        }
        _ = walk.skip(V_ASN1_SEQUENCE)
        if walk.position < signatureStart {
            guard let wrapped = walk.skip(0, class: V_ASN1_CONTEXT_SPECIFIC), wrapped.end == signatureStart
            else { throw Self.malformed }
            try readExtensions(Array(der[wrapped.contents]))
        }
        guard walk.skip(V_ASN1_SEQUENCE) != nil, walk.skip(V_ASN1_BIT_STRING) != nil,
            walk.position == der.count
        else { throw Self.malformed }
        OpenSSLError.discardQueue()
    }

    private static var malformed: CertificateError {
        .draining(.malformed, "decoding a revocation list")
    }

    private static func date(_ der: ArraySlice<UInt8>) -> Date? {
        let octets = Array(der)
        let time = unsafe octets.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            return unsafe d2i_ASN1_TIME(nil, &cursor, bytes.count)
        }
        defer { unsafe ASN1_TIME_free(time) }
        return unsafe OpenSSLASN1.date(time)
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
        if let decoded = unsafe X509V3_get_d2i(extensions, NID_crl_number, nil, nil) {
            let integer = unsafe decoded.assumingMemoryBound(to: ASN1_INTEGER.self)
            defer { unsafe ASN1_INTEGER_free(integer) }
            number = unsafe OpenSSLASN1.octets(integer)
        }
        isDelta = unsafe X509v3_get_ext_by_NID(extensions, NID_delta_crl, -1) >= 0
        deltaURLs = unsafe DistributionPoint.points(
            X509V3_get_d2i(extensions, NID_freshest_crl, nil, nil)
        ).flatMap(\.urls)
        if let decoded = unsafe X509V3_get_d2i(extensions, NID_issuing_distribution_point, nil, nil) {
            let point = unsafe decoded.assumingMemoryBound(to: ISSUING_DIST_POINT.self)
            defer { unsafe ISSUING_DIST_POINT_free(point) }
            scope = unsafe EncodedRevocationList.Scope(
                urls: DistributionPoint.urls(point.pointee.distpoint),
                isForUsersOnly: point.pointee.onlyuser > 0,
                isForAuthoritiesOnly: point.pointee.onlyCA > 0,
                isForAttributesOnly: point.pointee.onlyattr > 0,
                isForSomeReasons: point.pointee.onlysomereasons != nil,
                isIndirect: point.pointee.indirectCRL > 0)
        }
    }
}

/// A place in DER that goes from element to element by the headers that OpenSSL reads (`ASN1_get_object`).
private struct DERWalk {
    /// One element.
    struct Element {
        let whole: Range<Int>
        let contents: Range<Int>
        var end: Int { whole.upperBound }
    }

    private let der: [UInt8]
    /// The offset of the next element.
    private(set) var position = 0

    init(_ der: [UInt8]) { self.der = der }

    /// Goes into an element of this type; nil, without moving, where another one or none is next.
    mutating func enter(_ tag: CInt) -> Element? {
        guard let element = next(tag, V_ASN1_UNIVERSAL) else { return nil }
        position = element.contents.lowerBound
        return element
    }

    /// Goes past an element of this type; nil, without moving, where another one or none is next.
    mutating func skip(_ tag: CInt, class kind: CInt = V_ASN1_UNIVERSAL) -> Element? {
        guard let element = next(tag, kind) else { return nil }
        position = element.end
        return element
    }

    private func next(_ tag: CInt, _ kind: CInt) -> Element? {
        guard position < der.count else { return nil }
        let start = position
        return unsafe der.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var cursor: UnsafePointer<UInt8>? = unsafe base + start
            var length = 0
            var foundTag: CInt = 0
            var foundClass: CInt = 0
            let flags = unsafe ASN1_get_object(&cursor, &length, &foundTag, &foundClass, der.count - start)
            // 0x80 is an error, 0x01 a length that is not said, which DER does not have.
            guard flags & 0x81 == 0, foundTag == tag, foundClass == kind, let cursor = unsafe cursor else {
                return nil
            }
            let contents = unsafe cursor - base
            return Element(whole: start..<contents + length, contents: contents..<contents + length)
        }
    }
}
