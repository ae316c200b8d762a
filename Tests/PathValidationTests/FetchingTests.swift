import Foundation
import KeySharing
import OpenSSL
import PathValidation
import TestSupport
import Testing

@Suite("Fetching from the URLs in certificates", .timeLimit(.minutes(10)))
struct FetchingTests {
    private static let base = "http://pki.example/"

    private let root: TestAuthority
    private let authority: TestAuthority

    init() throws {
        root = try TestAuthority.root("Root")
        authority = try root.authority("Authority") {
            $0.revocationListURLs = [Self.base + "root.crl"]
        }
    }

    private func leaf(_ change: (inout CertificateTemplate) -> Void) throws -> Certificate {
        try authority.leaf {
            $0.issuerURLs = [Self.base + "authority.cer"]
            change(&$0)
        }
    }

    /// Validates `leaf` with these answers by URL. Returns the result, the records, and the requested URLs in order.
    private func validate(
        _ leaf: Certificate, untrusted: [Certificate] = [], limits: FetchLimits = .init(),
        _ web: [String: [UInt8]]
    ) async -> (result: PathValidation, records: [FetchRecord], asked: [String]) {
        var asked: [String] = []
        let fetcher = MaterialFetcher(limits: limits) { request in
            asked.append(request.url)
            return web[request.url].map { .arrived($0) } ?? .nothing("nothing is there")
        }
        let validator = Trial(trusted: [root.certificate], untrusted: untrusted).validator
        let (result, records) = await fetcher.validate(
            leaf, accompaniedBy: [], at: TestAuthority.now, with: validator)
        return (result, records, asked)
    }

    private func status(_ status: CertificateStatus, of leaf: Certificate) throws -> [UInt8] {
        let request = try OCSPRequest(for: leaf, issuedBy: authority.certificate)
        return try authority.issuer.statusResponse(
            to: request, thisUpdate: TestAuthority.start, nextUpdate: TestAuthority.end
        ) { _ in status }
    }

    private func encoded(
        _ authority: TestAuthority, _ entries: [CertificateRevocationList.Entry] = []
    ) throws -> [UInt8] {
        try authority.issuer.revocationList(
            entries, thisUpdate: TestAuthority.start, nextUpdate: TestAuthority.end, number: [1]
        ).der
    }

    @Test(
        "The missing issuer is fetched first, then the leaf's status, then the revocation list for the authority"
    )
    func everything() async throws {
        let leaf = try leaf { $0.responderURLs = [Self.base + "ocsp"] }
        let web = [
            Self.base + "authority.cer": authority.certificate.der,
            Self.base + "ocsp": try status(.good, of: leaf), Self.base + "root.crl": try encoded(root),
        ]
        let run = await validate(leaf, web)
        #expect(run.result.isValid, "\(run.result.verification.checks)")
        #expect(run.result.path.map(\.certificate) == [leaf, authority.certificate, root.certificate])
        #expect(run.asked == ["authority.cer", "ocsp", "root.crl"].map { Self.base + $0 })
        #expect(run.records.allSatisfy { $0.hasArrived })
        #expect(run.result.path[0].revocation.count == 1 && run.result.path[1].revocation.count == 1)
    }

    @Test("A fetched OCSP response or a fetched list reveals a revoked certificate")
    func revoked() async throws {
        let byResponse = try leaf { $0.responderURLs = [Self.base + "ocsp"] }
        let byList = try leaf { $0.revocationListURLs = [Self.base + "authority.crl"] }
        let web = [
            Self.base + "ocsp": try status(.revoked(TestAuthority.start, reason: 1), of: byResponse),
            Self.base + "authority.crl": try encoded(authority, [TestAuthority.entry([9])]),
            Self.base + "root.crl": try encoded(root),
        ]
        for leaf in [byResponse, byList] {
            let run = await validate(leaf, untrusted: [authority.certificate], web)
            #expect(run.result.verification.check(.revocation).outcome == .failed)
        }
    }

    @Test("If the responder does not respond, or reports the status unknown, a list is fetched")
    func fallback() async throws {
        let leaf = try leaf {
            $0.responderURLs = [Self.base + "ocsp"]
            $0.revocationListURLs = [Self.base + "authority.crl"]
        }
        var web = [
            Self.base + "authority.crl": try encoded(authority), Self.base + "root.crl": try encoded(root),
        ]
        for answer in [nil, try status(.unknown, of: leaf), [0x30, 0x00]] {
            web[Self.base + "ocsp"] = answer
            let run = await validate(leaf, untrusted: [authority.certificate], web)
            #expect(run.result.isValid, "\(run.result.verification.checks)")
            #expect(run.asked.contains(Self.base + "authority.crl"))
        }
    }

    @Test("A response without a status and a certificate in place of a list are recorded with the reason")
    func otherAnswers() async throws {
        let leaf = try leaf {
            $0.responderURLs = [Self.base + "ocsp"]
            $0.revocationListURLs = [Self.base + "authority.crl"]
        }
        let web = [
            Self.base + "ocsp": try OCSPFailure.tryLater.response(),
            Self.base + "authority.crl": authority.certificate.der,
            Self.base + "root.crl": try encoded(root),
        ]
        let run = await validate(leaf, untrusted: [authority.certificate], web)
        #expect(run.result.verification.check(.revocation).outcome == .unsettled)
        let response = run.records.first { $0.url == Self.base + "ocsp" }
        #expect(response?.outcome == "the responder returned no status (trylater)")
        let list = run.records.first { $0.url == Self.base + "authority.crl" }
        #expect(list?.status == .failed)
        #expect(list?.outcome == "the response contains a different kind of data")
    }

    @Test(
        "The revocation status is unsettled if no URL responds, and not checked if the certificate contains no URL"
    )
    func nothing() async throws {
        let leaf = try leaf { $0.revocationListURLs = [Self.base + "authority.crl", "ldap://x/y"] }
        let silent = await validate(leaf, untrusted: [authority.certificate], [:])
        #expect(silent.result.verification.check(.revocation).outcome == .unsettled)
        let directory = silent.records.first { $0.url.hasPrefix("ldap") }
        #expect(directory?.hasArrived == false)
        #expect(directory?.outcome == "skipped: only http: URLs are fetched")
        #expect(!silent.asked.contains("ldap://x/y"))
        let placeless = try self.leaf { _ in }
        let run = await validate(
            placeless, untrusted: [authority.certificate], [Self.base + "root.crl": try encoded(root)])
        #expect(run.result.verification.check(.revocation).outcome == .notChecked)
        #expect(run.result.isValid)
    }

    @Test(
        "A delta list at a URL in a certificate or list is fetched, and validation also succeeds without it"
    )
    func deltas() async throws {
        let delta = try authority.issuer.revocationList(
            [TestAuthority.entry([9])], thisUpdate: TestAuthority.start, nextUpdate: TestAuthority.end,
            number: [2], extensions: [EncodedExtension.delta]
        ).der
        let pointing = try authority.issuer.revocationList(
            [], thisUpdate: TestAuthority.start, nextUpdate: TestAuthority.end, number: [1],
            extensions: [EncodedExtension.freshest]
        ).der
        let byCertificate = try leaf {
            $0.revocationListURLs = [Self.base + "authority.crl"]
            $0.extensions = [EncodedExtension.freshest]
        }
        let byList = try leaf { $0.revocationListURLs = [Self.base + "authority.crl"] }
        for (leaf, list) in [(byCertificate, try encoded(authority)), (byList, pointing)] {
            var web = [Self.base + "authority.crl": list, Self.base + "root.crl": try encoded(root)]
            let without = await validate(leaf, untrusted: [authority.certificate], web)
            #expect(without.result.isValid, "\(without.result.verification.checks)")
            #expect(without.asked.contains("http://x/d"))
            web["http://x/d"] = delta
            let with = await validate(leaf, untrusted: [authority.certificate], web)
            #expect(with.result.verification.check(.revocation).outcome == .failed)
        }
    }

    @Test("Each URL is requested only once for several certificates, and fetching stops at its limits")
    func limits() async throws {
        var asked: [String] = []
        let list = try encoded(authority)
        let roots = try encoded(root)
        let fetcher = MaterialFetcher { request in
            asked.append(request.url)
            return .arrived(request.url.hasSuffix("root.crl") ? roots : list)
        }
        let validator = Trial(trusted: [root.certificate], untrusted: [authority.certificate]).validator
        for serial in [UInt8(20), 21, 22] {
            let leaf = try authority.leaf(serial: [serial]) {
                $0.revocationListURLs = [Self.base + "authority.crl"]
            }
            let (result, records) = await fetcher.validate(
                leaf, accompaniedBy: [], at: TestAuthority.now, with: validator)
            #expect(result.isValid)
            #expect(records.count == (serial == 20 ? 2 : 0))
        }
        #expect(asked.sorted() == [Self.base + "authority.crl", Self.base + "root.crl"])

        var few = FetchLimits()
        few.requests = 1
        let leaf = try leaf { $0.revocationListURLs = (0..<3).map { Self.base + "\($0).crl" } }
        let run = await validate(leaf, untrusted: [authority.certificate], limits: few, [:])
        #expect(run.asked.count == 1)
        #expect(run.records.contains { $0.outcome.contains("more than 1 requests") })
    }

    @Test("No further request is sent after the limit on the content or on the time is exceeded")
    func contentAndTime() async throws {
        let urls = (0..<3).map { Self.base + "\($0).crl" }
        let leaf = try leaf { $0.revocationListURLs = urls }
        for (size, count) in [(100, 2), (101, 1)] {
            var limits = FetchLimits()
            limits.octets = 100
            let web = Dictionary(
                uniqueKeysWithValues: urls.map { ($0, [UInt8](repeating: 0x78, count: size)) })
            let run = await validate(leaf, untrusted: [authority.certificate], limits: limits, web)
            #expect(run.asked.count == count)
        }
        var limits = FetchLimits()
        limits.time = .zero
        let run = await validate(leaf, untrusted: [authority.certificate], limits: limits, [:])
        #expect(run.asked.isEmpty && run.records.contains { $0.outcome.contains("has taken more than") })
    }

    @Test("The time of all requests counts, and a request at the exact limit is not sent")
    func clock() async throws {
        let plain = try root.authority("Plain")
        let leaf = try plain.leaf { $0.revocationListURLs = (0..<3).map { Self.base + "\($0).crl" } }
        for (seconds, limit, count) in [(0, 0, 0), (0, 1, 3), (20, 30, 2), (20, 40, 2), (20, 41, 3)] {
            var limits = FetchLimits()
            limits.time = .seconds(limit)
            let start = ContinuousClock.now
            var asked = 0
            let fetcher = MaterialFetcher(limits: limits, now: { start + .seconds(asked * seconds) }) { _ in
                asked += 1
                return .nothing("nothing is there")
            }
            _ = await fetcher.validate(
                leaf, accompaniedBy: [], at: TestAuthority.now,
                with: Trial(trusted: [root.certificate], untrusted: [plain.certificate]).validator)
            #expect(asked == count, "\(seconds) s for each request, \(limit) s in total")
        }
    }

    @Test("Only web addresses count towards the limit on requests, and each address is requested once")
    func counting() async throws {
        var one = FetchLimits()
        one.requests = 1
        let url = "HTTPS://pki.example/a.crl"
        let plain = try root.authority("Plain") { $0.revocationListURLs = [url] }
        let mixed = try plain.leaf { $0.revocationListURLs = ["ldap://x/y", url] }
        let run = await validate(mixed, untrusted: [plain.certificate], limits: one, [:])
        #expect(run.asked == [url] && run.records.map(\.url) == ["ldap://x/y", url])

        var asked: [String] = []
        let fetcher = MaterialFetcher { request in
            asked.append(request.url)
            return .hostNotPermitted("not permitted")
        }
        let validator = Trial(trusted: [root.certificate], untrusted: [plain.certificate]).validator
        for _ in 0..<2 {
            let (_, records) = await fetcher.validate(
                mixed, accompaniedBy: [], at: TestAuthority.now, with: validator)
            #expect(records.map(\.status) == [.failed, .hostNotPermitted])
        }
        #expect(asked == [url])
        // A certificate without an address needs no list, also after one with an address.
        #expect(!validator.revocation.isRequired)
    }

    @Test("Nothing is fetched for a revoked certificate, and no issuer for a path that is only revoked")
    func revokedAlready() async throws {
        let leaf = try leaf {
            $0.responderURLs = [Self.base + "ocsp"]
            $0.revocationListURLs = [Self.base + "authority.crl"]
        }
        var asked: [String] = []
        let fetcher = MaterialFetcher { request in
            asked.append(request.url)
            return .nothing("nothing is there")
        }
        _ = await fetcher.validate(
            leaf, accompaniedBy: [], at: TestAuthority.now,
            with: Trial(
                trusted: [root.certificate], untrusted: [authority.certificate],
                lists: [try root.list(), try authority.list([TestAuthority.entry([9])])]
            ).validator)
        #expect(asked.isEmpty)
    }

    @Test("Every certificate of a fetched bundle is used")
    func bundle() async throws {
        let middle = try root.authority("Middle")
        let lower = try middle.authority("Lower", serial: [3])
        let leaf = try lower.leaf { $0.issuerURLs = [Self.base + "lower.p7c"] }
        for issuers in [[lower, middle], [middle, lower]] {
            let bundle = BundleSamples.bundle(issuers.map(\.certificate.der), [])
            let run = await validate(leaf, [Self.base + "lower.p7c": bundle])
            #expect(run.result.isValid && run.records.map(\.outcome) == ["2 certificates"])
        }
    }

    @Test("The issuers of a defective path are fetched, except that of the anchor")
    func issuers() async throws {
        let anchor = try TestAuthority.root("Anchor") { $0.issuerURLs = [Self.base + "anchor.cer"] }
        let middle = try anchor.authority("Middle") { $0.issuerURLs = [Self.base + "middle.cer"] }
        let leaf = try middle.leaf {
            $0.issuerURLs = [Self.base + "leaf.cer"]
            $0.notAfter = TestAuthority.now - 1
        }
        var asked: [String] = []
        let fetcher = MaterialFetcher { request in
            asked.append(request.url)
            return .nothing("nothing is there")
        }
        _ = await fetcher.validate(
            leaf, accompaniedBy: [], at: TestAuthority.now,
            with: Trial(trusted: [anchor.certificate], untrusted: [middle.certificate]).validator)
        #expect(asked == ["leaf.cer", "middle.cer"].map { Self.base + $0 })
    }

    @Test("Without an anchor, issuers are fetched, but no revocation status")
    func unanchored() async throws {
        let stranger = try TestAuthority.root("Stranger").authority("Authority")
        let leaf = try stranger.leaf {
            $0.issuerURLs = [Self.base + "authority.cer"]
            $0.responderURLs = [Self.base + "ocsp"]
            $0.revocationListURLs = [Self.base + "authority.crl"]
        }
        let asked = await validate(leaf, untrusted: [stranger.certificate], [:]).asked
        #expect(asked == [Self.base + "authority.cer"])
    }

    @Test("Fetching stops if every fetched authority leads to another one")
    func endless() async throws {
        var count = 0
        let key = authority.key
        let root = root
        let fetcher = MaterialFetcher { request in
            count += 1
            // Each answer contains an unknown issuer.
            let made = try? TestAuthority.root("Stranger \(count)", key: key).authority("Authority", key: key)
            {
                $0.issuerURLs = [Self.base + "\(count)"]
            }
            return made.map { .arrived($0.certificate.der) } ?? .nothing("nothing")
        }
        let (result, records) = await fetcher.validate(
            try leaf { _ in }, accompaniedBy: [], at: TestAuthority.now,
            with: Trial(trusted: [root.certificate]).validator)
        #expect(!result.isValid)
        #expect(count <= 64 && records.count <= 66)
    }
}
