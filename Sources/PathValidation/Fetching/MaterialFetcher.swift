package import Foundation
package import OpenSSL

/// Validates certificates and fetches missing validation material from the URLs in certificates.
///
/// Issuers' certificates are fetched if no path is valid. If the revocation status of a certificate on the path is
/// unknown, OCSP responses are fetched first, then revocation lists. For the lists that determine the status, delta
/// lists are also fetched. The validator keeps fetched material for later certificates, and no URL is requested twice.
/// Use each instance on only one thread.
package final class MaterialFetcher {
    /// Sends a request, and returns the received bytes or the reason for the failure.
    package typealias Fetch = (FetchRequest) async -> FetchAnswer

    private let fetch: Fetch
    private let limits: FetchLimits
    private let now: () -> ContinuousClock.Instant
    private var records: [FetchRequest: FetchRecord] = [:]
    private var octets = 0
    private var start: ContinuousClock.Instant?

    /// Creates a fetcher. It sends no request before its first use.
    ///
    /// - Parameters:
    ///   - limits: The limits of fetching.
    ///   - now: The clock, used only for the time limit.
    ///   - fetch: Sends a request.
    package init(
        limits: FetchLimits = .init(), now: @escaping () -> ContinuousClock.Instant = { .now },
        fetch: @escaping Fetch
    ) {
        self.limits = limits
        self.now = now
        self.fetch = fetch
    }

    /// Looks for a valid path for `leaf` as ``PathValidator`` does, and fetches missing material.
    ///
    /// If `leaf` contains a URL for its revocation status, that status must be determined for the path to be valid.
    ///
    /// - Parameters:
    ///   - leaf: The certificate to validate.
    ///   - others: Certificates that accompany the leaf, such as those in the same file.
    ///   - date: The time of validation. It is evaluated again after each fetch, so that a response that was issued in
    ///     the meantime counts as current.
    ///   - validator: Validates the certificate and keeps the fetched material.
    /// - Returns: The result, and a record of each request for this certificate.
    package func validate(
        _ leaf: Certificate, accompaniedBy others: [Certificate], at date: @autoclosure () -> Date,
        with validator: PathValidator
    ) async -> (PathValidation, [FetchRecord]) {
        let wasRequired = validator.revocation.isRequired
        if Self.namesPlace(leaf) { validator.revocation.isRequired = true }
        defer { validator.revocation.isRequired = wasRequired }
        var result = validator.validate(leaf, accompaniedBy: others, at: date())
        var done: [FetchRecord] = []
        var asked: Set<FetchRequest> = []
        while true {
            let wanted = requests(for: result, asked, validator.revocation)
            if wanted.isEmpty { return (result, done) }
            var isNew = false
            for request in wanted {
                asked.insert(request)
                if let record = records[request] {
                    done.append(record)
                } else {
                    let record = await take(
                        request, asked.count(where: \.isOfTheWeb), into: validator)
                    records[request] = record
                    done.append(record)
                    isNew = isNew || record.hasArrived
                }
            }
            if isNew { result = validator.validate(leaf, accompaniedBy: others, at: date()) }
        }
    }

    // MARK: - Missing material

    /// The requests that may complete the best path, and have not yet been sent for this certificate.
    ///
    /// - Parameter pool: The lists that were available to validation.
    private func requests(
        for result: PathValidation, _ asked: Set<FetchRequest>, _ pool: RevocationPool
    ) -> [FetchRequest] {
        var wanted: [FetchRequest] = []
        /// Adds requests for the URLs that were not requested yet. Returns whether any of these requests can be sent.
        func want(_ kind: FetchRequest.Kind, _ urls: [String], body: [UInt8] = []) -> Bool {
            let new = urls.prefix(DistributionPoint.mostNames).map { FetchRequest(kind, $0, body: body) }
                .filter { !asked.contains($0) && !wanted.contains($0) }
            wanted += new
            return new.contains(where: \.isOfTheWeb)
        }
        let isAnchored = result.attempts[result.chosen].isAnchored
        let failures = Set(result.attempts[result.chosen].failures.map(\.kind))
        if !isAnchored || !failures.isSubset(of: [.revocation, .keyUsage, .strength]) {
            for link in result.path where link.role != .anchor {
                _ = want(.issuer, link.certificate.issuerURLs)
            }
        }
        guard isAnchored else { return wanted }
        for (link, issuer) in zip(result.path, result.path.dropFirst()) {
            let faults = link.problems.filter { $0.kind == .revocation }
            if faults.contains(where: \.isRevoked) { continue }
            let certificate = link.certificate
            for case .list(let signer, _, _, isDelta: false, _) in link.revocation {
                _ = want(.list, certificate.deltaPoints.flatMap(\.urls) + pool.deltaURLs(of: signer))
            }
            if !link.revocation.isEmpty, faults.isEmpty { continue }
            if let question = try? OCSPRequest(for: certificate, issuedBy: issuer.certificate),
                want(.status, certificate.responderURLs, body: question.der)
            {
                continue
            }
            _ = want(.list, certificate.distributionPoints.flatMap(\.urls))
        }
        return wanted
    }

    /// Whether a certificate contains a URL for its revocation status that can be fetched.
    private static func namesPlace(_ certificate: Certificate) -> Bool {
        let places = certificate.responderURLs + certificate.distributionPoints.flatMap(\.urls)
        return places.contains { FetchRequest(.list, $0).isOfTheWeb }
    }

    // MARK: - Fetching

    private func take(
        _ request: FetchRequest, _ count: Int, into validator: PathValidator
    ) async -> FetchRecord {
        func failure(_ reason: String, _ status: FetchRecord.Status = .failed) -> FetchRecord {
            FetchRecord(url: request.url, kind: request.kind, outcome: reason, status: status)
        }
        guard request.isOfTheWeb else {
            return failure("skipped: only http: URLs are fetched")
        }
        let start = self.start ?? now()
        self.start = start
        guard count <= limits.requests else {
            return failure("skipped: more than \(limits.requests) requests for one certificate")
        }
        guard octets <= limits.octets else {
            return failure("skipped: more than \(limits.octets >> 20) MiB were fetched")
        }
        guard now() - start < limits.time else {
            return failure("skipped: fetching has taken more than \(limits.time / .seconds(1)) s")
        }
        let bytes: [UInt8]
        switch await fetch(request) {
        case .arrived(let content): bytes = content
        case .nothing(let reason): return failure(reason)
        case .hostNotPermitted(let reason): return failure(reason, .hostNotPermitted)
        }
        octets += bytes.count
        do throws(CertificateError) {
            let outcome = try add(bytes, of: request.kind, to: validator)
            return FetchRecord(url: request.url, kind: request.kind, outcome: outcome, status: .arrived)
        } catch {
            return failure(error.reason)
        }
    }

    /// Adds fetched material to the validator.
    ///
    /// - Returns: A description of the material.
    private func add(
        _ bytes: [UInt8], of kind: FetchRequest.Kind, to validator: PathValidator
    ) throws(CertificateError) -> String {
        if kind == .status {
            let response = try StatusResponse(der: bytes)
            validator.revocation = validator.revocation.adding(responses: [response])
            return response.refusal.map { "the responder returned no status (\($0))" } ?? "an OCSP response"
        }
        var reader = MaterialReader()
        try reader.take(bytes, named: "the response")
        let material = reader.material
        switch kind {
        case .issuer where !material.certificates.isEmpty:
            validator.pool = validator.pool.adding(material.certificates)
            return material.certificates.count == 1
                ? "a certificate" : "\(material.certificates.count) certificates"
        case .list where !material.lists.isEmpty:
            validator.revocation = validator.revocation.adding(lists: material.lists)
            return material.lists.count == 1
                ? "a revocation list" : "\(material.lists.count) revocation lists"
        default:
            throw CertificateError(.missing, "the response contains a different kind of data")
        }
    }
}
