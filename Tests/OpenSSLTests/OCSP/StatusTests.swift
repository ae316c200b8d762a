import COpenSSL
import Foundation
import TestSupport
import Testing

@testable import OpenSSL

@Suite("OCSP requests and responses", .timeLimit(.minutes(10)))
struct StatusTests {
    private static let root = TestPKI.root
    private static let issuing = TestPKI.issuer("Test Issuing", pathLength: 0, under: root, serial: [2])
    private static let now = TestPKI.now
    private static let serials: [[UInt8]] = [[4, 0x8F], [0x90], [7]]

    private static func respond(
        to request: [UInt8], nextUpdate: Date = now + 3600
    ) throws -> [UInt8] {
        try issuing.statusResponse(
            to: try OCSPRequest(der: request), thisUpdate: now, nextUpdate: nextUpdate
        ) { identifier in
            switch identifier.serialHex {
            case "048F": .good
            case "90": .revoked(TestPKI.start, reason: 1)
            default: .unknown
            }
        }
    }

    private static func read(
        _ response: [UInt8], to request: [UInt8], digest: String = "SHA1"
    ) throws -> StatusClient.Answer {
        try StatusClient.read(
            response, to: request, serials, of: issuing.certificate.der, digest: digest,
            trusting: root.certificate.der, at: now)
    }

    @Test(
        "A signed response contains the given status and times",
        arguments: ["SHA1", "SHA256"])
    func statuses(digest: String) throws {
        let request = try StatusClient.request(
            Self.serials, of: Self.issuing.certificate.der, digest: digest)
        let answer = try Self.read(try Self.respond(to: request), to: request, digest: digest)
        #expect(answer.code == 0)
        #expect(answer.statuses == [.good, .revoked, .unknown])
        #expect((answer.reason, answer.revoked) == (1, TestPKI.start))
        #expect((answer.produced, answer.thisUpdate) == (Self.now, Self.now))
        #expect(answer.nextUpdate == Self.now + 3600)
        #expect(answer.isAuthentic)
    }

    @Test(
        "A response contains a nonce only if the request does, and it is the request's",
        arguments: [nil, 1, 32, 128])
    func nonce(count: Int?) throws {
        let nonce = count.map { [UInt8](repeating: 7, count: $0) }
        let request = try StatusClient.request(Self.serials, of: Self.issuing.certificate.der, nonce: nonce)
        let answer = try Self.read(try Self.respond(to: request), to: request)
        #expect(answer.hasSameNonce)
        let other = try StatusClient.request(
            Self.serials, of: Self.issuing.certificate.der, nonce: [1, 2, 3])
        #expect(try !Self.read(try Self.respond(to: request), to: other).hasSameNonce)
    }

    @Test("A response that a different issuer signed does not verify")
    func forgery() throws {
        let other = TestPKI.issuer("Test Issuing", pathLength: 0, under: Self.root, serial: [3])
        let request = try StatusClient.request(Self.serials, of: Self.issuing.certificate.der)
        let forged = try other.statusResponse(
            to: try OCSPRequest(der: request), thisUpdate: Self.now, nextUpdate: Self.now
        ) { _ in .good }
        #expect(try !Self.read(forged, to: request).isAuthentic)
    }

    @Test("A request identifies the issuer by digests of its name and key, under any supported algorithm")
    func issuers() throws {
        for digest in ["SHA1", "SHA256", "SHA384", "SHA512"] {
            let request = try StatusClient.request(
                [[1]], of: Self.issuing.certificate.der, digest: digest)
            let identifier = try #require(try OCSPRequest(der: request).certificates.first)
            #expect(identifier.serialHex == "01")
            #expect(identifier.isIssued(by: Self.issuing.certificate))
            #expect(!identifier.isIssued(by: Self.root.certificate))
        }
    }

    @Test("A negative serial number in a request is shown with its sign")
    func negativeSerial() throws {
        let request = try StatusClient.request([[0x48]], of: Self.issuing.certificate.der)
        let negative = try #require(request.replacingFirst([0x02, 0x01, 0x48], with: [0x02, 0x01, 0xFE]))
        #expect(try OCSPRequest(der: negative).certificates.map(\.serialHex) == ["-02"])
    }

    @Test(
        "Bytes that are not a request are rejected",
        arguments: [
            [], [0x30, 0x00], [0x30, 0x80, 0x00, 0x00], [UInt8](repeating: 0xFF, count: 100),
        ] as [[UInt8]])
    func garbage(der: [UInt8]) {
        #expect(throws: CertificateError.self) { try OCSPRequest(der: der) }
    }

    @Test(
        "A request with a wrong nonce, no or too many certificates, or trailing bytes is rejected"
    )
    func refusals() throws {
        let issuer = Self.issuing.certificate.der
        let bad = [
            try StatusClient.request([[1]], of: issuer, nonce: [UInt8](repeating: 7, count: 129)),
            try StatusClient.request((1...65).map { [$0] }, of: issuer),
            try StatusClient.request([], of: issuer),
        ]
        for request in bad {
            #expect(throws: CertificateError(.malformed, "")) { try OCSPRequest(der: request) }
        }
        let good = try StatusClient.request((1...64).map { [$0] }, of: issuer)
        #expect(try OCSPRequest(der: good).certificates.count == 64)
        #expect(throws: CertificateError(.trailingBytes, "")) { try OCSPRequest(der: good + [0]) }
    }

    @Test("Parsing a signed request does not load the keys of its certificates")
    func requestKeys() throws {
        let scratch = try ScratchFolder()
        try scratch.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem \\
              -out client.pem -subj /CN=Client -days 30
            openssl ocsp -issuer client.pem -serial 9 -signer client.pem -signkey key.pem -reqout request.der
            """)
        let der = try scratch.read("request.der")
        // OpenSSL can verify the signature only if the key is loaded.
        func isVerified(_ request: OpaquePointer?) -> Bool {
            defer { ERR_clear_error() }
            return unsafe OCSP_request_verify(request, nil, nil, UInt(OCSP_NOVERIFY)) == 1
        }
        let request = unsafe try OCSPRequest(der: der).makePointer()
        defer { unsafe OCSP_REQUEST_free(request) }
        #expect(unsafe !isVerified(request))
        let loaded = unsafe der.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            return unsafe d2i_OCSP_REQUEST(nil, &cursor, bytes.count)
        }
        defer { unsafe OCSP_REQUEST_free(loaded) }
        #expect(unsafe isVerified(loaded))
    }

    @Test("Decoding a response does not load the keys of its certificates")
    func responseKeys() throws {
        let request = try StatusClient.request(Self.serials, of: Self.issuing.certificate.der)
        let der = try Self.respond(to: request)
        let response = unsafe try StatusResponse.decode(der)
        defer { unsafe OCSP_RESPONSE_free(response) }
        let basic = unsafe try StatusResponse.decodeBasic(in: response)
        defer { unsafe OCSP_BASICRESP_free(basic) }
        let certificates = unsafe OpenSSLASN1.elements(OCSP_resp_get0_certs(basic))
        #expect(unsafe certificates.count == 1)
        #expect(unsafe certificates.allSatisfy { unsafe X509_get0_pubkey(OpaquePointer($0)) == nil })
        ERR_clear_error()
        let held = try StatusResponse(der: der).contents()?.certificates
        #expect(held == [Self.issuing.certificate])
    }

    /// A signed response with an extension, either of the whole response or of the first status.
    private static func response(
        _ oid: String, isCritical: Bool, isOfStatus: Bool
    ) throws -> StatusResponse {
        let request = try StatusClient.request(serials, of: issuing.certificate.der)
        let original = unsafe try StatusResponse.decode(respond(to: request))
        defer { unsafe OCSP_RESPONSE_free(original) }
        let basic = unsafe try StatusResponse.decodeBasic(in: original)
        defer { unsafe OCSP_BASICRESP_free(basic) }
        let value = unsafe try OpenSSLASN1.string(V_ASN1_OCTET_STRING, [5, 0])
        defer { unsafe ASN1_OCTET_STRING_free(value) }
        let object = unsafe try OpenSSLASN1.object(oid)
        defer { unsafe ASN1_OBJECT_free(object) }
        let added = unsafe X509_EXTENSION_create_by_OBJ(nil, object, isCritical ? 1 : 0, value)
        defer { unsafe X509_EXTENSION_free(added) }
        if isOfStatus {
            unsafe OCSP_SINGLERESP_add_ext(OCSP_resp_get0(basic, 0), added, -1)
        } else {
            unsafe OCSP_BASICRESP_add_ext(basic, added, -1)
        }
        let flags = UInt(OCSP_RESPID_KEY) | UInt(OCSP_NOTIME)
        let isSigned = unsafe try issuing.certificate.withPointer { certificate in
            unsafe issuing.privateKey.withPointer { key in
                unsafe OCSP_basic_sign(basic, certificate, key, EVP_sha256(), nil, flags)
            }
        }
        try #require(isSigned == 1)
        let response = unsafe OCSP_response_create(CInt(OCSP_RESPONSE_STATUS_SUCCESSFUL), basic)
        defer { unsafe OCSP_RESPONSE_free(response) }
        return try StatusResponse(der: unsafe OpenSSLASN1.der(response) { unsafe i2d_OCSP_RESPONSE($0, $1) })
    }

    @Test("A response with an unknown critical extension is unusable", arguments: [false, true])
    func criticalExtensions(isOfStatus: Bool) throws {
        let certificate = try Self.issuing.issue(TestPKI.template(), to: TestPKI.leafKey)
        func finding(_ oid: String, isCritical: Bool) throws -> StatusResponse.Finding {
            try Self.response(oid, isCritical: isCritical, isOfStatus: isOfStatus).finding(
                on: certificate, issuedBy: Self.issuing.certificate, at: Self.now, securityLevel: nil,
                VerificationObjects())
        }
        let good = StatusResponse.Finding.status(
            .good, thisUpdate: Self.now, nextUpdate: Self.now + 3600)
        #expect(try finding("1.2.3.4", isCritical: false) == good)
        // The nonce, the archive cutoff and the reason of a revocation.
        for known in ["1.3.6.1.5.5.7.48.1.2", "1.3.6.1.5.5.7.48.1.6", "2.5.29.21"] {
            #expect(try finding(known, isCritical: true) == good, "\(known)")
        }
        #expect(
            try finding("1.2.3.4", isCritical: true)
                == .unusable("its critical extension 1.2.3.4 is unknown"))
    }

    @Test("A failure response contains its failure code and no status", arguments: OCSPFailure.allCases)
    func failures(failure: OCSPFailure) throws {
        let request = try StatusClient.request([[1]], of: Self.issuing.certificate.der)
        let answer = try Self.read(try failure.response(), to: request)
        #expect(answer.code == failure.rawValue)
        #expect(answer.statuses == [])
    }

    @Test(
        "A request with one flipped bit is rejected, or parsed as a request for exactly one certificate"
    )
    func mutants() throws {
        let request = try StatusClient.request([[4, 0x8F]], of: Self.issuing.certificate.der, nonce: [1, 2])
        let original = try OCSPRequest(der: request)
        var (accepted, rejected) = (0, 0)
        for index in request.indices {
            for bit in 0..<8 {
                var mutant = request
                mutant[index] ^= 1 << UInt8(bit)
                guard let parsed = try? OCSPRequest(der: mutant) else {
                    rejected += 1
                    continue
                }
                accepted += 1
                #expect(parsed.der == mutant && parsed.certificates.count == 1)
                // A change outside of the identifier does not change its issuer.
                let isOwn = parsed.certificates.contains { $0.isIssued(by: Self.issuing.certificate) }
                #expect(isOwn || parsed.certificates != original.certificates)
                _ = try? Self.respond(to: mutant)
            }
        }
        #expect(accepted > 0 && rejected > 0)
    }
}
