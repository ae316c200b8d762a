import Foundation
import OpenSSL
import PrivateFiles
import StandardExtensions
import TestSupport
import Testing

@Suite("Signed CMS messages", .timeLimit(.minutes(10)))
struct SignatureTests {
    private let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    /// Calls `body` with an open file that contains this text.
    private func withFile<Result>(_ text: String, _ body: (CInt) throws -> Result) throws -> Result {
        try withFile(Array(text.utf8), body)
    }

    /// Calls `body` with an open file that contains these bytes.
    private func withFile<Result>(_ bytes: [UInt8], _ body: (CInt) throws -> Result) throws -> Result {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(bytes)
        try file.rewind()
        return try withExtendedLifetime(file) { try body(file.descriptor) }
    }

    private func signature(of text: String, as certificate: Certificate, _ key: PrivateKey) throws
        -> CMSSignature
    {
        let message = try withFile(text) {
            try CMSSignature.sign(
                $0, as: certificate, with: key, chain: [certificate, TestPKI.root.certificate])
        }
        let structure = try CMSStructure(reading: ArraySource(message)) { _ in }
        #expect(!structure.hasContent && structure.kind == .signedData)
        return try CMSSignature(structure)
    }

    @Test("A signature is valid only for its content, and identifies the signer")
    func roundTrip() throws {
        for key in [TestPKI.leafKey, TestPKI.rsaKey] {
            let certificate = try TestPKI.root.issue(try TestPKI.template(), to: key)
            let signature = try signature(of: "hello\r\n", as: certificate, key)
            #expect(Set(signature.certificates) == [certificate, TestPKI.root.certificate])
            #expect(signature.certificates.count == 2)
            #expect(try withFile("hello\r\n") { try signature.verify($0) } == [CMSSigner(certificate)])
            #expect(throws: CMSError(.invalidSignature, "")) {
                try withFile("hellO\r\n") { try signature.verify($0) }
            }
            #expect(throws: CMSError(.invalidSignature, "")) { try withFile("") { try signature.verify($0) } }
            // Line ends are not converted.
            let unix = try self.signature(of: "hello\n", as: certificate, key)
            #expect(try withFile("hello\n") { try unix.verify($0) } == [CMSSigner(certificate)])
        }
    }

    @Test("A signature is invalid without its signed attributes, with these attributes as the content")
    func attributesAsContent() throws {
        let key = TestPKI.rsaKey
        let certificate = try TestPKI.root.issue(try TestPKI.template(), to: key)
        let message = try withFile("hello") { try CMSSignature.sign($0, as: certificate, with: key) }
        var attributes: [UInt8] = []
        let forged = Self.removingAttributes(message[...], into: &attributes)
        // The signature was computed over the attributes with the tag of a SET.
        attributes[0] = 0x31
        _ = try scratch.write(forged, as: "forged.der")
        _ = try scratch.write(attributes, as: "attributes")
        try scratch.shell(
            "openssl cms -verify -noverify -binary -inform DER -in forged.der -content attributes -out out")
        let structure = try CMSStructure(reading: ArraySource(forged)) { _ in }
        let signature = try CMSSignature(structure)
        let report = try withFile(attributes) { try signature.examine($0) }.first
        #expect(report?.hasSignedAttributes == false)
        #expect(report?.outcome == .mismatch)
        let altered = Array(attributes.dropLast()) + [0]
        #expect(try withFile(altered) { try signature.examine($0) }.first?.outcome == .mismatch)
    }

    @Test("A signature is invalid if the type of the content was changed after signing")
    func changedContentType() throws {
        let certificate = try TestPKI.root.issue(try TestPKI.template(), to: TestPKI.rsaKey)
        let message = try withFile("hello") {
            try CMSSignature.sign($0, as: certificate, with: TestPKI.rsaKey)
        }
        // The attributes follow the certificate, so the first occurrence is the type of the content.
        let data: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
        let place = try #require(message.firstRange(of: data))
        var changed = message
        changed[place.upperBound - 1] = 0x05
        let report = try report(on: changed, of: "hello")
        #expect(
            report?.outcome
                == .unsuitableAttributes(
                    reason:
                        """
                        the content-type attribute does not match the type of the content (RFC 5652, 11.1)
                        """))
        #expect(try self.report(on: message, of: "hello")?.outcome == .sound)
        let signature = try CMSSignature(CMSStructure(reading: ArraySource(changed)) { _ in })
        #expect(throws: CMSError(.invalidSignature, "")) {
            try withFile("hello") { try signature.verify($0) }
        }
    }

    @Test(
        "A signature without signed attributes is valid only for content of the type data",
        arguments: [true, false])
    func typeWithoutAttributes(isData: Bool) throws {
        _ = try scratch.write(Array("hello".utf8), as: "content")
        try scratch.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem \\
                -subj /CN=Signer -days 30
            openssl cms -sign -noattr -binary -in content -signer cert.pem -inkey key.pem -outform DER -out signed \
                -econtent_type \(isData ? "1.2.840.113549.1.7.1" : "1.2.3.4")
            """)
        let report = try report(on: Array(try scratch.read("signed")), of: "hello")
        #expect(report?.hasSignedAttributes == false)
        #expect(
            report?.outcome
                == (isData
                    ? .sound
                    : .unsuitableAttributes(
                        reason: "content of this type requires signed attributes (RFC 5652, 5.3)")))
    }

    @Test("A missing certificate of any signer is an error, and a key identifier names the signer")
    func missingCertificates() throws {
        _ = try scratch.write(Array("hello".utf8), as: "content")
        try scratch.shell(
            """
            for name in a b; do
              openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.pem \\
                -subj /CN=$name -days 30
            done
            for name in a b; do
              openssl cms -sign -nocerts -certfile $name.pem -keyid -binary -in content -signer a.pem -inkey a.key \\
                -signer b.pem -inkey b.key -outform DER -out $name.der
            done
            """)
        let signers = try ["a.pem", "b.pem"].map { name in
            try #require(Certificate.pem(scratch.read(name)).first?.subjectKeyIdentifier?.upperHex)
        }
        for name in ["a.der", "b.der"] {
            let signature = try CMSSignature(CMSStructure(reading: ArraySource(scratch.read(name))) { _ in })
            #expect(throws: CMSError(.invalidSignature, "")) {
                try withFile("hello") { try signature.verify($0) }
            }
            #expect(
                try Set(withFile("hello") { try signature.examine($0) }.map(\.signerName)) == Set(signers))
        }
    }

    @Test("A signature with only the required attributes has signed attributes")
    func fewAttributes() throws {
        _ = try scratch.write(Array("hello".utf8), as: "content")
        try scratch.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem \\
                -subj /CN=Signer -days 30
            openssl cms -sign -nosmimecap -binary -in content -signer cert.pem -inkey key.pem -outform DER -out signed
            """)
        let report = try report(on: Array(try scratch.read("signed")), of: "hello")
        #expect(report?.outcome == .sound && report?.hasSignedAttributes == true)
        #expect(report?.capabilities == [] && report?.signingTime != nil)
    }

    /// Returns the report on the only signature of a detached message.
    private func report(on message: [UInt8], of content: String) throws -> CMSSignerReport? {
        let signature = try CMSSignature(CMSStructure(reading: ArraySource(message)) { _ in })
        return try withFile(content) { try signature.examine($0) }.first
    }

    /// Copies elements in DER, and moves the first element that contains a content-type attribute to `attributes`.
    private static func removingAttributes(
        _ elements: ArraySlice<UInt8>, into attributes: inout [UInt8]
    ) -> [UInt8] {
        let contentType: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x03]
        var (rest, copy) = (elements, [UInt8]())
        while rest.count > 1 {
            let (tag, first) = (rest[rest.startIndex], Int(rest[rest.startIndex + 1]))
            let extra = first < 0x80 ? 0 : first - 0x80
            let start = rest.startIndex + 2 + extra
            let length = first < 0x80 ? first : rest[start - extra..<start].reduce(0) { $0 << 8 | Int($1) }
            var content = Array(rest[start..<start + length])
            let element = Array(rest[rest.startIndex..<start + length])
            rest = rest[(start + length)...]
            if tag == 0xA0, content.dropFirst(2).starts(with: contentType) {
                attributes = element
                continue
            }
            if tag & 0x20 != 0 { content = removingAttributes(content[...], into: &attributes) }
            let count = content.count
            let long: [UInt8] = count > 0xFF ? [0x82, UInt8(count >> 8)] : count > 0x7F ? [0x81] : []
            copy += [tag] + long + [UInt8(count & 0xFF)] + content
        }
        return copy
    }

    @Test("A signature claims the given time, and the same seed reproduces it", arguments: [true, false])
    func reproducible(isRSA: Bool) throws {
        let key = isRSA ? TestPKI.rsaKey : TestPKI.leafKey
        let certificate = try TestPKI.root.issue(try TestPKI.template(), to: key)
        let time = Date(timeIntervalSince1970: 1_700_000_000)
        func sign(_ seed: Seed?, at time: Date) throws -> [UInt8] {
            try withFile("hello") {
                try CMSSignature.sign($0, as: certificate, with: key, signingTime: time, seed: seed)
            }
        }
        let message = try sign(Seed("1"), at: time)
        #expect(try sign(Seed("1"), at: time) == message)
        #expect(try sign(Seed("1"), at: time + 1) != message)
        // A signature with RSA (PKCS #1 v1.5) does not use random numbers.
        #expect(try (sign(Seed("2"), at: time) == message) == isRSA)
        let signature = try CMSSignature(try CMSStructure(reading: ArraySource(message)) { _ in })
        let report = try #require(try withFile("hello") { try signature.examine($0) }.first)
        #expect(report.outcome == .sound && report.signingTime == time)
        // From 2050, the time is a GeneralizedTime.
        let late = Date(timeIntervalSince1970: 2_600_000_000)
        let later = try CMSSignature(
            try CMSStructure(reading: ArraySource(sign(Seed("1"), at: late))) { _ in })
        #expect(try withFile("hello") { try later.examine($0) }.first?.signingTime == late)
    }

    @Test("Signing with a key that does not match the certificate is rejected")
    func wrongKey() throws {
        let certificate = try TestPKI.leaf()
        #expect(throws: CMSError(.unsuitableKey, "")) {
            try withFile("hello") { try CMSSignature.sign($0, as: certificate, with: TestPKI.rsaKey) }
        }
    }

    @Test("An altered signature is never valid, and never causes a crash")
    func alterations() throws {
        let certificate = try TestPKI.leaf()
        let text = "hello\r\n"
        let message = try withFile(text) {
            try CMSSignature.sign($0, as: certificate, with: TestPKI.leafKey)
        }
        func verify(_ message: [UInt8]) throws {
            let structure = try CMSStructure(reading: ArraySource(message)) { _ in }
            _ = try withFile(text) { try CMSSignature(structure).verify($0) }
        }
        try verify(message)
        var fitting = 0
        for place in message.indices {
            var altered = message
            altered[place] ^= 0x01
            do {
                try verify(altered)
                fitting += 1
            } catch is CMSError {
            } catch is CertificateError {}
        }
        // The signature does not cover versions and the certificate's own signature.
        #expect(fitting < message.count / 2)
        var altered = message
        altered[message.count - 1] ^= 0x01
        #expect(throws: CMSError(.invalidSignature, "")) { try verify(altered) }
    }
}
