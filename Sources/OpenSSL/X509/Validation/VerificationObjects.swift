internal import COpenSSL

/// OpenSSL's objects for certificates and revocation lists, decoded once and kept for several verifications,
/// with what was found out about them.
///
/// An instance belongs to one thread: it is neither `Sendable` nor locked. The C objects are freed with it.
@safe package final class VerificationObjects {
    /// The most certificates that are kept decoded; some 10 KiB each.
    private static let mostCertificates = 4096
    /// The most octets of DER whose lists are kept decoded from one verification to the next. A decoded list
    /// takes some ten times the memory of its DER.
    private static let mostKeptListOctets = 4 << 20

    private var certificates: [Certificate: OpaquePointer] = unsafe [:]
    private var readings: [OpaquePointer: Certificate] = unsafe [:]
    private var lists: [ObjectIdentifier: (list: EncodedRevocationList, pointer: OpaquePointer)] = unsafe [:]
    private var listReadings: [OpaquePointer: EncodedRevocationList] = unsafe [:]
    private var listOctets = 0
    private var signatures: [Pair: Bool] = [:]
    private var names: [Pair: Bool] = [:]
    private var constraints: [Certificate: AuthorityConstraints] = [:]
    private var points: [Certificate: [DistributionPoint]] = [:]
    private var selfSigned: [Certificate: Bool] = [:]

    /// Two certificates of which one thing is remembered.
    private struct Pair: Hashable {
        let lower: Certificate
        let upper: Certificate
    }

    /// Nothing is decoded yet.
    package init() {}

    deinit {
        unsafe certificates.values.forEach { unsafe X509_free($0) }
        unsafe lists.values.forEach { unsafe X509_CRL_free($0.pointer) }
    }

    /// How many signatures were computed rather than remembered.
    package private(set) var computedSignatures = 0

    /// Whether the key of `issuer` made the signature of `certificate`; false also where the key cannot be
    /// loaded. The answer is remembered.
    package func isSigned(_ certificate: Certificate, by issuer: Certificate) -> Bool {
        let pair = Pair(lower: certificate, upper: issuer)
        if let known = signatures[pair] { return known }
        computedSignatures += 1
        let verdict = try? unsafe X509_verify(pointer(certificate), X509_get0_pubkey(pointer(issuer)))
        OpenSSLError.discardQueue()
        signatures[pair] = verdict == 1
        return verdict == 1
    }

    /// Whether every name of `certificate` is within the name constraints of `authority` (RFC 5280 4.2.1.10);
    /// true where it has none. The answer is remembered.
    package func keepsNames(_ certificate: Certificate, under authority: Certificate) -> Bool {
        guard constraints(of: authority).hasNameConstraints else { return true }
        let pair = Pair(lower: certificate, upper: authority)
        if let known = names[pair] { return known }
        let verdict = (try? unsafe namesVerdict(pointer(certificate), pointer(authority))) ?? false
        names[pair] = verdict
        return verdict
    }

    /// What `certificate` asks of the certificates below it; read once.
    package func constraints(of certificate: Certificate) -> AuthorityConstraints {
        if let known = constraints[certificate] { return known }
        let read =
            (try? unsafe AuthorityConstraints(reading: pointer(certificate))) ?? AuthorityConstraints()
        constraints[certificate] = read
        return read
    }

    /// Where the revocation of `certificate` is told; read once.
    package func distributionPoints(of certificate: Certificate) -> [DistributionPoint] {
        if let known = points[certificate] { return known }
        let read = (try? unsafe DistributionPoint.points(of: pointer(certificate))) ?? []
        points[certificate] = read
        return read
    }

    /// Whether the certificate's own key signed it, which makes it an anchor that needs no other
    /// (X509_self_signed(3)). The answer is remembered.
    package func isSelfSigned(_ certificate: Certificate) -> Bool {
        guard certificate.isSelfIssued || certificate.subject.matchingKey == certificate.issuer.matchingKey
        else { return false }
        if let known = selfSigned[certificate] { return known }
        let verdict = try? unsafe X509_self_signed(pointer(certificate), 1)
        OpenSSLError.discardQueue()
        selfSigned[certificate] = verdict == 1
        return verdict == 1
    }

    private func namesVerdict(_ certificate: OpaquePointer, _ authority: OpaquePointer) -> Bool {
        guard let decoded = unsafe X509_get_ext_d2i(authority, NID_name_constraints, nil, nil) else {
            OpenSSLError.discardQueue()
            return false
        }
        let constraints = unsafe decoded.assumingMemoryBound(to: NAME_CONSTRAINTS.self)
        defer { unsafe NAME_CONSTRAINTS_free(constraints) }
        // The check looks at alternative names that only this call reads (X509_check_purpose(3)).
        unsafe _ = X509_check_purpose(certificate, -1, 0)
        let isKept = unsafe NAME_CONSTRAINTS_check(certificate, constraints) == X509_V_OK
        OpenSSLError.discardQueue()
        return isKept
    }

    // MARK: - C objects

    /// The C certificate of `certificate`, which stays this object's.
    ///
    /// - Throws: `malformed`.
    func pointer(_ certificate: Certificate) throws(CertificateError) -> OpaquePointer {
        if let known = unsafe certificates[certificate] { return unsafe known }
        let pointer = unsafe try certificate.makePointer()
        unsafe certificates[certificate] = pointer
        unsafe readings[pointer] = certificate
        return unsafe pointer
    }

    /// The certificate of a C certificate that came from ``pointer(_:)-(Certificate)``; parsed where it did not.
    func certificate(_ pointer: OpaquePointer) -> Certificate? {
        if let known = unsafe readings[pointer] { return known }
        return try? Certificate(der: unsafe OpenSSLASN1.der(pointer) { unsafe i2d_X509($0, $1) })
    }

    /// The C list of `list`, which stays this object's.
    ///
    /// - Throws: `malformed`, `trailingBytes` where the list's entries cannot be decoded.
    func pointer(_ list: EncodedRevocationList) throws(CertificateError) -> OpaquePointer {
        if let known = unsafe lists[ObjectIdentifier(list)] { return unsafe known.pointer }
        let pointer = unsafe try list.makePointer()
        unsafe lists[ObjectIdentifier(list)] = unsafe (list, pointer)
        unsafe listReadings[pointer] = list
        listOctets += list.count
        return unsafe pointer
    }

    /// The list of a C list that came from ``pointer(_:)-(EncodedRevocationList)``.
    func list(_ pointer: OpaquePointer) -> EncodedRevocationList? { unsafe listReadings[pointer] }

    /// Lets go what is past the bounds of this object; no C object may be in use.
    func trim() {
        if listOctets > Self.mostKeptListOctets {
            unsafe lists.values.forEach { unsafe X509_CRL_free($0.pointer) }
            unsafe lists = unsafe [:]
            unsafe listReadings = unsafe [:]
            listOctets = 0
        }
        if unsafe certificates.count > Self.mostCertificates {
            unsafe certificates.values.forEach { unsafe X509_free($0) }
            unsafe certificates = unsafe [:]
            unsafe readings = unsafe [:]
            constraints = [:]
            points = [:]
            selfSigned = [:]
        }
        if signatures.count > 1 << 16 { signatures = [:] }
        if names.count > 1 << 16 { names = [:] }
    }
}
