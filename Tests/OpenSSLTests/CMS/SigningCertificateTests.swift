import Foundation
import OpenSSL
import PrivateFiles
import TestSupport
import Testing

@Suite("Signed attributes that identify the signer's certificate", .timeLimit(.minutes(10)))
struct SigningCertificateTests {
    private let scratch: ScratchFolder

    /// Creates two certificates with the same key and the same name.
    init() throws {
        scratch = try ScratchFolder()
        _ = try scratch.write(Array("hello".utf8), as: "content")
        try scratch.shell(
            """
            openssl genrsa -out key.pem 2048
            for serial in 1122334455667788 1122334455667799; do
              openssl req -x509 -key key.pem -out $serial.pem -subj /CN=Signer -days 30 -set_serial 0x$serial
              openssl x509 -in $serial.pem -outform DER -out $serial.der
            done
            """)
    }

    private func certificate(_ serial: String) throws -> Certificate {
        try Certificate(der: Array(try scratch.read("\(serial).der")))
    }

    /// A message without certificates, whose attribute identifies the first one.
    private func message(_ digest: String) throws -> [UInt8] {
        try scratch.shell(
            """
            openssl cms -sign -cades -nocerts -md \(digest) -binary -in content -signer 1122334455667788.pem \
                -inkey key.pem -outform DER -out signed
            """)
        return Array(try scratch.read("signed"))
    }

    private func outcome(
        _ message: [UInt8], accompaniedBy certificate: Certificate
    ) throws -> CMSSignerReport.Outcome? {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(Array("hello".utf8))
        try file.rewind()
        let signature = try CMSSignature(CMSStructure(reading: ArraySource(message)) { _ in })
        OpenSSLError.discardQueue()
        defer { #expect(OpenSSLError.draining("verifying").queue.isEmpty) }
        return try withExtendedLifetime(file) {
            try signature.examine(file.descriptor, accompaniedBy: [certificate]).first?.outcome
        }
    }

    @Test(
        "Another certificate for the same key cannot replace the certificate that the attribute identifies",
        arguments: [
            ("sha1", "signingCertificate"), ("sha256", "signingCertificateV2"),
            ("sha512", "signingCertificateV2"),
        ])
    func replaced(_ digest: String, _ attribute: String) throws {
        let message = try message(digest)
        let sound = try outcome(message, accompaniedBy: try certificate("1122334455667788"))
        #expect(sound == .sound)
        // The signer identifier precedes the attributes.
        let serial: [UInt8] = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]
        var forged = message
        forged[try #require(message.firstRange(of: serial)).upperBound - 1] = 0x99
        #expect(
            try outcome(forged, accompaniedBy: try certificate("1122334455667799"))
                == .unsuitableAttributes(
                    reason: "the attribute \(attribute) identifies another certificate (RFC 5035, 3)"))
    }

    @Test("An attribute that cannot be read makes the signature invalid, although it is signed")
    func unreadable() throws {
        var message = try message("sha256")
        // The hash of the certificate is an OCTET STRING of 32 bytes after the object identifier of the attribute.
        let identifier: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x10, 0x02, 0x2F]
        let place = try #require(message.firstRange(of: identifier)).upperBound
        let hash = try #require(message[place...].firstRange(of: [0x04, 0x20])).lowerBound
        message[hash] = 0x05
        try sign(&message)
        #expect(
            try outcome(message, accompaniedBy: try certificate("1122334455667788"))
                == .unsuitableAttributes(
                    reason: "the attribute signingCertificateV2 cannot be read (RFC 5035, 5)"))
    }

    /// Signs the attributes of a message again. The signature is the end of the message.
    private func sign(_ message: inout [UInt8]) throws {
        // The attributes begin with the content type, in a SEQUENCE.
        let type: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x03]
        let start = try #require(message.firstRange(of: type)).lowerBound - 2
        let header = try #require(message[..<start].lastIndex(of: 0xA0))
        let length = message[header + 2..<start].reduce(0) { $0 << 8 | Int($1) }
        _ = try scratch.write([0x31] + message[(header + 1)..<start + length], as: "attributes")
        try scratch.shell("openssl dgst -sha256 -sign key.pem -out signature attributes")
        message.replaceSubrange((message.count - 256)..., with: Array(try scratch.read("signature")))
    }
}
