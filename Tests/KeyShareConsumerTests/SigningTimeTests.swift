import Foundation
import OpenSSL
import PathValidation
import PrivateFiles
import SecureMail
import SwiftASN1
import TestSupport
import Testing

@testable import KeyShareConsumer

@Suite("The signing time of messages", .timeLimit(.minutes(10)))
struct SigningTimeTests {
    private let scratch: ScratchFolder
    private let authority: MessageAuthority

    init() throws {
        scratch = try ScratchFolder()
        authority = try MessageAuthority()
    }

    /// The checks of the only signer of a message.
    private func checks(_ mail: [UInt8]) async throws -> [String: ValidationReport.Check] {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(mail)
        let contents = try MessageReader(scratch: scratch.path) { _ in nil }.read(file.descriptor)
        let validator = MessageValidator(
            CertificateVerifier(),
            pool: CertificatePool(trusted: [authority.issuer.certificate], untrusted: []), at: nil,
            now: Date())
        let report = await validator.validate(contents)
        let signer = try #require(report.parts.first?.signers.first)
        return Dictionary(signer.checks.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Changes the signed attributes of the only signer (RFC 5652, 5.3), and signs them again.
    private func change(
        _ mail: [UInt8], of sender: MessageSender, _ change: (inout [UInt8]) throws -> Void
    ) throws -> [UInt8] {
        try changingSignature(of: mail) { fields in
            let signer = try #require(DERElement(fields[fields.count - 1])?.children.first).children
            let place = try #require(signer.firstIndex { $0.tag == .context(0) })
            var attributes = Array(signer[place].encoded)
            try change(&attributes)
            // The signature covers the attributes with the tag of a SET (RFC 5652, 5.4).
            var signed = attributes
            signed[0] = 0x31
            let signature = try sender.key.signECDSA(Digest.sha256(signed))
            var serializer = DER.Serializer()
            try serializer.appendConstructedNode(identifier: .set) { serializer in
                try serializer.appendConstructedNode(identifier: .sequence) { serializer in
                    for (index, field) in signer.dropLast().enumerated() {
                        serializer.serializeRawBytes(index == place ? attributes[...] : field.encoded)
                    }
                    try serializer.serialize(ASN1OctetString(contentBytes: signature[...]))
                }
            }
            fields[fields.count - 1] = serializer.serializedBytes
        }
    }

    @Test("A signing time that cannot be read is reported as such, and the current time is used")
    func unreadable() async throws {
        let sender = try authority.sender()
        let mail = try change(try sender.signed(in: scratch), of: sender) { attributes in
            // A UTCTime of 13 bytes: YYMMDDHHMMSSZ. The month becomes 13.
            let time = try #require(attributes.firstRange(of: [0x17, 0x0D])).upperBound
            attributes.replaceSubrange(time + 2..<time + 4, with: Array("13".utf8))
        }
        let checks = try await checks(mail)
        #expect(checks["signature"]?.outcome == .passed && checks["signing time"]?.outcome == .notChecked)
        #expect(
            checks["signing time"]?.explanation
                == "the signing time cannot be read (RFC 5652, 11.3); validated at the current time")
    }

    @Test("A signing time without seconds, with a fraction or with an offset counts as unreadable")
    func form() async throws {
        let (short, long) = (UInt8(0x17), UInt8(0x18))
        let times = [
            (short, "2311151213Z"), (short, "2311151213+0000"), (short, "231115121300+0000"),
            (long, "202311151213Z"), (long, "20231115121300.5Z"), (long, "20231115121300+0000"),
            (long, "20231115121300"), (short, "231115121300Z"), (long, "20231115121300Z"),
        ]
        let sender = try authority.sender()
        let mail = try sender.signed(in: scratch)
        for (tag, text) in times {
            let changed = try change(mail, of: sender) { attributes in
                attributes = try Self.replacingTime(
                    in: attributes, with: [tag, UInt8(text.utf8.count)] + Array(text.utf8))
            }
            let checks = try await checks(changed)
            #expect(checks["signature"]?.outcome == .passed, "\(text)")
            #expect(
                checks["signing time"]?.explanation
                    == (text.hasSuffix("1300Z")
                        ? "2023-11-15T12:13:00Z, as the signer claims"
                        : "the signing time cannot be read (RFC 5652, 11.3); validated at the current time"),
                "\(text)")
        }
    }

    /// Returns signed attributes with this signing time in DER.
    private static func replacingTime(in attributes: [UInt8], with time: [UInt8]) throws -> [UInt8] {
        // signingTime (1.2.840.113549.1.9.5).
        let type: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x05]
        let fields = try #require(DERElement(attributes)).children.map { attribute -> [UInt8] in
            let encoded = Array(attribute.encoded)
            guard encoded.dropFirst(2).starts(with: type) else { return encoded }
            let content = type + [0x31, UInt8(time.count)] + time
            return [0x30, UInt8(content.count)] + content
        }
        var serializer = DER.Serializer()
        serializer.appendConstructedNode(
            identifier: ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)
        ) { serializer in
            for field in fields { serializer.serializeRawBytes(field) }
        }
        return serializer.serializedBytes
    }

    @Test("The signing time of a signature that is not valid is not used, and the reason is reported")
    func notUsed() async throws {
        let mail = String(decoding: try authority.sender().signed(in: scratch), as: UTF8.self)
        let altered = try await checks(Array(mail.replacing("Hello", with: "Jello").utf8))
        #expect(
            altered["signing time"]?.explanation
                == "not used, because the signature is not valid; validated at the current time")
        // No digest algorithms (RFC 5652, 5.1).
        let undeclared = try await checks(
            try changingSignature(of: Array(mail.utf8)) { $0[1] = [0x31, 0x00] })
        #expect(
            undeclared["signature"]?.explanation
                == "the digest of the signer, sha256, is missing from digestAlgorithms (RFC 5652, 5.1)")
        #expect(
            undeclared["signing time"]?.explanation
                == "not used, because the signature was not verified; validated at the current time")
    }
}
