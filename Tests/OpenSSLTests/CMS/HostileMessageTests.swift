import Foundation
import PrivateFiles
import Synchronization
import TestSupport
import Testing

@testable import OpenSSL

/// A value in DER, for messages that no library writes.
private func der(_ tag: UInt8, _ parts: [UInt8]...) -> [UInt8] {
    let content = Array(parts.joined())
    guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
    let count = (0..<4).reversed().map { UInt8(truncatingIfNeeded: content.count >> ($0 * 8)) }
    return [tag, 0x84] + count + content
}

/// A source that returns some bytes, and then octet strings of 64 bytes without end.
private final class EndlessSource: ByteSource {
    private let start: [UInt8]
    /// The number of returned pieces.
    let pieces = Mutex(0)

    init(_ start: [UInt8]) { self.start = start }

    func next() -> ArraySlice<UInt8> {
        let number = pieces.withLock {
            $0 += 1
            return $0
        }
        return number == 1 ? start[...] : der(0x04, [UInt8](repeating: 1, count: 64))[...]
    }
}

@Suite("CMS messages that no correct program writes", .timeLimit(.minutes(10)))
struct HostileMessageTests {
    private let scratch: ScratchFolder
    private static let data = der(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01])
    private static let signed = der(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02])
    private static let enveloped = der(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x03])
    private static let authenticated = der(
        0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x10, 0x01, 0x17])
    private static let cbc: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x2A]
    private static let gcm: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x2E]

    init() throws { scratch = try ScratchFolder() }

    /// SignedData without certificates and signatures.
    private func signedData(_ content: [UInt8], more: [UInt8] = der(0x31)) -> [UInt8] {
        der(
            0x30, Self.signed,
            der(0xA0, der(0x30, [2, 1, 1], der(0x31), der(0x30, Self.data, content), more)))
    }

    /// EnvelopedData or AuthEnvelopedData without recipients.
    private func envelopedData(
        _ type: [UInt8] = enveloped, cipher: [UInt8] = cbc, content: [UInt8] = der(0x80, [1]),
        tag: [UInt8] = [], originator: [UInt8] = []
    ) -> [UInt8] {
        let parameters =
            cipher == Self.cbc
            ? der(0x04, [UInt8](repeating: 7, count: 16))
            : der(0x30, der(0x04, [UInt8](repeating: 7, count: 12)), [2, 1, 16])
        let encrypted = der(0x30, Self.data, der(0x30, der(0x06, cipher), parameters), content)
        return der(0x30, type, der(0xA0, der(0x30, [2, 1, 0], originator, der(0x31), encrypted, tag)))
    }

    private func structure(_ message: [UInt8]) throws -> CMSStructure {
        try CMSStructure(reading: ArraySource(message)) { _ in }
    }

    private func content(_ message: [UInt8]) throws -> [UInt8] {
        var content: [UInt8] = []
        _ = try CMSStructure(reading: ArraySource(message)) { content += $0 }
        return content
    }

    private func isRefused(_ message: [UInt8], _ code: CMSError.Code) -> Bool {
        do {
            _ = try structure(message)
            return false
        } catch {
            return (error as? CMSError)?.code == code
        }
    }

    @Test("A message is accepted only with exactly one content of the required type")
    func contents() throws {
        let octets = der(0xA0, der(0x04, [1, 2, 3]))
        #expect(try content(signedData(octets)) == [1, 2, 3])
        #expect(
            try content(signedData(der(0xA0, der(0x24, der(0x04, [1]), der(0x04, [2, 3]))))) == [1, 2, 3])
        #expect(try content(envelopedData()) == [1])
        let typed = der(0x30, [2, 1, 1], der(0x31), der(0x30, Self.data, octets), der(0x31))
        for message in [
            signedData(der(0xA0, der(0x04, [1]), der(0x04, [2]))), signedData(der(0xA0, der(0x0C, [1]))),
            signedData(der(0xA0, der(0x24, der(0x0C, [1])))),
            signedData(octets + octets), envelopedData(content: der(0x80, [1]) + der(0x80, [2])),
            der(0x30, Self.signed, der(0xA0, typed, typed)),
            der(0x30, Self.signed, der(0xA0, der(0x31, typed))),
            der(0x30, Self.signed, der(0xA0, typed), der(0x31)), der(0x30, Self.signed, der(0xA1, typed)),
            der(0x30, Self.signed, der(0x30, typed)), der(0x31, Self.signed, der(0xA0, typed)),
            der(0x30, der(0x04, Array(Self.signed.dropFirst(2))), der(0xA0, typed)), der(0x30, Self.signed),
            der(
                0x30, Self.enveloped,
                der(0xA0, der(0x30, [2, 1, 0], der(0x31), der(0x30, Self.data, der(0x31))))),
            der(0x30), der(0x30, der(0x06, [])), der(0x30, Self.signed, der(0xA0, typed), [0x00, 0x00]),
        ] {
            #expect(isRefused(message, .malformed))
        }
    }

    @Test("A message is read in pieces, and not past the point at which it is rejected")
    func pieces() throws {
        let octets = [0xA0, 0x80, 0x24, 0x80] + der(0x04, [UInt8](repeating: 1, count: 1_000))
        let start = Array(
            [
                [0x30, 0x80], Self.signed, [0xA0, 0x80, 0x30, 0x80, 2, 1, 1], der(0x31), [0x30, 0x80],
                Self.data, octets,
            ]
            .joined())
        struct Stop: Error {}
        for (bytes, isMessage) in [(start, true), ([0x04, 0x80] + start, false)] {
            let source = EndlessSource(bytes)
            var content = 0
            do {
                _ = try CMSStructure(reading: source) {
                    content += $0.count
                    if content > 2_000 { throw Stop() }
                }
                Issue.record("an endless message was read")
            } catch {
                #expect(error is Stop == isMessage)
            }
            #expect(source.pieces.withLock { $0 } <= (isMessage ? 40 : 4), "\(isMessage)")
        }
    }

    @Test("A value with other values inside it is malformed if its tag is primitive")
    func primitiveValues() throws {
        let octets = der(0xA0, der(0x04, [1]))
        let typed = der(0x30, [2, 1, 1], der(0x31), der(0x30, Self.data, octets), der(0x31))
        let encrypted = der(0x30, Self.data, der(0x30, der(0x06, Self.cbc)), der(0x80, [1]))
        let primitive = der(0x30, Self.data, der(0x10, der(0x06, Self.cbc)), der(0x80, [1]))
        func enveloped(_ content: [UInt8]) -> [UInt8] {
            der(0x30, Self.enveloped, der(0xA0, der(0x30, [2, 1, 0], der(0x31), content)))
        }
        #expect(!isRefused(der(0x30, Self.signed, der(0xA0, typed)), .malformed))
        #expect(!isRefused(enveloped(encrypted), .malformed))
        for message in [
            der(0x10, Self.signed, der(0xA0, typed)), der(0x30, Self.signed, der(0x80, typed)),
            der(0x30, Self.signed, der(0xA0, [0x10] + typed.dropFirst())), enveloped(primitive),
        ] {
            #expect(isRefused(message, .malformed))
        }
    }

    @Test("A value whose length differs from the total length of the values inside it is malformed")
    func lengths() throws {
        let message = signedData(der(0xA0, der(0x04, [1, 2, 3])))
        #expect(message[1] < 0x80 && !isRefused(message, .malformed))
        for change in [-1, 1] {
            var altered = message
            altered[1] = UInt8(Int(altered[1]) + change)
            #expect(isRefused(altered, .malformed))
            // The first OID is 11 bytes with its header; then come [0] and SEQUENCE.
            for place in [14, 16] {
                altered = message
                altered[place] = UInt8(Int(altered[place]) + change)
                #expect(isRefused(altered, .malformed))
            }
        }
        // A header that needs more bytes than the message has, and a length that no integer holds.
        #expect(isRefused([0x30, 0x84, 0x00], .malformed))
        #expect(isRefused([0x30, 0x89] + [UInt8](repeating: 0xFF, count: 9), .malformed))
        // The largest integer, which overflows when it is added to the position.
        #expect(isRefused([0x30, 0x88, 0x7F] + [UInt8](repeating: 0xFF, count: 7), .malformed))
    }

    @Test("The error for a message names the missing or unsupported part")
    func reasons() throws {
        let octets = der(0xA0, der(0x04, [1]))
        let compressed = der(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x10, 0x01, 0x09])
        for (message, reason) in [
            (der(0x30, der(0x04, [1]), der(0xA0, octets)), "the message has no content type"),
            (der(0x30, compressed, der(0xA0, octets)), "the message is compressed"),
            (der(0x30, Self.data, der(0xA0, octets)), "neither signed nor encrypted"),
        ] {
            let error = #expect(throws: CMSError.self) { try structure(message) }
            #expect(error?.reason.contains(reason) == true, "\(reason)")
        }
        let error = #expect(throws: CMSError.self) { try CMSSignature(structure(envelopedData())) }
        #expect(error?.reason == "the message is not signed")
        let signed = #expect(throws: CMSError.self) { try CMSEnvelope(structure(signedData(octets))) }
        #expect(signed?.reason == "the message is not encrypted")
    }

    @Test("Content has the form of signed attributes if it is a SET with both required attributes")
    func attributeForm() {
        func attribute(_ last: UInt8) -> [UInt8] {
            der(
                0x30, der(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, last]),
                der(0x31, der(0x04, [1])))
        }
        #expect(SignedAttributeContent.isForm(der(0x31, attribute(3), attribute(4))))
        for bytes in [
            der(0x30, attribute(3), attribute(4)), der(0x31, attribute(3), attribute(5)),
            der(0x31, attribute(4)), [],
        ] {
            #expect(!SignedAttributeContent.isForm(bytes))
        }
    }

    @Test("A message of indefinite length that ends inside its last header is malformed")
    func lastHeader() throws {
        let octets = der(0xA0, der(0x04, [1, 2, 3]))
        let inner = der(0x30, [2, 1, 1], der(0x31), der(0x30, Self.data, octets), der(0x31))
        let message = [0x30, 0x80] + Self.signed + [0xA0, 0x80] + inner + [0x00, 0x00, 0x00, 0x00]
        #expect(try content(message) == [1, 2, 3])
        for count in 1...4 {
            #expect(isRefused(message.dropLast(count), .malformed), "without the last \(count) bytes")
        }
    }

    @Test("A value of indefinite length that extends past the value around it is malformed")
    func indefiniteEnd() throws {
        let octets = der(0xA0, der(0x04, [1, 2, 3]))
        let inner = der(0x30, [2, 1, 1], der(0x31), der(0x30, Self.data, octets), der(0x31))
        var message = der(0x30, Self.signed, [0xA0, 0x80] + inner + [0x00, 0x00])
        #expect(try content(message) == [1, 2, 3])
        for _ in 1...3 {
            message[1] -= 1
            #expect(isRefused(message, .malformed), "a length of \(message[1])")
        }
    }

    @Test("Nested octet strings and values are read up to the limit of levels, and rejected above it")
    func nesting() throws {
        func octets(_ levels: Int) -> [UInt8] {
            (1..<levels).reduce(der(0x04, [9])) { inner, _ in der(0x24, inner) }
        }
        #expect(try content(signedData(der(0xA0, octets(CMSLimits.nesting)))) == [9])
        #expect(isRefused(signedData(der(0xA0, octets(CMSLimits.nesting + 1))), .overLimit))
        // Only values of indefinite length are read value by value.
        func values(_ levels: Int) -> [UInt8] {
            (1..<levels).reduce([0x31, 0x80, 0x00, 0x00]) { inner, _ in [0x31, 0x80] + inner + [0x00, 0x00] }
        }
        #expect(!isRefused(signedData(der(0xA0, der(0x04)), more: values(CMSLimits.nesting)), .overLimit))
        #expect(isRefused(signedData(der(0xA0, der(0x04)), more: values(CMSLimits.nesting + 1)), .overLimit))
    }

    @Test("A signed message has up to 8 digest algorithms, which count once if they are repeated")
    func digests() throws {
        func message(_ count: UInt8, repeated: Bool = false) -> [UInt8] {
            // Parameters make no difference.
            let algorithms = (0..<count).flatMap { number in
                [[], [0x05, 0x00], [0x02, 0x01, number]].prefix(repeated ? 3 : 1).flatMap {
                    der(0x30, [0x06, 0x01, number], $0)
                }
            }
            let content = der(0x30, Self.data, der(0xA0, der(0x04, [1])))
            return der(
                0x30, Self.signed,
                der(0xA0, der(0x30, [2, 1, 1], der(0x31, algorithms), content, der(0x31))))
        }
        #expect(CMSLimits.digests == 8)
        #expect(try content(message(8)) == [1])
        #expect(isRefused(message(9), .overLimit))
        #expect(try structure(message(8, repeated: true)).encoded == structure(message(8)).encoded)
        #expect(isRefused(message(9, repeated: true), .overLimit))
    }

    @Test("The size of the structure around the content is limited, whether it is one value or many")
    func size() throws {
        let content = der(0xA0, der(0x04, [1]))
        let overhead =
            try structure(signedData(content, more: der(0x04, [UInt8](repeating: 0, count: 200)))).encoded
            .count
            - 203
        // The length is encoded in four bytes.
        let most = CMSLimits.structure - overhead - 6
        let exact = try structure(
            signedData(content, more: der(0x04, [UInt8](repeating: 0, count: most + 0))))
        #expect(exact.encoded.count <= CMSLimits.structure && exact.encoded.count > CMSLimits.structure - 16)
        #expect(
            isRefused(
                signedData(content, more: der(0x04, [UInt8](repeating: 0, count: most + 16))), .overLimit))
        // Appending is much faster than `joined` in a test, which is not optimized.
        func set(_ count: Int, of value: [UInt8]) -> [UInt8] {
            var set: [UInt8] = [0x31, 0x80]
            for _ in 0..<count { set += value }
            return set + [0x00, 0x00]
        }
        let piece = der(0x04, [UInt8](repeating: 0, count: CMSLimits.structure / 8))
        #expect(isRefused(signedData(content, more: set(8, of: piece)), .overLimit))
        #expect(!isRefused(signedData(content, more: set(7, of: piece)), .overLimit))
        let empty = set(CMSLimits.structure / 2, of: [0x30, 0x00])
        #expect(isRefused(signedData(content, more: empty), .overLimit))
        // The size of the content is not limited.
        let large = [UInt8](repeating: 1, count: CMSLimits.structure + 1)
        #expect(try self.content(signedData(der(0xA0, der(0x04, large)))).count == large.count)
    }

    @Test(
        "An authentication tag of 12 bytes is accepted, and a shorter one is rejected before any key is used")
    func tags() throws {
        func message(_ count: Int) -> [UInt8] {
            envelopedData(
                Self.authenticated, cipher: Self.gcm, tag: der(0x04, [UInt8](repeating: 0, count: count)))
        }
        for count in [12, 16] { #expect(!isRefused(message(count), .malformed)) }
        #expect(try CMSDescription(structure(message(16))).isAuthenticated)
        #expect(try !CMSDescription(structure(envelopedData())).isAuthenticated)
        for count in [0, 4, 11] { #expect(isRefused(message(count), .malformed)) }
        // The length of a tag in pieces is unknown before it is read.
        let pieces = [0x24, 0x80] + der(0x04, [UInt8](repeating: 0, count: 16)) + [0x00, 0x00]
        #expect(
            isRefused(envelopedData(Self.authenticated, cipher: Self.gcm, tag: pieces), .malformed))
        // The encoding has 15 bytes, but OpenSSL would compare only one.
        let empty = Array(repeatElement(der(0x04, []), count: 6).joined())
        let padded = der(0x24, der(0x04, [7]) + empty)
        #expect(
            isRefused(envelopedData(Self.authenticated, cipher: Self.gcm, tag: padded), .malformed))
    }

    @Test("Each password recipient has its own parameters, and the description names the type of the content")
    func passwordRecipients() throws {
        func recipient(_ iterations: UInt8) -> [UInt8] {
            let derivation = der(
                0xA0, der(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05, 0x0C]),
                der(0x30, der(0x04, [1, 2, 3, 4, 5, 6, 7, 8]), der(0x02, [iterations])))
            let wrapping = der(
                0x30, der(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x10, 0x03, 0x09]),
                der(0x30, der(0x06, Self.cbc), der(0x04, [UInt8](repeating: 7, count: 16))))
            return der(0xA3, [2, 1, 0], derivation, wrapping, der(0x04, [UInt8](repeating: 7, count: 32)))
        }
        let encrypted = der(
            0x30, Self.data, der(0x30, der(0x06, Self.cbc), der(0x04, [UInt8](repeating: 7, count: 16))),
            der(0x80, [1]))
        let message = der(
            0x30, Self.enveloped,
            der(0xA0, der(0x30, [2, 1, 3], der(0x31, recipient(100), recipient(101)), encrypted)))
        let description = try CMSDescription(structure(message))
        #expect(description.recipients.map { $0.password?.iterations } == [100, 101])
        #expect(description.contentType == OID.data && description.contentTypeName == "pkcs7-data")
    }

    @Test(
        "A cipher of another message type, an unknown cipher and missing content are rejected"
    )
    func ciphers() throws {
        let tag = der(0x04, [UInt8](repeating: 0, count: 16))
        #expect(try CMSEnvelope(structure(envelopedData())).cipher == .aes256CBC)
        let gcm = envelopedData(Self.authenticated, cipher: Self.gcm, tag: tag)
        #expect(try CMSEnvelope(structure(gcm)).cipher == .aes256GCM)
        for message in [
            envelopedData(cipher: Self.gcm), envelopedData(Self.authenticated, tag: tag),
            envelopedData(content: []), signedData(der(0xA0, der(0x04, [1]))),
        ] {
            #expect(throws: CMSError(.malformed, "")) { try CMSEnvelope(structure(message)) }
        }
        #expect(throws: CMSError(.unsupported(oid: "1.2.840.113549.3.2"), "")) {
            let rc2: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x03, 0x02]
            return try CMSEnvelope(structure(envelopedData(cipher: rc2)))
        }
        #expect(throws: CMSError(.malformed, "")) { try CMSSignature(structure(envelopedData())) }
        #expect(throws: CMSError(.malformed, "")) {
            try CMSSignature(structure(signedData(der(0xA0, der(0x04)))))
        }
    }

    @Test("The maximum number of signatures is verified, and one more signature is rejected")
    func signers() throws {
        let signer = " -signer certificate.pem -inkey key.pem"
        try shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem \\
              -out certificate.pem -subj /CN=Signer -days 30
            printf hello >text
            openssl cms -sign -nocerts -certfile certificate.pem -binary -in text -outform DER -out most.der\(String(repeating: signer, count: CMSLimits.signers))
            openssl cms -sign -nocerts -certfile certificate.pem -binary -in text -outform DER -out more.der\(String(repeating: signer, count: CMSLimits.signers + 1))
            """)
        let file = try UnnamedFile(in: scratch.path)
        try file.write("hello".utf8)
        try file.rewind()
        let signature = try CMSSignature(structure(try scratch.read("most.der")))
        #expect(
            try withExtendedLifetime(file) { try signature.verify(file.descriptor) }.count
                == CMSLimits.signers)
        let more = try structure(try scratch.read("more.der"))
        #expect(throws: CMSError(.overLimit, "")) { try CMSSignature(more) }
        #expect(
            try CMSDescription(structure(try scratch.read("most.der"))).signers.count == CMSLimits.signers)
        #expect(throws: CMSError(.overLimit, "")) { try CMSDescription(more) }
    }

    @Test("A message whose certificate has a costly key is rejected before the key is loaded")
    func costlyKey() throws {
        try shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem \\
              -out certificate.pem -subj /CN=Signer -days 30
            openssl ecparam -name prime256v1 -genkey -noout -param_enc explicit -conv_form compressed -out costly.key
            openssl ec -in costly.key -param_enc explicit -conv_form compressed -out costly.pem
            openssl req -x509 -new -key costly.pem -out costly.crt -subj /CN=Costly -days 30
            printf hello >text
            openssl cms -sign -binary -in text -outform DER -out message.der -signer certificate.pem -inkey key.pem \\
              -certfile costly.crt
            """)
        let message = try structure(try scratch.read("message.der"))
        #expect(throws: CertificateError(.costlyKey(oid: ""), "")) { try CMSSignature(message) }
    }

    @Test("The certificates of the originator of an encrypted message are omitted before OpenSSL decodes it")
    func originator() throws {
        let certificates = der(0xA0, TestPKI.root.certificate.der)
        let tag = der(0x04, [UInt8](repeating: 0, count: 16))
        for originator in [der(0xA0, certificates), [0xA0, 0x80] + certificates + [0x00, 0x00]] {
            let plain = try structure(envelopedData())
            #expect(try structure(envelopedData(originator: originator)).encoded == plain.encoded)
            let authenticated = try structure(envelopedData(Self.authenticated, cipher: Self.gcm, tag: tag))
            let message = envelopedData(
                Self.authenticated, cipher: Self.gcm, tag: tag, originator: originator)
            #expect(try structure(message).encoded == authenticated.encoded)
        }
        let large = der(0xA0, der(0xA0, [UInt8](repeating: 0, count: CMSLimits.structure)))
        #expect(isRefused(envelopedData(originator: large), .overLimit))
    }

    @Test(
        "A recipient matches a certificate by issuer and serial number, or by key identifier"
    )
    func holders() throws {
        let certificate = try TestPKI.leaf()
        func isHolder(_ issuer: DistinguishedName?, _ serial: String?, _ identifier: [UInt8]?) -> Bool {
            CMSRecipient(
                method: .ecdh, issuer: issuer, serialNumber: serial, subjectKeyIdentifier: identifier
            )
            .isHolder(of: certificate)
        }
        let issuer = TestPKI.root.certificate.subject
        #expect(isHolder(issuer, "048F", nil))
        #expect(!isHolder(issuer, "048E", nil))
        #expect(try !isHolder(TestPKI.name("Another Root"), "048F", nil))
        #expect(isHolder(nil, nil, certificate.subjectKeyIdentifier))
        #expect(!isHolder(nil, nil, [1, 2]))
        #expect(!isHolder(nil, nil, nil))
        #expect(!isHolder(nil, "048F", nil))
    }

    private func shell(_ script: String) throws {
        let run = Process()
        run.executableURL = URL(fileURLWithPath: "/bin/sh")
        run.currentDirectoryURL = URL(fileURLWithPath: scratch.path)
        run.arguments = ["-ec", "exec 2>errors\n" + script]
        try run.run()
        run.waitUntilExit()
        try #require(run.terminationStatus == 0)
    }
}
