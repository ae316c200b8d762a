internal import COpenSSL

/// A cache of OpenSSL's objects for certificates and revocation lists, and of results about them, for several
/// verifications.
///
/// Use an instance on only one thread: it is neither `Sendable` nor locked. It owns the C objects and frees them.
@safe package final class VerificationObjects {
    /// The maximum number of decoded certificates to keep; each takes about 10 KiB.
    private static let mostCertificates = 4096
    /// The maximum total size of the revocation lists that stay decoded between verifications, in octets of their DER.
    /// A decoded list takes about ten times the memory of its DER.
    private static let mostKeptListOctets = 4 << 20

    private var certificates: [Certificate: OpaquePointer] = unsafe [:]
    private var readings: [OpaquePointer: Certificate] = unsafe [:]
    private var lists: [ObjectIdentifier: (list: EncodedRevocationList, pointer: OpaquePointer)] = unsafe [:]
    private var listReadings: [OpaquePointer: EncodedRevocationList] = unsafe [:]
    private var listOctets = 0
    private var signatures: [Pair: Bool] = [:]
    private var listSignatures:
        [ObjectIdentifier: (list: EncodedRevocationList, signers: [Certificate: Bool])] = [:]
    private var listDefects: [ObjectIdentifier: (list: EncodedRevocationList, reason: String?)] = [:]
    private var listCriticality: [ObjectIdentifier: (list: EncodedRevocationList, isUnknown: Bool)] = [:]
    private var names: [Pair: Bool] = [:]
    private var constraints: [Certificate: AuthorityConstraints] = [:]
    private var points: [Certificate: [DistributionPoint]] = [:]
    /// The names of the issuers whose lists may contain a certificate.
    var signerKeys: [Certificate: [NameMatchingKey]] = [:]
    private var selfSigned: [Certificate: Bool] = [:]
    private var extensionViolations: [Certificate: Bool] = [:]
    /// The entries of certificates in lists that contain them.
    var entries: [Lookup: (list: EncodedRevocationList, entry: Entry)] = [:]
    /// The entries of lists whose serial numbers occur more than once.
    var repeatedEntries:
        [ObjectIdentifier: (list: EncodedRevocationList, entries: [String: [RepeatedEntry]])] = [:]
    /// The e-mail addresses of certificates below a constraint on such addresses.
    var mailAddresses: [Certificate: [(name: GeneralName, mailbox: ConstrainedMailbox?)]] = [:]
    /// The subject and the directory names of certificates below a constraint on such names.
    var directoryNames: [Certificate: [(name: GeneralName, prepared: PreparedName)]] = [:]

    /// The cache key for a result about two certificates.
    private struct Pair: Hashable {
        let lower: Certificate
        let upper: Certificate
    }

    /// The cache key for the entry of a certificate in a list.
    struct Lookup: Hashable {
        let list: ObjectIdentifier
        let certificate: Certificate
    }

    /// Creates an empty cache.
    package init() {}

    deinit {
        unsafe certificates.values.forEach { unsafe X509_free($0) }
        unsafe lists.values.forEach { unsafe X509_CRL_free($0.pointer) }
    }

    /// The numbers of signatures of lists, and of responses, that a search verifies before it checks the time: few if the
    /// time was over when the search began.
    package private(set) var uncheckedSignatures = 64
    private var listSignatureCount = 0
    private var responseCount = 0
    private var isOutOfTime: () -> Bool = { false }
    /// Why the search did not verify the signatures of some lists or responses: its time was over, or a list could not be
    /// read. A sentence without a full stop; nil if it verified all.
    private(set) var omittedSignatures: String?

    /// Begins a search with its own time limit for the signatures of revocation lists and responses. An attacker can
    /// provide many lists, responses and keys, and it can take several milliseconds to verify one signature.
    package func beginSearch(isOutOfTime: @escaping () -> Bool) {
        self.isOutOfTime = isOutOfTime
        uncheckedSignatures = isOutOfTime() ? 8 : 64
        listSignatureCount = 0
        responseCount = 0
        omittedSignatures = nil
    }

    /// The number of signatures that were verified because no cached result existed.
    package private(set) var computedSignatures = 0

    /// Whether the key of `issuer` created the signature of `certificate`. Also false if the key cannot be loaded. The
    /// result is cached.
    package func isSigned(_ certificate: Certificate, by issuer: Certificate) -> Bool {
        let pair = Pair(lower: certificate, upper: issuer)
        if let known = signatures[pair] { return known }
        computedSignatures += 1
        guard issuer.publicKey.isLoadable else {
            signatures[pair] = false
            return false
        }
        let verdict = try? unsafe X509_verify(pointer(certificate), X509_get0_pubkey(pointer(issuer)))
        OpenSSLError.discardQueue()
        signatures[pair] = verdict == 1
        return verdict == 1
    }

    /// Whether `issuer` has the name of the issuer of `certificate`, and its key created the signature.
    package func isIssued(_ certificate: Certificate, by issuer: Certificate) -> Bool {
        certificate.issuer.matchingKey == issuer.subject.matchingKey && isSigned(certificate, by: issuer)
    }

    /// Whether the time of the search is over (``beginSearch(isOutOfTime:)``).
    package var isSearchOver: Bool { isOutOfTime() }

    /// Counts a response that will be decoded and verified. Returns false if there is no time for it.
    ///
    /// - Parameter octets: The size of the response. Decoding 1 KiB of statuses takes about as long as verifying a
    ///   signature.
    func countResponse(octets: Int) -> Bool {
        responseCount += 1 + (octets >> 10)
        guard responseCount > uncheckedSignatures, isOutOfTime() else { return true }
        omittedSignatures = "verifying the OCSP responses takes too long"
        return false
    }

    /// Whether the key of `signer` created the signature of `list`. Also false if the key cannot be loaded, or if the
    /// signature was not verified (``omittedSignatures``). The result is cached.
    package func isSigned(_ list: EncodedRevocationList, by signer: Certificate) -> Bool {
        if let known = listSignatures[ObjectIdentifier(list)]?.signers[signer] { return known }
        if listSignatureCount >= uncheckedSignatures, isOutOfTime() {
            omittedSignatures = "verifying the signatures of the revocation lists takes too long"
            return false
        }
        listSignatureCount += 1
        // An unusable list can also be authentic, so the signature is verified without decoding the entries.
        var verdict = false
        if signer.publicKey.isLoadable, let pointer = unsafe try? pointer(signer) {
            do throws(CertificateError) {
                verdict = unsafe try list.isSigned(by: X509_get0_pubkey(pointer))
            } catch {
                omittedSignatures = error.reason
                return false
            }
        }
        OpenSSLError.discardQueue()
        listSignatures[ObjectIdentifier(list), default: (list, [:])].signers[signer] = verdict
        return verdict
    }

    /// Whether `list` has an unknown critical extension. The result is cached.
    func hasUnknownCriticalExtension(_ list: EncodedRevocationList) -> Bool {
        if let known = listCriticality[ObjectIdentifier(list)] { return known.isUnknown }
        let isUnknown = list.hasUnknownCriticalExtension
        listCriticality[ObjectIdentifier(list)] = (list, isUnknown)
        return isUnknown
    }

    /// The reason why `list` is unusable: its entries cannot be decoded, or have too many issuers. Nil if it is usable.
    /// The result is cached.
    func defect(of list: EncodedRevocationList) -> String? {
        if let known = listDefects[ObjectIdentifier(list)] { return known.reason }
        var reason: String?
        do throws(CertificateError) {
            _ = unsafe try pointer(list)
        } catch {
            reason = error.reason
        }
        listDefects[ObjectIdentifier(list)] = (list, reason)
        return reason
    }

    /// Whether every name of `certificate` is well-formed and within the name constraints of `authority` (RFC 5280
    /// 4.2.1.10); true if `authority` has no such constraints. False if there are too many names to compare
    /// (``CertificateVerifier/mostNameComparisons``). The result is cached.
    package func keepsNames(_ certificate: Certificate, under authority: Certificate) -> Bool {
        guard constraints(of: authority).hasNameConstraints else { return true }
        let pair = Pair(lower: certificate, upper: authority)
        if let known = names[pair] { return known }
        let verdict =
            nameComparisons(of: certificate, under: authority) <= CertificateVerifier.mostNameComparisons
            && malformedName(of: certificate, under: authority) == nil
            && rejectedName(of: certificate, under: authority) == nil
            && (try? unsafe namesVerdict(pointer(certificate), pointer(authority))) ?? false
        names[pair] = verdict
        return verdict
    }

    /// The constraints of `certificate` on the certificates below it. The result is cached.
    package func constraints(of certificate: Certificate) -> AuthorityConstraints {
        if let known = constraints[certificate] { return known }
        let read =
            (try? unsafe AuthorityConstraints(reading: pointer(certificate))) ?? AuthorityConstraints()
        constraints[certificate] = read
        return read
    }

    /// The locations of revocation information in `certificate`. The result is cached.
    package func distributionPoints(of certificate: Certificate) -> [DistributionPoint] {
        if let known = points[certificate] { return known }
        let read = (try? unsafe DistributionPoint.points(of: pointer(certificate))) ?? []
        points[certificate] = read
        return read
    }

    /// Whether the certificate has too many distribution points, or names in them, to look it up in lists
    /// (``DistributionPoint/mostNames``).
    package func hasTooManyPoints(_ certificate: Certificate) -> Bool {
        DistributionPoint.areTooMany(distributionPoints(of: certificate))
    }

    /// Whether the certificate has too many policies or policy mappings to verify it
    /// (``CertificateVerifier/mostPolicies``).
    package func hasTooManyPolicies(_ certificate: Certificate) -> Bool {
        let constraints = constraints(of: certificate)
        return max(constraints.policyCount, constraints.policyMappings.count)
            > CertificateVerifier.mostPolicies
    }

    /// Whether OpenSSL considers the certificate invalid (`EXFLAG_INVALID`), because an extension cannot be decoded, has
    /// an impossible value, or is present more than once.
    func hasInvalidExtension(_ certificate: Certificate) -> Bool {
        defer { OpenSSLError.discardQueue() }
        guard let decoded = unsafe try? pointer(certificate) else { return true }
        return unsafe X509_get_extension_flags(decoded) & UInt32(EXFLAG_INVALID) != 0
    }

    /// Whether the extensions of the certificate violate RFC 5280 4.2 in a way that OpenSSL accepts: one is present more
    /// than once, a critical one cannot be decoded, or octets follow the value of one. The result is cached.
    func hasExtensionViolation(_ certificate: Certificate) -> Bool {
        if let known = extensionViolations[certificate] { return known }
        guard let decoded = unsafe try? pointer(certificate) else { return true }
        let verdict = unsafe ExtensionDecoding.hasViolation(decoded)
        extensionViolations[certificate] = verdict
        return verdict
    }

    /// Whether the certificate was signed with its own key, so that it can only be a trust anchor
    /// (X509_self_signed(3)). The result is cached.
    package func isSelfSigned(_ certificate: Certificate) -> Bool {
        guard certificate.isSelfIssued || certificate.subject.matchingKey == certificate.issuer.matchingKey
        else { return false }
        if let known = selfSigned[certificate] { return known }
        guard certificate.publicKey.isLoadable else { return false }
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

    /// The C certificate of `certificate`, which this object owns.
    ///
    /// - Throws: `malformed`.
    func pointer(_ certificate: Certificate) throws(CertificateError) -> OpaquePointer {
        if let known = unsafe certificates[certificate] { return unsafe known }
        let pointer = unsafe try certificate.makePointer()
        unsafe certificates[certificate] = pointer
        unsafe readings[pointer] = certificate
        return unsafe pointer
    }

    /// The certificate of a C certificate. A C certificate that does not come from ``pointer(_:)-(Certificate)`` is
    /// parsed.
    func certificate(_ pointer: OpaquePointer) -> Certificate? {
        if let known = unsafe readings[pointer] { return known }
        return try? Certificate(der: unsafe OpenSSLASN1.der(pointer) { unsafe i2d_X509($0, $1) })
    }

    /// The C list of `list`, which this object owns.
    ///
    /// - Throws: `malformed`, `trailingBytes` if the list's entries cannot be decoded.
    func pointer(_ list: EncodedRevocationList) throws(CertificateError) -> OpaquePointer {
        if let known = unsafe lists[ObjectIdentifier(list)] { return unsafe known.pointer }
        let pointer = unsafe try list.makePointer()
        unsafe lists[ObjectIdentifier(list)] = unsafe (list, pointer)
        unsafe listReadings[pointer] = list
        listOctets += list.count
        return unsafe pointer
    }

    /// The list of a C list that comes from ``pointer(_:)-(EncodedRevocationList)``.
    func list(_ pointer: OpaquePointer) -> EncodedRevocationList? { unsafe listReadings[pointer] }

    /// Frees objects above the limits of the cache. No C object may be in use.
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
            signerKeys = [:]
            selfSigned = [:]
            extensionViolations = [:]
            mailAddresses = [:]
        }
        if signatures.count > 1 << 16 { signatures = [:] }
        if listSignatures.count > 1 << 12 { listSignatures = [:] }
        if listDefects.count > 1 << 12 { listDefects = [:] }
        if repeatedEntries.count > 1 << 8 { repeatedEntries = [:] }
        if names.count > 1 << 16 { names = [:] }
        if entries.count > 1 << 16 { entries = [:] }
    }
}
