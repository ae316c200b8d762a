import SecretMemory
@testable import OpenSSL
import SwiftASN1
import TestSupport
import Testing

@Suite("Passwords and layers of PKCS #12 files", .timeLimit(.minutes(10)))
struct PasswordFormTests {
    private let password = PKCS12Password.text(PKCS12Samples.password)
    private let first = PKCS12Samples.first

    @Test("Only pairs of hexadecimal digits are decoded")
    func hexadecimal() {
        for (text, bytes) in [
            ("", []), ("00", [0]),
            ("0123456789abcdefABCDEF", [1, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0xAB, 0xCD, 0xEF]),
            ("fFF0", [0xFF, 0xF0]), ("0", nil), ("012", nil), ("0G", nil), ("G0", nil), ("0g", nil),
            ("/0", nil),
            (":0", nil), ("@0", nil), ("`0", nil), (" 00", nil), ("0x", nil),
        ] as [(String, [UInt8]?)] {
            #expect(
                SecretBytes(hexadecimal: SecretBytes(utf8: text)) == bytes.map { SecretBytes($0) }, "\(text)")
        }
    }

    @Test("ISO-8859-1 ends at U+00FF, and ASCII at U+007F")
    func encodings() {
        #expect(SecretBytes(utf8: "a\u{FF}").transcodedToLatin1() == SecretBytes([0x61, 0xFF]))
        #expect(SecretBytes(utf8: "a\u{100}").transcodedToLatin1() == nil)
        #expect(SecretBytes([0x00, 0x7F]).isASCII)
        #expect(!SecretBytes([0x80]).isASCII && !SecretBytes([0x61, 0xFE]).isASCII)
    }

    @Test("The form that opened one layer is tried first on the next one, and is noted once")
    func provenForm() throws {
        let typed = SecretBytes(utf8: "Mötley")
        let latin1 = try #require(typed.transcodedToLatin1())
        let safe = try PKCS12Samples.encryptedSafe(
            [PKCS12Samples.bag(certificate: first.certificate)], password: latin1)
        let bytes = try PKCS12Samples.file([safe, safe], mac: .none)
        let contents = try PKCS12.read(bytes, password: .text(typed), allowNoMAC: true)
        #expect(contents.notes.filter { $0 != .noMAC }.first == .passwordEncoding(layer: "safe 1", .latin1))
        #expect(!contents.notes.contains(.passwordEncoding(layer: "safe 2", .latin1)))
        #expect(contents.passwordForm?.encoding == .latin1)
        // The first safe requires two derivations, the second one only one.
        let visible = PKCS12Reader.visibleWork(bytes, limits: .standard)
        var limits = PKCS12Limits.standard
        limits.patience = .nanoseconds(visible / 2 * 3)
        #expect(PKCS12.inspect(bytes, password: .text(typed), limits: limits).verdict == .ok)
        limits.patience -= .nanoseconds(1)
        #expect(
            PKCS12.inspect(bytes, password: .text(typed), limits: limits).error?.code
                == .refused(limit: .work))
    }

    @Test("The form of the password is the one that opened the MAC, even if a later layer has another")
    func firstForm() throws {
        let typed = SecretBytes(utf8: "Mötley")
        let latin1 = try #require(typed.transcodedToLatin1())
        let bytes = try PKCS12Samples.file(
            [
                PKCS12Samples.encryptedSafe(
                    [PKCS12Samples.bag(certificate: first.certificate)], password: latin1)
            ], password: typed)
        #expect(try PKCS12.read(bytes, password: .text(typed)).passwordForm?.encoding == .utf16)
    }

    @Test("The work of a wrong password includes every form, up to the limit of the file")
    func workOfWrongPassword() throws {
        let bytes = try PKCS12Samples.written(PKCS12Profile(.pbmac1).iterations(1_000))
        let visible = Duration.nanoseconds(PKCS12Reader.visibleWork(bytes, limits: .standard))
        #expect(visible > .zero)
        func work(_ text: String, _ limits: PKCS12Limits = .standard) -> Duration {
            PKCS12.workOfWrongPassword(bytes, password: .text(SecretBytes(utf8: text)), limits: limits)
        }
        #expect(work("password") == visible * 2)
        #expect(work("pässword") == visible * 3)
        #expect(work("") == visible)
        var limits = PKCS12Limits.standard
        limits.patience = visible
        #expect(work("password", limits) == visible)
        limits.patience = .milliseconds(500)
        limits.iterations = 2_000_000
        let bomb = try PKCS12Samples.file([
            PKCS12Samples.encryptedSafe(PKCS12Samples.encrypt(first.key.pkcs8(), claiming: 2_000_000)),
            PKCS12Samples.encryptedSafe(PKCS12Samples.encrypt(first.key.pkcs8(), claiming: 2_000_000)),
        ])
        let report = PKCS12.inspect(bomb, password: password, limits: limits)
        #expect(report.message.contains("0.5 s of processor time"))
    }

    @Test("A limit is reported whatever the password is, and before any other defect")
    func refusalFirst() throws {
        let bomb = try PKCS12Samples.encryptedSafe(
            PKCS12Samples.encrypt(first.key.pkcs8(), claiming: 2_000_001))
        for file in try [
            PKCS12Samples.file([bomb]),
            PKCS12Samples.file([PKCS12Samples.encryptedSafe([]), bomb], mac: .none),
        ] {
            for text in ["password", "wrong"] {
                let report = PKCS12.inspect(file, password: .text(SecretBytes(utf8: text)))
                #expect(report.error?.code == .refused(limit: .iterations))
            }
        }
    }

    @Test("Without a MAC, a layer proves the password only if it decrypts to exactly one SEQUENCE")
    func plausible() throws {
        let contents = try PKCS12Samples.contents([PKCS12Samples.bag(certificate: first.certificate)])
        for (plaintext, expected) in [
            (contents, .ok), (contents + [0, 0], .ok), (contents + [1], .wrongPassword),
            (contents + [0, 1], .wrongPassword), ([0x04, 1, 1], .wrongPassword), ([0x31, 0], .wrongPassword),
            ([0x30], .wrongPassword),
        ] as [([UInt8], PKCS12Report.Verdict)] {
            let layer = try PKCS12Samples.encrypt(SecretBytes(plaintext))
            let file = try PKCS12Samples.file([PKCS12Samples.encryptedSafe(layer)], mac: .none)
            #expect(PKCS12.inspect(file, password: password).verdict == expected)
        }
    }

    @Test(
        "A layer that does not open is described by what proved the password, and a stream cipher by nothing")
    func unopened() throws {
        let fixed = SecretBytes([UInt8](repeating: 0x41, count: 48))
        let other = try PKCS12Samples.encrypt(fixed, password: SecretBytes(utf8: "another"))
        let proof = try PKCS12Samples.encryptedSafe([PKCS12Samples.bag(certificate: first.certificate)])
        let bare = try PKCS12Samples.file([proof, PKCS12Samples.encryptedSafe(other)], mac: .none)
        let report = PKCS12.inspect(bare, password: password)
        #expect(report.error == .unopened("safe 2"))
        #expect(report.message.hasPrefix("the password is correct, but safe 2 is damaged"))
        let locked = PKCS12.inspect(
            try PKCS12Samples.file([proof, PKCS12Samples.safe([PKCS12Samples.bag(key: other)])], mac: .none),
            password: password)
        #expect(locked.contents.obstacles.first?.reason.hasPrefix("the password is correct") == true)
        let stream = try PKCS12Samples.layer { coder in
            try coder.appendPBES2(
                { try $0.appendPBKDF2([1], 1, keyLength: 16, prf: nil) },
                { try $0.objectIdentifier("1.2.840.113549.3.4") })
        }
        let key = try PKCS12.read(
            PKCS12Samples.file([PKCS12Samples.safe([PKCS12Samples.bag(key: stream)])]), password: password)
        #expect(key.lockedKeys.count == 1 && key.unreadableKeys.isEmpty)
        let safe = try PKCS12Samples.file([PKCS12Samples.encryptedSafe(stream)])
        #expect(PKCS12.inspect(safe, password: password).error == .unopened("safe 1"))
    }

    @Test(
        "Ciphertext without whole blocks, a MAC of the wrong size and content of the wrong type are malformed"
    )
    func lengths() throws {
        let layer = try PKCS12Samples.encrypt(first.key.pkcs8())
        for count in [0, 1, 15, 17, 63] {
            let cut = EncryptedLayer(
                algorithm: layer.algorithm, ciphertext: [UInt8](repeating: 5, count: count))
            let file = try PKCS12Samples.file([PKCS12Samples.encryptedSafe(cut)], mac: .none)
            #expect(PKCS12.inspect(file, password: password).verdict == .malformed, "\(count)")
        }
        let message = try PKCS12FileBuilder.authenticatedSafe([PKCS12Samples.safe([])])
        let builder = PKCS12FileBuilder(.modern.iterations(1))
        let code = try #require(try builder.authenticate(message, password: PKCS12Samples.password))
        for value in [code.value, Array(code.value.dropLast()), code.value + [0], []] {
            let changed = AuthenticationCode(
                algorithm: code.algorithm, value: value, salt: code.salt, iterations: 1)
            let file = try PKCS12FileBuilder.file(message, mac: changed)
            #expect(
                PKCS12.inspect(file, password: password).verdict == (value == code.value ? .ok : .malformed))
        }
        // The content type inside the EncryptedData is the first one of Data.
        let data: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
        let safe = try PKCS12Samples.encryptedSafe([PKCS12Samples.bag(certificate: first.certificate)])
        let signed = try #require(safe.replacingFirst(data, with: data.dropLast() + [2]))
        #expect(PKCS12.inspect(try PKCS12Samples.file([safe]), password: password).verdict == .ok)
        #expect(PKCS12.inspect(try PKCS12Samples.file([signed]), password: password).verdict == .malformed)
        // A content type with the tag of an OCTET STRING.
        let typed = try #require(safe.replacingFirst([6, 9] + data, with: [4, 9] + data))
        #expect(PKCS12.inspect(try PKCS12Samples.file([typed]), password: password).verdict == .malformed)
        // A file that is signed instead of authenticated by a password.
        let file = try #require(
            PKCS12Samples.file([PKCS12Samples.safe([])]).replacingFirst(data, with: data.dropLast() + [2]))
        #expect(
            PKCS12.inspect(file, password: password).error?.code
                == PKCS12Error.unsupported(oid: OID.signedData).code)
    }

    @Test("A string in pieces is noted as BER, even if every length is definite")
    func pieces() throws {
        let message = try PKCS12FileBuilder.authenticatedSafe([PKCS12Samples.safe([])])
        let code = try PKCS12FileBuilder(.modern.iterations(1)).authenticate(
            message, password: PKCS12Samples.password)
        let file = try ASN1.encoded { coder in
            try coder.sequence { pfx in
                try pfx.serialize(3)
                try pfx.sequence { info in
                    try info.objectIdentifier(OID.data)
                    try info.explicit(0) { content in
                        try content.appendConstructedNode(identifier: .octetString) { string in
                            try string.octets(Array(message.prefix(3)))
                            try string.octets(Array(message.dropFirst(3)))
                        }
                    }
                }
                if let code { try pfx.appendMACData(code) }
            }
        }
        let report = PKCS12.inspect(file, password: password)
        #expect(report.verdict == .ok && report.contents.notes.contains(.basicEncoding))
    }

    @Test("A new file requires valid iterations of encryption and MAC, and a password in UTF-8")
    func creation() throws {
        for (iterations, macIterations) in [(0, 1), (1, 0), (2_000_001, 1), (1, 2_000_001)] {
            var profile = PKCS12Profile.modern.iterations(1)
            profile.iterations = iterations
            profile.macIterations = macIterations
            #expect(throws: PKCS12Error(.refused(limit: .iterations))) {
                try PKCS12Samples.written(profile)
            }
        }
        for profile in [PKCS12Profile.modern.iterations(1), PKCS12Profile(.noMAC).iterations(1)] {
            #expect(throws: PKCS12Error.malformed("the password", expected: "UTF-8")) {
                try PKCS12Samples.written(profile, password: SecretBytes([0x41, 0xFF]))
            }
        }
    }

    @Test(
        "A digest without a fixed length is no digest of a MAC, and PBKDF1 requires work for each iteration")
    func digests() {
        for name in ["SHAKE128", "SHAKE256", "2.16.840.1.101.3.4.2.11"] {
            #expect(DigestProperties(name) == nil)
        }
        #expect(DigestProperties("SHA256")?.size == 32)
        #expect(DerivationWork.pbkdf1(iterations: 1_000) >= 1_000_000)
        #expect(DerivationWork.pbkdf1(iterations: 2_000) == 2 * DerivationWork.pbkdf1(iterations: 1_000))
    }

    @Test("Algorithms of the legacy provider are found without an entry in the error queue")
    func legacyAlgorithms() {
        OpenSSLError.discardQueue()
        #expect(CipherProperties("RC2-40-CBC")?.context === LibraryContext.legacy)
        #expect(DigestProperties("MD4")?.context === LibraryContext.legacy)
        #expect(OpenSSLError.draining("searching").queue.isEmpty)
    }
}
