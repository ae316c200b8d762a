import Foundation
import OpenSSL
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@Suite("Weak signatures and signatures that cannot be verified", .timeLimit(.minutes(10)))
struct SignatureStrengthTests {
    private let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    /// Signs a message with the openssl command.
    ///
    /// - Parameters:
    ///   - key: The options of `openssl req` for a new key.
    ///   - options: The options of `openssl cms -sign`.
    private func message(
        _ key: String = "-newkey rsa:2048", _ options: String = ""
    ) throws -> [UInt8] {
        _ = try scratch.write(Array("hello\r\n".utf8), as: "text")
        let run = Process()
        run.executableURL = URL(fileURLWithPath: "/bin/sh")
        run.currentDirectoryURL = URL(fileURLWithPath: scratch.path)
        run.arguments = [
            "-ec",
            """
            exec 2>errors
            openssl req -x509 \(key) -nodes -keyout key.pem -out certificate.pem -subj /CN=Signer -days 30
            openssl cms -sign -binary -nodetach -in text -signer certificate.pem -inkey key.pem -outform DER \
              -out message.der \(options)
            """,
        ]
        try run.run()
        run.waitUntilExit()
        try #require(run.terminationStatus == 0)
        return try scratch.read("message.der")
    }

    private func signers(of message: [UInt8]) throws -> [CMSSigner] {
        let file = try UnnamedFile(in: scratch.path)
        let structure = try CMSStructure(reading: ArraySource(message)) { try file.write($0) }
        try file.rewind()
        return try withExtendedLifetime(file) { try CMSSignature(structure).verify(file.descriptor) }
    }

    @Test(
        "A signature with less than 112 bits of strength is valid, and its weakness is reported",
        arguments: [
            ("-newkey rsa:2048", "-md md5", "MD5"), ("-newkey rsa:2048", "-md sha1", "SHA1"),
            ("-newkey rsa:512", "-md sha256", "512 bits"), ("-newkey rsa:1024", "-md sha256", "1024 bits"),
            ("-newkey rsa -pkeyopt rsa_keygen_bits:2048 -pkeyopt rsa_keygen_pubexp:3", "", "exponent"),
            ("-newkey ec -pkeyopt ec_paramgen_curve:P-192", "", "192 bits"),
        ])
    func weak(key: String, options: String, weakness: String) throws {
        let signer = try #require(try signers(of: try message(key, options)).first)
        #expect(signer.weakness?.contains(weakness) == true, "\(signer.weakness ?? "strong")")
    }

    @Test(
        "A signature with at least 112 bits of strength is strong",
        arguments: [
            ("-newkey rsa:2048", ""), ("-newkey rsa:2048", "-md sha224"),
            ("-newkey rsa:2048", "-md sha512 -keyopt rsa_padding_mode:pss"),
            ("-newkey rsa-pss -pkeyopt rsa_keygen_bits:2048", "-keyopt rsa_padding_mode:pss"),
            ("-newkey ec -pkeyopt ec_paramgen_curve:P-256", "-noattr"),
            ("-newkey ec -pkeyopt ec_paramgen_curve:P-224", ""),
        ])
    func strong(key: String, options: String) throws {
        let signers = try signers(of: try message(key, options))
        #expect(signers.count == 1 && signers.first?.weakness == nil)
    }

    @Test("RSA and RSASSA-PSS exponents that are even or below 65,537 are weak")
    func exponents() throws {
        func der(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, UInt8(content.count)] + content }
        func key(_ exponent: [UInt8], algorithm last: UInt8) throws -> PublicKey {
            let modulus = der(0x02, [0] + [UInt8](repeating: 0xFB, count: 64))
            let identifier = der(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, last])
            return try PublicKey(
                spki: der(
                    0x30,
                    der(0x30, identifier + (last == 1 ? [0x05, 0x00] : []))
                        + der(0x03, [0] + der(0x30, modulus + der(0x02, exponent)))))
        }
        let weak: [[UInt8]] = [
            [0], [1], [2], [3], [17], [0x00, 0xFF], [0x01, 0x01], [0x00, 0xFF, 0xFF], [0x01, 0x00, 0x00],
            [0x01, 0x00, 0x02], [0x01, 0x00, 0x00, 0x00], [0xFF],
        ]
        let strong: [[UInt8]] = [
            [0x01, 0x00, 0x01], [0x01, 0x00, 0x03], [0x02, 0x00, 0x01], [0x01, 0x00, 0x00, 0x01],
            [0x00, 0x80, 0x00, 0x01], [0x01] + [UInt8](repeating: 0, count: 20) + [0x01],
        ]
        for algorithm in [UInt8(1), 10] {
            for exponent in weak { #expect(try key(exponent, algorithm: algorithm).hasWeakRSAExponent) }
            for exponent in strong { #expect(try !key(exponent, algorithm: algorithm).hasWeakRSAExponent) }
        }
        #expect(try !TestPKI.leaf().publicKey.hasWeakRSAExponent)
        #expect(
            try !TestPKI.root.issue(try TestPKI.template(), to: TestPKI.rsaKey).publicKey.hasWeakRSAExponent)
    }

    @Test("The errors for a damaged signature and for a missing certificate differ")
    func reasons() throws {
        let message = try message()
        // The last bytes of the message are the value of the RSA signature.
        for place in [1, 20, 100, 200, 250] {
            var damaged = message
            damaged[message.count - place] ^= 1
            let error = #expect(throws: CMSError.self) { try signers(of: damaged) }
            #expect(error?.code == .invalidSignature && error?.reason.contains("does not match") == true)
        }
        let bare = try self.message("-newkey rsa:2048", "-nocerts")
        let error = #expect(throws: CMSError.self) { try signers(of: bare) }
        #expect(
            error?.code == .invalidSignature
                && error?.reason.contains("does not contain the signer's certificate") == true)
    }

    /// The reports on a message without certificates, which other certificates accompany.
    private func reports(
        _ message: [UInt8], accompaniedBy others: [Certificate],
        securityLevel: Int = CMSSignature.securityLevel
    ) throws -> [CMSSignerReport] {
        let file = try UnnamedFile(in: scratch.path)
        let structure = try CMSStructure(reading: ArraySource(message)) { try file.write($0) }
        try file.rewind()
        return try withExtendedLifetime(file) {
            try CMSSignature(structure).examine(
                file.descriptor, accompaniedBy: others, securityLevel: securityLevel)
        }
    }

    @Test(
        "A signer is found among the accompanying certificates, and a key that cannot verify is not a mismatch"
    )
    func accompanying() throws {
        let message = try self.message("-newkey rsa:2048", "-nocerts")
        let signer = try #require(Certificate.pem(scratch.read("certificate.pem")).first)
        #expect(try reports(message, accompaniedBy: []).map(\.outcome) == [.missingCertificate])
        #expect(try reports(message, accompaniedBy: [TestPKI.leaf()]).map(\.outcome) == [.missingCertificate])
        let report = try reports(message, accompaniedBy: [signer])
        #expect(report.map(\.outcome) == [.sound] && report[0].cause == nil)
        // Another certificate with the same issuer and serial number.
        func outcome(_ key: PrivateKey) throws -> CMSSignerReport.Outcome? {
            var template = try TestPKI.template()
            template.subject = signer.subject
            template.serialNumber = signer.serialNumber
            let other = try CertificateIssuer(selfSigned: template, privateKey: key).certificate
            return try reports(message, accompaniedBy: [other]).first?.outcome
        }
        #expect(try outcome(TestPKI.rsaKey) == .mismatch)
        var damaged = message
        damaged[message.count - 20] ^= 1
        let mismatch = try reports(damaged, accompaniedBy: [signer])
        #expect(mismatch.map(\.outcome) == [.mismatch] && mismatch[0].cause?.queue.isEmpty == false)
        let ed25519 = try PrivateKey(pkcs8: SecretBytes(SampleKeys.ed25519.pkcs8))
        guard case .unsupported? = try outcome(ed25519) else {
            Issue.record("not unsupported")
            return
        }
    }

    @Test("A signature with an unknown digest is unsupported, and not reported as altered")
    func unknownDigest() throws {
        let message = try message()
        let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
        var altered = message
        while let next = altered.replacingFirst(sha256, with: sha256.dropLast() + [0x63]) { altered = next }
        guard case .unsupported? = try reports(altered, accompaniedBy: []).first?.outcome else {
            Issue.record("not unsupported")
            return
        }
    }

    @Test("A digest and a key are weak from the security level that exceeds their strength")
    func levels() throws {
        for (key, options, level) in [
            ("-newkey rsa:2048", "-md md5", 1), ("-newkey rsa:2048", "-md sha1", 1),
            ("-newkey rsa:1024", "-md sha256", 2), ("-newkey rsa:2048", "-md sha224", 3),
            ("-newkey ec -pkeyopt ec_paramgen_curve:P-256", "-md sha256", 4),
        ] {
            let message = try message(key, options)
            for tried in 0...4 {
                let report = try reports(message, accompaniedBy: [], securityLevel: tried).first
                #expect((report?.weakness != nil) == (tried >= level), "\(key) \(options) \(tried)")
            }
        }
    }

    @Test("One altered signature of several makes a message invalid, wherever it is")
    func severalSigners() throws {
        let first = try message("-newkey ec -pkeyopt ec_paramgen_curve:P-256")
        try scratch.shell(
            """
            openssl cms -sign -binary -nodetach -nocerts -certfile certificate.pem -in text -signer certificate.pem -inkey key.pem \\
              -signer certificate.pem -inkey key.pem -outform DER -out both.der
            """)
        let both = try scratch.read("both.der")
        #expect(try signers(of: first).count == 1 && signers(of: both).count == 2)
        // A signature of ECDSA with P-256 has a SEQUENCE of two numbers of about 32 bytes.
        let starts = both.indices.dropLast(4).filter { index in
            both[index] == 0x04 && 0x44...0x48 ~= both[index + 1] && both[index + 2] == 0x30
                && both[index + 3] == both[index + 1] - 2
        }
        #expect(starts.count == 2)
        for start in starts {
            var altered = both
            altered[start + 20] ^= 1
            #expect(throws: CMSError(.invalidSignature, "")) { try signers(of: altered) }
        }
    }

    @Test("A signature whose DSA key inherits its parameters is reported as unverified, not as altered")
    func inheritedParameters() throws {
        let message = """
            MIICIQYJKoZIhvcNAQcCoIICEjCCAg4CAQExDTALBglghkgBZQMEAgEwFgYJKoZIhvcNAQcBoAkEB2hlbGxvDQqgggFVMIIB
            UTCB/6ADAgECAhQt7Rf0VYl47DwKkRZsxRpqlertLDALBglghkgBZQMEAwIwDjEMMAoGA1UEAwwDQm9iMCAXDTI2MTEyMzAx
            MzU1NVoYDzIxMDkwMTEyMDEzNTU1WjAOMQwwCgYDVQQDDANCb2IwgZIwCQYHKoZIzjgEAQOBhAACgYBoktfzTyKFZDHSuS9Q
            fm/EOZSO2T/ARbH7dAEd7rTC7qtdUPM3fzxKCvXzEYjFtSkiRd4sJJs2Yvv9CvMhmdZTGW0dWIeiztPg/oa9H0FI9+odkENz
            rWRw9V77RQqaQ9rq1kwc3airZKxH/WPa11KsPb3q1Kc5GtH98C/qNndumTALBglghkgBZQMEAwIDQAAwPQIdAJSDAAsfKOY6
            3vmPDMLqi2CS5REDUlmnxGl+SJECHHiDf25/rsNCI7X90CfUrTLMUiN/js/ud7uRIg8xgYgwgYUCAQEwJjAOMQwwCgYDVQQD
            DANCb2ICFC3tF/RViXjsPAqRFmzFGmqV6u0sMAsGCWCGSAFlAwQCATALBglghkgBZQMEAwIEPjA8AhxCAqzwPR6NJIVa88i3
            5I0A777DHApWEFGy+Xn8AhwPEVde/746PQay49Bk5HAf+yOkF5CqqQzNlW4t
            """
        let bytes = try #require(Data(base64Encoded: message, options: .ignoreUnknownCharacters))
        let error = #expect(throws: CMSError.self) { try signers(of: Array(bytes)) }
        #expect(error?.code == .unsupported(oid: OID.dsa))
        #expect(error?.reason.contains("DSA key") == true && error?.reason.contains("cannot be used") == true)
    }

    @Test("A key that cannot sign messages is rejected, and the error names its type")
    func unsupportedSigner() throws {
        let key = try PrivateKey(pkcs8: SecretBytes(SampleKeys.ed25519.pkcs8))
        let certificate = try TestPKI.root.issue(try TestPKI.template(), to: key)
        let file = try UnnamedFile(in: scratch.path)
        let error = #expect(throws: CMSError.self) {
            try CMSSignature.sign(file.descriptor, as: certificate, with: key)
        }
        #expect(error?.code == .unsuitableKey && error?.reason.contains("Ed25519") == true)
    }
}
