import LoopbackHTTP
import SecretMemory
@testable import TestCredentials
import DeviceSimulation
import Foundation
import KeySharing
import OpenSSL
import TestSupport
@testable import TestVectors
import Testing

import KeyShareProvider

@Suite("The PKI responder", .timeLimit(.minutes(10)))
struct PKIResponderTests {
    private static let date = Date(timeIntervalSince1970: 1_767_225_600)
    private let scratch: ScratchFolder
    private let device: Device
    private let store: ProviderStore
    private let responder: PKIResponder

    init() async throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
        store = try ProviderStore(device)
        responder = PKIResponder(store) { Self.date }
        var request = ProvisioningRequest(
            personCount: 1, types: [.signature], generations: 2, algorithm: .p256, date: Self.date)
        request.locations = PKILocations(base: "http://127.0.0.1:8080")
        _ = try await Provisioner(store).run(
            ProvisioningRun(request, in: store, seed: Seed("1"), at: Self.date, now: Self.date))
    }

    private func get(_ path: String) -> HTTPResponse {
        responder.answer(HTTPRequest(method: .get, path: path))
    }

    private func certificates() throws -> [Certificate] {
        try store.identities().map { try store.certificate($0.label) }
    }

    /// Returns the response about certificates of one authority of the store.
    private func ask(
        _ serialNumbers: [[UInt8]], of role: TestAuthorityRole = .email, byGet: Bool = false
    ) throws -> StatusClient.Answer {
        let authority = try #require(try ProvisioningStore(store).authority())
        let issuer = authority[role].certificate.der
        let request = try StatusClient.request(serialNumbers, of: issuer, nonce: [1, 2, 3])
        let text = Data(request).base64EncodedString()
            .addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        let query =
            byGet
            ? HTTPRequest(method: .get, path: "/ocsp/" + (text ?? ""))
            : HTTPRequest(method: .post, path: "/ocsp", body: request)
        let answer = responder.answer(query)
        #expect((answer.status, answer.contentType) == (200, "application/ocsp-response"))
        return try StatusClient.read(
            answer.body, to: request, serialNumbers, of: issuer,
            trusting: authority[.root].certificate.der, at: Self.date)
    }

    @Test("A certificate is revoked once, and one of another keychain's authority is not revoked")
    func revocation() async throws {
        let provisioning = ProvisioningStore(store)
        let certificate = try #require(try certificates().first)
        let first = try provisioning.revoke([certificate], reason: .superseded, at: Self.date)
        let again = try provisioning.revoke(
            [certificate], reason: .keyCompromise, at: Self.date.addingTimeInterval(3_600))
        for (results, isNew) in [(first, true), (again, false)] {
            let result = try #require(results.first).get()
            #expect(result.isNew == isNew)
            #expect(result.revocation == Revocation(date: Self.date, reason: .superseded))
        }
        // The other authority has the same names and another key.
        let other = try ProviderStore(try Device(folder: scratch.path("other")))
        _ = try await Provisioner(other).run(
            ProvisioningRequest(
                personCount: 1, types: [.signature], generations: 1, algorithm: .p256, date: Self.date),
            from: .system)
        let foreign = try other.certificate(try #require(try other.identities().first).label)
        let refused = try #require(
            try provisioning.revoke([foreign], reason: .superseded, at: Self.date).first)
        #expect(throws: ProvisioningError(.notRevocable, "")) { try refused.get() }
        #expect(try provisioning.revocation(of: foreign) == nil)
    }

    @Test(
        "The responder serves the issuer's certificate and revocation list at the URLs in every certificate")
    func files() throws {
        let authority = try #require(try ProvisioningStore(store).authority())
        let certificate = try #require(try certificates().first)
        // The certificate contains both URLs as plain text.
        let text = String(decoding: certificate.der, as: UTF8.self)
        for file in [PKIFile.certificate(.email), .revocationList(.email)] {
            #expect(text.contains("http://127.0.0.1:8080" + authority.path(of: file)))
        }
        #expect(text.contains("http://127.0.0.1:8080/ocsp"))

        let issuer = get(authority.path(of: .certificate(.email)))
        #expect(issuer.contentType == "application/pkix-cert")
        #expect(issuer.body == authority[.email].certificate.der)
        let list = get(authority.path(of: .revocationList(.email)))
        #expect(list.contentType == "application/pkix-crl")
        let decoded = try CertificateRevocationList(der: list.body)
        #expect(decoded.issuer == certificate.issuer)
        #expect((decoded.thisUpdate, decoded.entries) == (Self.date, []))
    }

    @Test("The index lists every path that is served, and any other path returns the status not found")
    func index() throws {
        let paths = String(decoding: get("/").body, as: UTF8.self).split(separator: "\n").map(String.init)
        #expect(paths.count == 9)
        for path in paths where path != "/ocsp" { #expect(get(path).status == 200, "\(path)") }
        for path in ["", "/ocsp", "/crl/NOTHING.crl", "/sign/../crl/TESTROOTCA1.crl", "//"] {
            #expect(get(path).status == 404, "\(path)")
        }
        #expect(responder.answer(HTTPRequest(method: .post, path: "/", body: [1])).status == 405)
    }

    @Test(
        "A status is good for an issued certificate, revoked for a revoked one, and unknown for any other",
        arguments: [false, true])
    func statuses(byGet: Bool) throws {
        let serials = try certificates().map(\.serialNumber)
        #expect(try ask(serials + [[9]], byGet: byGet).statuses == [.good, .good, .unknown])

        let revoked = try #require(try certificates().first)
        let date = Self.date.addingTimeInterval(-60)
        try ProvisioningStore(store).register(revoked: [revoked], at: date)
        let answer = try ask([revoked.serialNumber], byGet: byGet)
        #expect(answer.statuses == [.revoked])
        #expect((answer.revoked, answer.reason) == (date, 1))
        #expect(answer.isAuthentic && answer.hasSameNonce)
        #expect((answer.produced, answer.thisUpdate) == (Self.date, Self.date))
        let file = try #require(try ProvisioningStore(store).authority()).path(of: .revocationList(.email))
        let list = try CertificateRevocationList(der: get(file).body)
        #expect(
            list.entries == [.init(serialNumber: revoked.serialNumber, date: date, reason: 1)])
    }

    @Test("The responder answers for authorities and for registered certificates outside the keychain")
    func others() throws {
        let authority = try #require(try ProvisioningStore(store).authority())
        #expect(try ask([authority[.email].certificate.serialNumber], of: .root).statuses == [.good])
        var random = SystemRandomNumberGenerator()
        let context = TestVectorContext(
            authority: authority, person: TestPerson(using: &random), date: Self.date, algorithm: .p256,
            password: SecretBytes(utf8: ""), locations: PKILocations(base: "http://127.0.0.1:8080"),
            source: .system)
        let certificate = try context.identity().certificate
        #expect(String(decoding: certificate.der, as: UTF8.self).contains("http://127.0.0.1:8080/ocsp"))
        #expect(try ask([certificate.serialNumber]).statuses == [.unknown])
        #expect(context.issued == [certificate])
        try ProvisioningStore(store).register(issued: context.issued, at: Self.date)
        #expect(try ask([certificate.serialNumber]).statuses == [.good])
        try ProvisioningStore(store).register(revoked: context.issued, at: Self.date)
        #expect(try ask([certificate.serialNumber]).statuses == [.revoked])
    }

    @Test("A serial number of one issuer is unknown to the other issuers, even if it is revoked")
    func otherIssuer() throws {
        let certificate = try #require(try certificates().first)
        for isRevoked in [false, true] {
            if isRevoked { try ProvisioningStore(store).register(revoked: [certificate], at: Self.date) }
            for role in [TestAuthorityRole.root, .identity, .device] {
                #expect(try ask([certificate.serialNumber], of: role).statuses == [.unknown])
            }
        }
    }

    @Test("A PKI has an authority for every role, and a list contains no negative serial number")
    func roles() throws {
        let authority = try #require(try ProvisioningStore(store).authority())
        var issuers: [TestAuthorityRole: CertificateIssuer] = [:]
        for role in TestAuthorityRole.allCases { issuers[role] = authority[role] }
        #expect(TestAuthority(issuers) != nil)
        for role in TestAuthorityRole.allCases {
            var others = issuers
            others[role] = nil
            #expect(TestAuthority(others) == nil)
        }
        let record = IssuanceRecord(try #require(try certificates().first), revoked: Self.date)
        let negative = IssuanceRecord(
            issuer: record.issuer, serialNumber: "-05", revoked: Self.date, reason: .superseded)
        let list = try authority.revocationList(
            of: .email, revoked: [record, negative], at: Self.date, from: .system)
        #expect(list.entries.map(\.date) == [Self.date])
    }

    @Test("Two PKIs in one keychain have separate files")
    func several() throws {
        let first = try #require(try ProvisioningStore(store).authority())
        let second = try ProvisioningStore(store).authority(
            covering: Self.date..<Self.date.addingTimeInterval(50 * 366 * 86_400), algorithm: .p256,
            locations: .example, from: .system
        ).authority
        for (authority, number) in [(first, 1), (second, 2)] {
            #expect(authority.number == number)
            for role in TestAuthorityRole.allCases {
                let body = get(authority.path(of: .certificate(role))).body
                #expect(body == authority[role].certificate.der)
                let list = get(authority.path(of: .revocationList(role))).body
                let issuer = try CertificateRevocationList(der: list).issuer
                #expect(issuer == authority[role].certificate.subject)
            }
        }
        #expect(first[.root].certificate.subject != second[.root].certificate.subject)
    }

    @Test("Two PKIs with equal names are served at the URLs of their own certificates")
    func merged() async throws {
        let other = try ProviderStore(try Device(folder: scratch.path("other")))
        var request = ProvisioningRequest(
            personCount: 1, types: [.signature], generations: 1, algorithm: .p256, date: Self.date)
        request.locations = PKILocations(base: "http://127.0.0.1:8080")
        _ = try await Provisioner(other).run(
            ProvisioningRun(request, in: other, seed: Seed("2"), at: Self.date, now: Self.date))
        let revoked = try other.certificate(try #require(try other.identities().first).label)
        try ProvisioningStore(other).register(revoked: [revoked], at: Self.date)
        _ = try ProvisioningStore(store).merge(other)

        let authorities = try ProvisioningStore(store).authorities()
        #expect(authorities.map(\.number) == [1, 1])
        for certificate in try certificates() {
            let text = String(decoding: certificate.der, as: UTF8.self)
            let authority = try #require(
                authorities.first {
                    $0[.email].certificate.subjectKeyIdentifier == certificate.authorityKeyIdentifier
                })
            let issuer = authority[.email].certificate
            for file in [PKIFile.certificate(.email), .revocationList(.email)] {
                #expect(text.contains("http://127.0.0.1:8080" + authority.path(of: file)))
            }
            #expect(get(authority.path(of: .certificate(.email))).body == issuer.der)
            let list = try CertificateRevocationList(
                der: get(authority.path(of: .revocationList(.email))).body)
            #expect(list.entries.isEmpty == (certificate != revoked))

            let serials = [certificate.serialNumber]
            let query = try StatusClient.request(serials, of: issuer.der)
            let answer = responder.answer(HTTPRequest(method: .post, path: "/ocsp", body: query))
            let status = try StatusClient.read(
                answer.body, to: query, serials, of: issuer.der,
                trusting: authority[.root].certificate.der, at: Self.date)
            #expect(status.statuses == [certificate == revoked ? .revoked : .good])
        }
        let paths = String(decoding: get("/").body, as: UTF8.self).split(separator: "\n")
        #expect(paths.count == 17 && Set(paths).count == 17)
    }

    @Test("The paths in certificates of earlier versions return the files of the newest PKI")
    func earlier() throws {
        let authority = try #require(try ProvisioningStore(store).authority())
        let path = PKIFile.certificate(.email).earlierPath(1)
        #expect(path == "/sign/TESTEMAILCA1.cer")
        #expect(get(path).body == authority[.email].certificate.der)
        #expect(get(PKIFile.revocationList(.email).earlierPath(1)).status == 200)
    }

    @Test("A status request for another PKI's certificate returns unauthorized")
    func foreign() throws {
        let other = try TestAuthority(
            algorithm: .p256, validity: Self.date..<Self.date.addingTimeInterval(86_400), from: .system)
        let issuer = other[.email].certificate.der
        let request = try StatusClient.request([[1]], of: issuer)
        let answer = responder.answer(HTTPRequest(method: .post, path: "/ocsp", body: request))
        #expect(answer.body == (try OCSPFailure.unauthorized.response()))
    }

    @Test("A body that is not a status request is reported as malformed, with POST and with GET")
    func malformed() throws {
        let expected = try OCSPFailure.malformedRequest.response()
        #expect(responder.answer(HTTPRequest(method: .post, path: "/ocsp")).body == expected)
        #expect(responder.answer(HTTPRequest(method: .post, path: "/ocsp", body: [1, 2])).body == expected)
        for path in ["/ocsp/", "/ocsp/%", "/ocsp/?", "/ocsp/AAAA", "/ocsp/MA%3D%3D"] {
            #expect(get(path).body == expected, "\(path)")
        }
    }

    @Test("Before the device's first unlock, the responder replies tryLater")
    func locked() throws {
        let serial = try #require(try certificates().first).serialNumber
        let issuer = try #require(try ProvisioningStore(store).authority())[.email].certificate.der
        let request = try StatusClient.request([serial], of: issuer)
        let list = try #require(try ProvisioningStore(store).authority()).path(of: .revocationList(.email))
        try device.restart()
        let answer = responder.answer(HTTPRequest(method: .post, path: "/ocsp", body: request))
        #expect(answer.body == (try OCSPFailure.tryLater.response()))
        #expect(get(list).status == 503)
    }

    @Test("The responder serves no files if the keychain has no PKI")
    func empty() throws {
        let store = try ProviderStore(try Device(folder: scratch.path("empty")))
        let responder = PKIResponder(store) { Self.date }
        for file in PKIFile.allCases {
            #expect(responder.answer(HTTPRequest(method: .get, path: file.earlierPath(1))).status == 404)
        }
    }
}
