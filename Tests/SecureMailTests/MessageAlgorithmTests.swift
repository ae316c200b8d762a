import OpenSSL
import PrivateFiles
import SecureMail
import TestSupport
import Testing

/// Messages that the openssl command writes with every algorithm that OpenSSL 3.0 supports, and with some that it does
/// not.
@Suite("Algorithms of messages", .timeLimit(.minutes(10)))
struct MessageAlgorithmTests: MailSuite {
    let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
        _ = try scratch.write(body, as: "content")
    }

    /// Signs ``body`` with new keys, one for each of the options of `openssl req`.
    private func sign(_ keys: [String], _ options: String = "") throws -> [UInt8] {
        var signers = ""
        for (index, key) in keys.enumerated() {
            try scratch.shell(
                """
                openssl req -x509 \(key) -nodes -keyout k\(index).pem -out c\(index).pem -subj /CN=Signer\(index) \
                  -days 30
                """)
            signers += " -signer c\(index).pem -inkey k\(index).pem"
        }
        try scratch.shell(
            "openssl cms -sign -binary -nodetach -in content -outform DER -out signed.der\(signers) \(options)"
        )
        return try scratch.read("signed.der")
    }

    private func reports(_ message: [UInt8]) throws -> [CMSSignerReport] {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(message)
        let contents = try MessageReader(scratch: scratch.path) { _ in nil }.read(file.descriptor)
        guard case .signed(let reports, _, _)? = contents.parts.first?.layers.first else { return [] }
        return reports
    }

    @Test(
        "ECDSA signatures verify with every SHA-2 digest, and RSA signatures also with SHA-3",
        arguments: ["sha224", "sha256", "sha384", "sha512", "sha3-224", "sha3-256", "sha3-384", "sha3-512"])
    func digests(_ digest: String) throws {
        // OpenSSL 3.0 does not sign messages with ECDSA and SHA-3.
        let keys =
            ["-newkey rsa:2048"]
            + (digest.hasPrefix("sha3") ? [] : ["-newkey ec -pkeyopt ec_paramgen_curve:P-384"])
        let reports = try reports(try sign(keys, "-md \(digest)"))
        #expect(reports.count == keys.count)
        #expect(reports.allSatisfy { $0.outcome == .sound && $0.weakness == nil && $0.digest == digest })
    }

    @Test("A message that declares a digest that OpenSSL does not implement is not reported as altered")
    func unknownDigest() throws {
        var message = try sign(["-newkey ec -pkeyopt ec_paramgen_curve:P-256"])
        // The first identifier of SHA-256 (2.16.840.1.101.3.4.2.1) is in digestAlgorithms.
        let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
        let position = try #require(message.firstRange(of: sha256)).upperBound - 1
        message[position] = 0x7F
        let report = try #require(try reports(message).first)
        guard case .unsupported = report.outcome else {
            Issue.record("\(report.outcome)")
            return
        }
    }

    @Test("A signature whose digest the message does not declare is not reported as an alteration")
    func undeclaredDigest() throws {
        var message = try sign(["-newkey ec -pkeyopt ec_paramgen_curve:P-256"])
        // The first identifier, in digestAlgorithms, becomes that of SHA-512 (2.16.840.1.101.3.4.2.3).
        let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
        message[try #require(message.firstRange(of: sha256)).upperBound - 1] = 0x03
        let report = try #require(try reports(message).first)
        #expect(
            report.outcome
                == .unsupported(
                    reason:
                        "the digest of the signer, sha256, is missing from digestAlgorithms (RFC 5652, 5.1)"))
    }

    @Test("A signature of other content than data is not accepted, and the reason names the type")
    func contentType() throws {
        let report = try #require(
            try reports(
                try sign(
                    ["-newkey ec -pkeyopt ec_paramgen_curve:P-256"],
                    "-econtent_type 1.2.840.113549.1.9.16.1.4")
            ).first)
        #expect(
            report.outcome
                == .unsuitableAttributes(
                    reason:
                        "the content has the type id-smime-ct-TSTInfo instead of id-data (RFC 8551, 2.4.1)"))
    }

    @Test(
        "RSA-PSS signatures verify with unrestricted keys and with keys that are restricted to PSS",
        arguments: ["-newkey rsa:2048", "-newkey rsa-pss -pkeyopt rsa_keygen_bits:2048"])
    func pss(_ key: String) throws {
        for digest in ["sha256", "sha384", "sha512"] {
            let report = try #require(
                try reports(try sign([key], "-md \(digest) -keyopt rsa_padding_mode:pss")).first)
            #expect(report.outcome == .sound && report.signatureAlgorithm == "rsassaPss")
        }
    }

    @Test("Several signers are judged separately, and an altered signature affects only its signer")
    func severalSigners() throws {
        let keys = ["-newkey rsa:2048", "-newkey ec -pkeyopt ec_paramgen_curve:P-256", "-newkey rsa:1024"]
        let message = try sign(keys)
        let sound = try reports(message)
        #expect(sound.map(\.outcome) == [.sound, .sound, .sound])
        #expect(sound.filter { $0.weakness != nil }.map(\.certificate?.publicKey.bits) == [1_024])
        // The last signature is at the end of the message.
        var altered = message
        altered[altered.count - 1] ^= 1
        #expect(try reports(altered).count { $0.outcome == .mismatch } == 1)
        #expect(try reports(altered).count { $0.outcome == .sound } == 2)
    }

    @Test(
        "AES-GCM authenticates a message for RSA and elliptic-curve keys",
        arguments: ["aes-128-gcm", "aes-192-gcm", "aes-256-gcm"])
    func authenticated(_ cipher: String) throws {
        _ = try scratch.write(Array(identity.certificate.pem.utf8), as: "certificate.pem")
        try scratch.shell(
            "openssl cms -encrypt -binary -\(cipher) -in content -outform DER -out message.der certificate.pem"
        )
        var message = try scratch.read("message.der")
        let opened = try open(message)
        #expect(try content(opened) == body && !opened.isUnauthenticated)
        message[message.count - 1] ^= 1
        #expect(throws: CMSError(.altered, "")) { try open(message) }
    }

    /// Replaces one object identifier by another one of the same length.
    private func replace(_ old: [UInt8], with new: [UInt8], in message: [UInt8]) throws -> [UInt8] {
        let range = try #require(message.firstRange(of: old))
        return message[..<range.lowerBound] + new + message[range.upperBound...]
    }

    @Test("AES-CCM, compressed messages, and recipients with X25519 are named with the reason")
    func unsupported() throws {
        let gcm = try CMSEnvelope.encrypt(body, for: [identity.certificate], cipher: .aes128GCM)
        // OpenSSL 3.0 cannot write AES-CCM (…1.7) for messages, so the identifier of AES-GCM (…1.6) is replaced.
        let aes: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01]
        let ccm = #expect(throws: CMSError.self) {
            try open(try replace(aes + [0x06], with: aes + [0x07], in: gcm))
        }
        #expect(ccm?.code == .unsupported(oid: "2.16.840.1.101.3.4.1.7"))
        #expect(ccm?.reason.contains("OpenSSL 3.0 does not implement") == true)
        // id-ct-authEnvelopedData (…1.23) becomes id-ct-compressedData (…1.9).
        let type: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x10, 0x01]
        let compressed = #expect(throws: CMSError.self) {
            try open(try replace(type + [0x17], with: type + [0x09], in: gcm))
        }
        #expect(compressed?.code == .unsupported(oid: "1.2.840.113549.1.9.16.1.9"))
        #expect(compressed?.reason.contains("zlib") == true)
    }

    @Test("A signature by an Ed25519 key is not verified, and the reason names the key type")
    func edwards() throws {
        // OpenSSL 3.0 cannot sign messages with Ed25519, so the certificate of another signer is replaced.
        let message = try sign(["-newkey ec -pkeyopt ec_paramgen_curve:P-256"])
        try scratch.shell(
            """
            openssl req -x509 -newkey ed25519 -nodes -keyout ed.pem -out ed.crt -subj /CN=Signer0 -days 30 \
              -set_serial 7
            openssl req -x509 -key k0.pem -out c0.pem -subj /CN=Signer0 -days 30 -set_serial 7
            openssl cms -sign -binary -nodetach -nocerts -in content -outform DER -out signed.der -signer c0.pem \
              -inkey k0.pem -certfile ed.crt
            """)
        #expect(!message.isEmpty)
        let report = try #require(try reports(try scratch.read("signed.der")).first)
        guard case .unsupported(let reason) = report.outcome else {
            Issue.record("the outcome is \(report.outcome)")
            return
        }
        #expect(reason.contains("Ed25519"))
    }
}
