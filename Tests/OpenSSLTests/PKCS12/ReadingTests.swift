import SecretMemory
@testable import OpenSSL
import SwiftASN1
import TestSupport
import Testing

@Suite("Reading PKCS #12 files", .timeLimit(.minutes(10)))
struct ReadingTests {
    private let password = PKCS12Password.text(PKCS12Samples.password)
    private let first = PKCS12Samples.first
    private let second = PKCS12Samples.second

    @Test("Every identity is found regardless of the order of the bags, even if localKeyID is wrong")
    func severalIdentities() throws {
        let confusing = PKCS12FileBuilder.Attributes(localKeyID: [1])
        let bytes = try PKCS12Samples.file([
            PKCS12Samples.encryptedSafe([
                PKCS12Samples.bag(certificate: second.certificate, confusing),
                PKCS12Samples.bag(certificate: first.certificate, confusing),
            ]),
            PKCS12Samples.safe([
                PKCS12Samples.bag(key: first.key, confusing), PKCS12Samples.bag(key: second.key, confusing),
            ]),
        ])
        let contents = try PKCS12.read(bytes, password: password)
        #expect(contents.identities.map(\.certificate) == [first.certificate, second.certificate])
        #expect(contents.identities.allSatisfy { $0.privateKey.matches($0.certificate) })
        #expect(contents.certificates.isEmpty)
    }

    @Test("A key with a mismatched certificate is distinguished from a key without a certificate")
    func mismatch() throws {
        let named = PKCS12FileBuilder.Attributes(localKeyID: [1])
        let mismatched = try PKCS12.read(
            PKCS12Samples.file([
                PKCS12Samples.safe([
                    PKCS12Samples.bag(key: first.key, named),
                    PKCS12Samples.bag(certificate: second.certificate, named),
                ])
            ]), password: password)
        #expect(mismatched.mismatchedKeys.count == 1)
        #expect(mismatched.certificates == [second.certificate])
        #expect(throws: PKCS12Error(.keyMismatch)) { try mismatched.requireIdentities() }

        let alone = try PKCS12.read(
            PKCS12Samples.file([PKCS12Samples.safe([PKCS12Samples.bag(key: first.key, named)])]),
            password: password
        )
        #expect(alone.mismatchedKeys.isEmpty)
        #expect(alone.keys.count == 1)
        #expect(throws: PKCS12Error(.noIdentity)) { try alone.requireIdentities() }
    }

    @Test("A file without a MAC is read only if the caller allows it, and is always inspected")
    func withoutMAC() throws {
        let bytes = try PKCS12Samples.file(
            [PKCS12Samples.safe([PKCS12Samples.bag(key: first.key)])], mac: .none)
        #expect(throws: PKCS12Error(.missingMAC)) { try PKCS12.read(bytes, password: password) }
        #expect(try PKCS12.read(bytes, password: password, allowNoMAC: true).keys.count == 1)
        let report = PKCS12.inspect(bytes, password: password)
        #expect(report.verdict == .ok)
        #expect(report.contents.notes == [.noMAC])
        #expect(PKCS12.inspect(bytes, password: .absent).verdict == .wrongPassword)
    }

    @Test("A password that passes the MAC is not reported as wrong if a key or safe has another password")
    func twoPasswords() throws {
        let own = SecretBytes(utf8: "another")
        // A fixed plaintext: under one wrong key in 256 the last octets look like padding.
        let fixed = SecretBytes([UInt8](repeating: 0x41, count: 48))
        let locked = try PKCS12.read(
            PKCS12Samples.file([
                PKCS12Samples.safe([PKCS12Samples.bag(key: PKCS12Samples.encrypt(fixed, password: own))]),
                PKCS12Samples.encryptedSafe([PKCS12Samples.bag(certificate: first.certificate)]),
            ]), password: password)
        #expect(locked.lockedKeys.count == 1)
        #expect(locked.certificates == [first.certificate])
        #expect(locked.notes.contains(.ownPassword(place: "safe 1, bag 1")))
        #expect(locked.obstacles.first?.reason.hasPrefix("the file has two passwords") == true)
        #expect(throws: PKCS12Error.unopened("safe 1, bag 1")) { try locked.requireIdentities() }
        let safe = try PKCS12Samples.file([
            PKCS12Samples.encryptedSafe(PKCS12Samples.encrypt(fixed, password: own))
        ])
        #expect(throws: PKCS12Error.unopened("safe 1")) { try PKCS12.read(safe, password: password) }
        #expect(PKCS12.inspect(safe, password: password).message.hasPrefix("the file has two passwords"))
    }

    @Test(
        "AES with a key length of 32 octets is AES-256, regardless of its identifier, as in old NSS files",
        arguments: [(OID.aes128CBC, "AES-128-CBC"), (OID.aes192CBC, "AES-192-CBC")])
    func mislabelledAES(identifier: String, name: String) throws {
        let layer = try PKCS12Samples.mislabelled(
            PKCS12Samples.encrypt(first.key.pkcs8()), as: identifier)
        let contents = try PKCS12.read(
            PKCS12Samples.file([
                PKCS12Samples.safe([
                    PKCS12Samples.bag(certificate: first.certificate), PKCS12Samples.bag(key: layer),
                ])
            ]), password: password)
        #expect(contents.identities.map(\.certificate) == [first.certificate])
        #expect(
            contents.notes.contains(
                .keyLength(place: "safe 1, bag 2", named: name, used: "AES-256-CBC")))
        #expect(contents.layers.map(\.cipher) == ["AES-256-CBC"])
        #expect(contents.layers.map(\.keyLength) == [32])
    }

    @Test("A key length that NSS never wrote remains malformed")
    func impossibleKeyLength() throws {
        for (identifier, length) in [(OID.aes256CBC, UInt8(16)), (OID.aes128CBC, 24), (OID.aes192CBC, 16)] {
            let layer = try PKCS12Samples.mislabelled(
                PKCS12Samples.encrypt(first.key.pkcs8()), as: identifier, keyLength: length)
            let bytes = try PKCS12Samples.file([PKCS12Samples.safe([PKCS12Samples.bag(key: layer)])])
            #expect(PKCS12.inspect(bytes, password: password).verdict == .malformed)
        }
    }

    @Test(
        "A password is also tried as UTF-16, ISO-8859-1 and widened bytes, and a note names the right one")
    func passwordEncodings() throws {
        let typed = SecretBytes(utf8: "Mötley")
        let latin1 = try #require(typed.transcodedToLatin1())
        let utf16 = try #require(typed.transcodedToUTF16())
        for (form, encoding) in [(latin1, PasswordEncoding.latin1), (utf16, .utf16)] {
            let bytes = try PKCS12Samples.file(
                [
                    PKCS12Samples.encryptedSafe(
                        [PKCS12Samples.bag(certificate: first.certificate)], password: form)
                ],
                password: typed)
            let contents = try PKCS12.read(bytes, password: .text(typed))
            #expect(contents.notes == [.passwordEncoding(layer: "safe 1", encoding)])
        }
        // The widened bytes of a UTF-8 password are the UTF-16 of its bytes decoded as ISO-8859-1.
        let widened = try PKCS12Samples.file([], password: SecretBytes(utf8: "M\u{C3}\u{B6}tley"))
        let contents = try PKCS12.read(widened, password: .text(typed))
        #expect(contents.notes == [.passwordEncoding(layer: "the MAC", .widenedBytes)])
        let notUTF8 = try PKCS12Samples.file([], password: typed)
        #expect(try PKCS12.read(notUTF8, password: .text(latin1)).notes.count == 1)
    }

    @Test("A password that contains a zero byte is rejected")
    func zeroByte() throws {
        let bytes = try PKCS12Samples.written()
        #expect(throws: PKCS12Error(.refused(limit: .passwordWithZeroByte))) {
            try PKCS12.read(bytes, password: .text(SecretBytes([112, 0])))
        }
    }

    @Test("Only zero bytes may follow the file, and at most 16", arguments: [0, 1, 16, 17])
    func trailingZeroes(count: Int) throws {
        let bytes = try PKCS12Samples.written() + [UInt8](repeating: 0, count: count)
        let report = PKCS12.inspect(bytes, password: password)
        #expect(report.verdict == (count <= 16 ? .ok : .malformed))
        #expect(report.contents.notes == (1...16 ~= count ? [.trailingZeroes(count)] : []))
        #expect(PKCS12.inspect(bytes + [1], password: password).verdict == .malformed)
    }

    @Test("BER of indefinite length is read, with and without zero bytes after it", arguments: [0, 5])
    func indefiniteLength(trailing: Int) throws {
        let bytes = try PKCS12Samples.file([
            PKCS12Samples.safe([PKCS12Samples.bag(certificate: first.certificate)])
        ]
        )
        guard case .constructed(let fields) = try DER.parse(bytes).content else {
            Issue.record("no SEQUENCE")
            return
        }
        let indefinite =
            [0x30, 0x80] + fields.flatMap(\.encodedBytes) + [UInt8](repeating: 0, count: 2 + trailing)
        let contents = try PKCS12.read(indefinite, password: password)
        #expect(contents.certificates == [first.certificate])
        #expect(contents.notes.contains(.basicEncoding))
        #expect(contents.notes.contains(.trailingZeroes(trailing)) == (trailing > 0))
    }

    @Test("An unsupported algorithm is reported by name, and not as a wrong password")
    func unsupported() throws {
        let unknown = try PKCS12Samples.layer { coder in
            try coder.sequence { try $0.null(after: "1.2.643.7.1.1.5.1") }
        }
        let md2 = try PKCS12Samples.layer {
            try $0.appendPBES1("1.2.840.113549.1.5.1", [1, 2, 3, 4, 5, 6, 7, 8], 1)
        }
        for layer in [unknown, md2] {
            for file in try [
                PKCS12Samples.file([PKCS12Samples.encryptedSafe(layer)]),
                PKCS12Samples.file([PKCS12Samples.safe([PKCS12Samples.bag(key: layer)])], mac: .none),
            ] {
                #expect(PKCS12.inspect(file, password: password).verdict == .unsupported)
            }
        }
        let report = PKCS12.inspect(
            try PKCS12Samples.file([PKCS12Samples.encryptedSafe(md2)]), password: password)
        #expect(
            report.error?.code
                == .unsupportedAlgorithm(oid: "1.2.840.113549.1.5.1", name: "pbeWithMD2AndDES-CBC"))
    }

    @Test("A PKCS #7 file is malformed, and the message identifies it as PKCS #7")
    func certificateMessage() throws {
        let report = PKCS12.inspect(try PKCS12Samples.safe([]), password: password)
        #expect(report.verdict == .malformed)
        #expect(report.message.contains("PKCS #7"))
    }

    @Test("A safe without bags is noted, whether or not it is encrypted")
    func emptySafes() throws {
        let contents = try PKCS12.read(
            PKCS12Samples.file([PKCS12Samples.safe([]), PKCS12Samples.encryptedSafe([])]), password: password)
        #expect(contents.notes == [.emptySafe(place: "safe 1"), .emptySafe(place: "safe 2")])
        #expect(contents.certificateCount == 0)
    }

    @Test("A key that contains its public half is not read, and its name includes the version")
    func version1() throws {
        // RFC 8410, 10.3, without attributes: a key of Ed25519 with [1] publicKey. OpenSSL 3.0 reads only version 0.
        let info =
            [0x30, 0x51, 2, 1, 1, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20]
            + [UInt8](repeating: 7, count: 32) + [0x81, 0x21, 0] + [UInt8](repeating: 9, count: 32)
        let contents = try PKCS12.read(
            PKCS12Samples.file([PKCS12Samples.safe([PKCS12Samples.bag(OID.keyBag, value: info)])]),
            password: password)
        #expect(contents.unknownKeys.map(\.isVersion1) == [true])
        #expect(contents.unknownKeys.map(\.algorithm) == ["1.3.101.112"])
        #expect(contents.unknownKeys.allSatisfy { $0.name.hasSuffix(", OneAsymmetricKey version 1") })
    }

    @Test("Keys of unknown types, secrets, revocation lists and bags of unknown types are reported")
    func otherBags() throws {
        let key = try ASN1.encoded { coder in
            try coder.sequence { info in
                try info.serialize(0)
                try info.sequence { try $0.objectIdentifier("2.16.840.1.101.3.4.3.17") }
                try info.octets([1, 2, 3])
            }
        }
        let typed = try ASN1.encoded { coder in
            try coder.sequence { value in
                try value.objectIdentifier("1.2.3.4")
                try value.explicit(0) { try $0.octets([1]) }
            }
        }
        let bare = try ASN1.encoded { coder in
            try coder.sequence { value in
                try value.objectIdentifier("1.2.3.7")
                try value.octets([1])
            }
        }
        let contents = try PKCS12.read(
            PKCS12Samples.file([
                PKCS12Samples.safe([
                    PKCS12Samples.bag(OID.keyBag, value: key), PKCS12Samples.bag(OID.secretBag, value: typed),
                    PKCS12Samples.bag(OID.secretBag, value: bare),
                    PKCS12Samples.bag(OID.crlBag, value: typed), PKCS12Samples.bag(OID.certBag, value: typed),
                    PKCS12Samples.bag("1.2.3.5", value: typed),
                    PKCS12Samples.bag(
                        OID.safeContentsBag,
                        value: PKCS12Samples.contents([
                            PKCS12Samples.bag(certificate: first.certificate)
                        ])),
                ])
            ]), password: password)
        #expect(contents.unknownKeys.map(\.name) == ["ML-DSA-44"])
        #expect(
            contents.otherBags.map(\.kind) == [
                .secret(type: "1.2.3.4"), .secret(type: "1.2.3.7"), .revocationList,
                .certificate(type: "1.2.3.4"),
                .unknown(type: "1.2.3.5"),
            ])
        #expect(contents.certificates == [first.certificate])
    }

    @Test("A certificate that cannot be parsed is reported, and the other certificates are read")
    func unreadableCertificate() throws {
        let broken = try ASN1.encoded { coder in
            try coder.sequence { value in
                try value.objectIdentifier(OID.x509Certificate)
                try value.explicit(0) { try $0.octets([1, 2, 3]) }
            }
        }
        let contents = try PKCS12.read(
            PKCS12Samples.file([
                PKCS12Samples.safe([
                    PKCS12Samples.bag(OID.certBag, value: broken),
                    PKCS12Samples.bag(certificate: first.certificate),
                ])
            ]), password: password)
        #expect(contents.unreadableCertificates.map(\.place) == ["safe 1, bag 1"])
        #expect(contents.certificates == [first.certificate])
    }

    @Test("The values of a friendly name are in a SET", arguments: [ASN1Identifier.set, .sequence])
    func valuesOfName(identifier: ASN1Identifier) throws {
        let attributes = try ASN1.encoded { coder in
            try coder.appendConstructedNode(identifier: .set) { set in
                try set.sequence { attribute in
                    try attribute.objectIdentifier(OID.friendlyName)
                    attribute.appendConstructedNode(identifier: identifier) { values in
                        values.appendPrimitiveNode(identifier: .bmpString) { $0 += [0, 65] }
                    }
                }
            }
        }
        let contents = try PKCS12.read(
            PKCS12Samples.file([
                PKCS12Samples.safe([
                    PKCS12Samples.bag("1.2.3.5", value: [5, 0], attributes: attributes)
                ])
            ]), password: password)
        #expect(contents.otherBags.first?.friendlyName == (identifier == .set ? "A" : nil))
    }

    @Test(
        "A friendly name of any string type and length is read, and an unusual one is noted",
        arguments: [
            FriendlyName(.bmpString, [0, 65, 0, 66], "AB", isOdd: false),
            FriendlyName(.bmpString, [0, 65, 0, 0], "A", isOdd: false),
            FriendlyName(.bmpString, [0, 65, 0], "A", isOdd: true),
            FriendlyName(.bmpString, [], "", isOdd: false),
            FriendlyName(.bmpString, [0xD8, 0x00], "\u{FFFD}", isOdd: true),
            FriendlyName(.utf8String, Array("é".utf8), "é", isOdd: true),
            FriendlyName(.teletexString, [0xE9], "é", isOdd: true),
            FriendlyName(.universalString, [0, 1, 0xF5, 0x11], "\u{1F511}", isOdd: true),
            FriendlyName(.null, [], nil, isOdd: true),
            FriendlyName(
                .bmpString, [UInt8](repeating: 0x4E, count: 1000),
                String(repeating: "\u{4E4E}", count: 256), isOdd: true),
            // Comparing characters would normalize these marks, which takes a minute.
            FriendlyName(
                .bmpString, [[UInt8]](repeating: [0x03, 0x01, 0x03, 0x16], count: 200_000).flatMap(\.self),
                String(repeating: "\u{301}\u{316}", count: 128), isOdd: true),
            FriendlyName(
                .bmpString, [[UInt8]](repeating: [0xD8, 0x3D, 0xDD, 0x11], count: 256).flatMap(\.self),
                String(repeating: "\u{1F511}", count: 256), isOdd: false),
            FriendlyName(
                .utf8String, Array(String(repeating: "\u{E9}", count: 256).utf8) + [0, 65],
                String(repeating: "\u{E9}", count: 256), isOdd: true),
        ])
    func friendlyNames(name: FriendlyName) throws {
        let contents = try PKCS12.read(
            PKCS12Samples.file([
                PKCS12Samples.safe([
                    PKCS12Samples.bag("1.2.3.5", value: [5, 0], attributes: name.attributes())
                ])
            ]), password: password)
        #expect(contents.otherBags.first?.friendlyName == name.text)
        #expect(contents.notes == (name.isOdd ? [.oddFriendlyName(place: "safe 1, bag 1")] : []))
    }
}

struct FriendlyName: Sendable {
    let identifier: ASN1Identifier
    let octets: [UInt8]
    let text: String?
    let isOdd: Bool

    init(_ identifier: ASN1Identifier, _ octets: [UInt8], _ text: String?, isOdd: Bool) {
        self.identifier = identifier
        self.octets = octets
        self.text = text
        self.isOdd = isOdd
    }

    func attributes() throws -> [UInt8] {
        try ASN1.encoded { coder in
            try coder.appendConstructedNode(identifier: .set) { set in
                try set.sequence { attribute in
                    try attribute.objectIdentifier(OID.friendlyName)
                    attribute.appendConstructedNode(identifier: .set) { values in
                        values.appendPrimitiveNode(identifier: identifier) { $0 += octets }
                    }
                }
            }
        }
    }
}
