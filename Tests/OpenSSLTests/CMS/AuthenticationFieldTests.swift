import OpenSSL
import PrivateFiles
import SwiftASN1
import TestSupport
import Testing

@Suite("Fields that authenticate an encrypted message", .timeLimit(.minutes(10)))
struct AuthenticationFieldTests {
    private let scratch: ScratchFolder
    private let certificate: Certificate
    private let content = Array("secret".utf8)

    /// The values of AuthEnvelopedData and of its EncryptedContentInfo.
    private struct Fields {
        /// The type of the content.
        var type: [UInt8]
        /// The parameters of the cipher: nonce and length of the tag.
        var parameters: [[UInt8]]
        /// The attributes between the content and the tag.
        var before: [[UInt8]] = []
        var tag: [UInt8]
        /// The attributes after the tag.
        var after: [[UInt8]] = []
    }

    init() throws {
        scratch = try ScratchFolder()
        certificate = try TestPKI.root.issue(try TestPKI.template(), to: TestPKI.leafKey)
    }

    private static func context(_ number: UInt) -> ASN1Identifier {
        ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific)
    }

    private static func constructed(_ identifier: ASN1Identifier, _ parts: [[UInt8]]) -> [UInt8] {
        var serializer = DER.Serializer()
        serializer.appendConstructedNode(identifier: identifier) { serializer in
            for part in parts { serializer.serializeRawBytes(part) }
        }
        return serializer.serializedBytes
    }

    private static func encoded(_ value: some DERSerializable) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(value)
        return serializer.serializedBytes
    }

    private static func octets(_ bytes: some Collection<UInt8>) throws -> [UInt8] {
        try encoded(ASN1OctetString(contentBytes: Array(bytes)[...]))
    }

    /// Attributes with a context-specific tag.
    private static func attributes(_ number: UInt) throws -> [UInt8] {
        let type = try encoded(ASN1ObjectIdentifier(dotRepresentation: "1.2.3.4"))
        let values = constructed(.set, [try encoded(ASN1Null())])
        return constructed(context(number), [constructed(.sequence, [type, values])])
    }

    /// Encrypts ``content`` with AES-GCM, and changes the message.
    private func message(_ change: (inout Fields) throws -> Void = { _ in }) throws -> [UInt8] {
        let message = try CMSEnvelope.encrypt(content, for: [certificate], cipher: .aes256GCM)
        let info = try #require(DERElement(message)).children
        let typed = try #require(info.last?.children.first).children
        let encrypted = try #require(typed.dropFirst(2).first).children
        let algorithm = try #require(encrypted.dropFirst().first).children
        var fields = Fields(
            type: Array(encrypted[0].encoded),
            parameters: try #require(algorithm.last).children.map { Array($0.encoded) },
            tag: Array(try #require(typed.last).octets))
        try change(&fields)
        let cipher = Self.constructed(
            .sequence,
            [Array(algorithm[0].encoded), Self.constructed(.sequence, fields.parameters)])
        let encryptedContent = Self.constructed(
            .sequence, [fields.type, cipher, Array(try #require(encrypted.last).encoded)])
        let tag = try Self.octets(fields.tag)
        var parts = typed.prefix(2).map { Array($0.encoded) }
        parts += [encryptedContent] + fields.before
        parts += [tag] + fields.after
        return Self.constructed(
            .sequence,
            [
                Array(info[0].encoded),
                Self.constructed(Self.context(0), [Self.constructed(.sequence, parts)]),
            ])
    }

    private func open(_ message: [UInt8]) throws -> [UInt8] {
        let file = try UnnamedFile(in: scratch.path)
        let structure = try CMSStructure(reading: ArraySource(message)) { try file.write($0) }
        try file.rewind()
        let envelope = try CMSEnvelope(structure)
        let recipient = try #require(envelope.recipients.first)
        var plaintext: [UInt8] = []
        unsafe try envelope.decrypt(file.descriptor, with: TestPKI.leafKey, as: recipient) {
            unsafe plaintext += Array($0)
        }
        return plaintext
    }

    @Test("A message with authenticated attributes is not supported, and can be described")
    func authenticatedAttributes() throws {
        let message = try message { $0.before = [try Self.attributes(1)] }
        let description = try CMSDescription(der: message)
        #expect(description.isAuthenticated && description.recipients.count == 1)
        #expect(throws: CMSError(.unsupported(oid: OID.authEnvelopedData), "")) { try open(message) }
    }

    @Test("Attributes after the tag do not prevent a message from being opened")
    func unauthenticatedAttributes() throws {
        #expect(try open(message()) == content)
        #expect(try open(message { $0.after = [try Self.attributes(2)] }) == content)
    }

    @Test("A message with other fields around the tag is malformed")
    func otherFields() throws {
        let tag = try Self.octets([UInt8](repeating: 0, count: 16))
        let fields = try [UInt](0...3).map { try Self.attributes($0) }
        let wrongBefore: [[[UInt8]]] = [
            [fields[0]], [fields[2]], [fields[3]], [fields[1], fields[1]], [tag], [tag, fields[1]],
        ]
        let wrongAfter: [[[UInt8]]] = [
            [fields[0]], [fields[1]], [fields[3]], [fields[2], fields[2]], [tag],
        ]
        for before in wrongBefore {
            let message = try message { $0.before = before }
            #expect(throws: CMSError(.malformed, "")) { try open(message) }
        }
        for after in wrongAfter {
            let message = try message { $0.after = after }
            #expect(throws: CMSError(.malformed, "")) { try open(message) }
        }
    }

    @Test("Content of another type than data requires authenticated attributes")
    func contentType() throws {
        let type = try Self.encoded(ASN1ObjectIdentifier(dotRepresentation: OID.signedData))
        let signed = try message { $0.type = type }
        #expect(throws: CMSError(.malformed, "")) { try open(signed) }
        let authenticated = try message {
            $0.type = type
            $0.before = [try Self.attributes(1)]
        }
        #expect(throws: CMSError(.unsupported(oid: OID.authEnvelopedData), "")) { try open(authenticated) }
    }

    @Test("A tag must have the length in the parameters of the cipher, from 12 to 16 bytes")
    func tagLengths() throws {
        for count in 12...16 {
            let matching = try message {
                $0.parameters[1] = try Self.encoded(count)
                $0.tag.removeLast(16 - count)
            }
            #expect(try open(matching) == content, "\(count) bytes")
            guard count < 16 else { continue }
            let shortened = try message { $0.tag.removeLast(16 - count) }
            #expect(throws: CMSError(.malformed, "")) { try open(shortened) }
        }
        let unspecified = try message { $0.parameters.removeLast() }
        #expect(throws: CMSError(.malformed, "")) { try open(unspecified) }
    }

    @Test("Parameters that OpenSSL 3.0 does not implement are not reported as an alteration")
    func unsupportedParameters() throws {
        let oid = ContentCipher.aes256GCM.oid
        let omitted = try message {
            $0.parameters.removeLast()
            $0.tag.removeLast(4)
        }
        #expect(throws: CMSError(.unsupported(oid: oid), "")) { try open(omitted) }
        for count in [8, 11, 13, 16] {
            let message = try message {
                $0.parameters[0] = try Self.octets([UInt8](repeating: 7, count: count))
            }
            #expect(throws: CMSError(.unsupported(oid: oid), "")) { try open(message) }
        }
    }
}
