import COpenSSL
import KeySharing
import SecretMemory
import SwiftASN1
import TestSupport
import Testing

@testable import OpenSSL

@Suite("Forms of keys", .timeLimit(.minutes(10)))
struct KeyFormTests {
    private static func octets(of key: PrivateKey) throws -> [UInt8] {
        let encoded = try key.pkcs8()
        return unsafe encoded.withUnsafeBytes { unsafe Array($0) }
    }

    @Test("A certificate with a costly key is decoded without the key")
    func costlyCertificate() throws {
        let scratch = try ScratchFolder()
        try scratch.shell(
            """
            openssl ecparam -name prime256v1 -genkey -noout -param_enc explicit -conv_form compressed -out key
            openssl ec -in key -param_enc explicit -conv_form compressed -out key.pem
            openssl req -x509 -new -key key.pem -outform DER -out costly.crt -subj /CN=Costly -days 30
            """)
        let costly = try Certificate(der: scratch.read("costly.crt"))
        for (certificate, isLoaded) in [(costly, false), (TestPKI.root.certificate, true)] {
            #expect(
                unsafe try certificate.withPointer { unsafe X509_get0_pubkey($0) != nil } == isLoaded)
            #expect((certificate.publicKey.bits > 0) == isLoaded)
        }
    }

    @Test("A key with explicit parameters matches the same key on the named curve, but not on another curve")
    func explicitParameters() throws {
        let key = try PrivateKey(pkcs8: SecretBytes(SampleKeys.explicitCurve))
        let point = Array(key.publicKey.keyOctets)
        #expect(key.publicKey.type == .ec(curve: "explicit"))
        #expect(key.matches(key.publicKey))
        #expect(try key.matches(PublicKey(spki: CostlyKey.spki(CostlyKey.named, point))))
        let other = Array(TestPKI.leafKey.publicKey.keyOctets)
        #expect(try !key.matches(PublicKey(spki: CostlyKey.spki(CostlyKey.named, other))))
        // The same point with another base point has another private key.
        let standard = try CostlyKey.parameters(isCompressed: false)
        let moved = try #require(
            standard.replacingFirst(CostlyKey.generator(isCompressed: false), with: point))
        let unknown = try PrivateKey(pkcs8: SecretBytes(CostlyKey.ec(moved, point)))
        #expect(unknown.type == .ec(curve: "explicit"))
        #expect(try unknown.matches(PublicKey(spki: CostlyKey.spki(moved, point))))
        #expect(try !unknown.matches(PublicKey(spki: CostlyKey.spki(standard, point))))
    }

    @Test("A point in a constructed bit string, and a curve without a base point, are not loaded")
    func hiddenPoints() throws {
        let curve = try CostlyKey.parameters(isCompressed: false)
        let point = CostlyKey.generator(isCompressed: true)
        let primitive = try ASN1.encoded { try $0.serialize(ASN1BitString(bytes: point[...])) }
        let plain = try CostlyKey.ec(curve, point)
        // The constructed form contains the primitive one, so every length around it grows by two.
        let constructed: [UInt8] = [0x23, UInt8(primitive.count)] + primitive
        let key = try ASN1.encoded { coder in
            try coder.sequence { info in
                try info.serialize(0)
                try info.sequence { identifier in
                    try identifier.objectIdentifier("1.2.840.10045.2.1")
                    identifier.serializeRawBytes(curve)
                }
                try info.octets(
                    ASN1.encoded { coder in
                        try coder.sequence { key in
                            try key.serialize(1)
                            try key.octets([UInt8](repeating: 0, count: 31) + [1])
                            try key.explicit(1) { $0.serializeRawBytes(constructed) }
                        }
                    })
            }
        }
        #expect(throws: CertificateError(.costlyKey(oid: "1.2.840.10045.2.1"), "")) {
            try PrivateKey(pkcs8: SecretBytes(plain))
        }
        #expect(throws: CertificateError(.malformedKey, "")) { try PrivateKey(pkcs8: SecretBytes(key)) }
        let baseless = try CostlyKey.ec(
            [0x30, 0x03, 0x02, 0x01, 0x01], CostlyKey.generator(isCompressed: false))
        #expect(throws: CertificateError(.costlyKey(oid: "1.2.840.10045.2.1"), "")) {
            try PrivateKey(pkcs8: SecretBytes(baseless))
        }
    }

    @Test("A key file is recognized by its fields, and other structures contain no private key")
    func files() throws {
        let pkcs8 = try Self.octets(of: TestPKI.rsaKey)
        let inner = try #require(DERElement(pkcs8)?.children.first { $0.tag == .octetString }?.octets)
        for form in [pkcs8, Array(inner)] {
            guard case .plain(let key)? = try PrivateKeyFile(der: SecretBytes(form)) else {
                Issue.record("no key")
                continue
            }
            #expect(key.matches(TestPKI.rsaKey.publicKey))
        }
        // PKCS #8 with an empty set of attributes.
        let count = Int(pkcs8[2]) << 8 + Int(pkcs8[3]) + 2
        let attributed =
            [0x30, 0x82, UInt8(count >> 8), UInt8(count & 0xFF)] + pkcs8.dropFirst(4) + [0xA0, 0]
        guard case .plain? = try PrivateKeyFile(der: SecretBytes(attributed)) else {
            Issue.record("no key with attributes")
            return
        }
        let scratch = try ScratchFolder()
        try scratch.shell("openssl ecparam -name secp384r1 -genkey -noout -outform DER -out ec.der")
        guard case .plain(let key)? = try PrivateKeyFile(der: SecretBytes(scratch.read("ec.der"))) else {
            Issue.record("no key")
            return
        }
        #expect(key.type == .ec(curve: "P-384"))
        try scratch.shell(
            "openssl pkcs8 -topk8 -v2 aes-192-cbc -passout pass:x -inform DER -in ec.der -outform DER -out p8.der"
        )
        guard
            case .encrypted(let scheme, let layer)? = try PrivateKeyFile(
                der: SecretBytes(scratch.read("p8.der")))
        else {
            Issue.record("not encrypted")
            return
        }
        #expect(scheme == "PBES2" && layer?.cipher == "AES-192-CBC")
        let integer: [UInt8] = [0x02, 0x01, 0x01]
        let integers = [[UInt8]](repeating: integer, count: 8).flatMap(\.self)
        for other in [
            TestPKI.rsaKey.publicKey.spki, TestPKI.root.certificate.der,
            // The first fields of PKCS #8 and SEC 1, without the key or the curve.
            [0x30, 0x05, 0x02, 0x01, 0x00, 0x30, 0x00],
            [0x30, 0x08, 0x02, 0x01, 0x00, 0x30, 0x00, 0x02, 0x01, 0x01],
            [0x30, 0x06, 0x02, 0x01, 0x01, 0x04, 0x01, 0x01],
            [0x30, UInt8(integers.count)] + integers,
            [0x30, UInt8(integers.count + 3)] + integers + [0x04, 0x01, 0x01], [0x30, 0x00],
            [0x02, 0x01, 0x01],
        ] as [[UInt8]] {
            #expect(try PrivateKeyFile(der: SecretBytes(other)) == nil)
        }
        let set = try TestPKI.rsaKey.pkcs8().withTransientArray { [0x31] + $0.dropFirst() }
        #expect(try PrivateKeyFile(der: SecretBytes(set)) == nil)
    }

    @Test("The parts of a public key are its numbers, or its curve and point")
    func parts() throws {
        guard case .rsa(let modulus, let exponent)? = TestPKI.rsaKey.publicKey.parts else {
            Issue.record("no parts")
            return
        }
        #expect(modulus.count == 256 && exponent == [1, 0, 1])
        #expect(TestPKI.rsaKey.publicKey.keyOctets.firstRange(of: modulus) != nil)
        let key = TestPKI.leafKey.publicKey
        #expect(key.parts == .ec(parameters: CostlyKey.named, point: [0x04, 65] + key.keyOctets))
        #expect(try PrivateKey(pkcs8: SecretBytes(SampleKeys.ed25519.pkcs8)).publicKey.parts == nil)
    }

    @Test("Each key type has its standard digest, and Edwards curves have none")
    func digests() {
        for (type, digest) in [
            (.rsa, .sha256), (.ec(curve: "P-256"), .sha256), (.ec(curve: "P-384"), .sha384),
            (.ec(curve: "P-521"), .sha512), (.ec(curve: "brainpoolP256r1"), .sha256), (.dsa, .sha256),
            (.ed25519, nil), (.ed448, nil),
        ] as [(KeyType, SignatureDigest?)] {
            #expect(SignatureDigest.standard(for: type) == digest, "\(type)")
        }
    }

    @Test("A private key that one of several bytes follows is rejected")
    func trailingBytes() throws {
        let pkcs8 = try Self.octets(of: TestPKI.leafKey)
        for count in [1, 2] {
            #expect(throws: CertificateError(.trailingBytes, "")) {
                try PrivateKey(pkcs8: SecretBytes(pkcs8 + [UInt8](repeating: 0, count: count)))
            }
        }
    }

    @Test("A serial number is encoded as a positive number, and a negative one is not encoded")
    func serialNumbers() throws {
        for (octets, encoded) in [
            ([0x7F], [0x02, 0x01, 0x7F]), ([0x80], [0x02, 0x02, 0x00, 0x80]),
            ([0x81], [0x02, 0x02, 0x00, 0x81]),
            ([], [0x02, 0x01, 0x00]), ([0x01, 0x80], [0x02, 0x02, 0x01, 0x80]),
        ] as [([UInt8], [UInt8])] {
            #expect(try TestPKI.leaf { $0.serialNumber = octets }.encodedSerialNumber == encoded)
        }
        let negative = try TestPKI.leaf {
            $0.serialNumber = [1]
            $0.isSerialNegative = true
        }
        #expect(negative.encodedSerialNumber == nil)
    }
}

@Suite("Constraints and distribution points of certificates", .timeLimit(.minutes(10)))
struct ConstraintTests {
    private static func element(_ tag: UInt8, _ contents: [UInt8]...) -> [UInt8] {
        let joined = Array(contents.joined())
        return [tag, UInt8(joined.count)] + joined
    }

    private func constraints(_ item: CertificateExtension) throws -> AuthorityConstraints {
        AuthorityConstraints(of: try TestPKI.leaf { $0.extensions = [item] })
    }

    @Test("The path length of a certificate is read, and a huge one is the largest number")
    func pathLength() throws {
        for length in [nil, 0, 3, 200] {
            let authority = try TestPKI.leaf {
                $0.basicConstraints = .init(isCertificateAuthority: true, pathLength: length)
            }
            #expect(AuthorityConstraints(of: authority).pathLength == length)
            #expect(authority.isCertificateAuthority)
        }
        let huge = Self.element(0x02, [0x01] + [UInt8](repeating: 0, count: 8))
        let value = Self.element(0x30, [0x01, 0x01, 0xFF], huge)
        #expect(
            try constraints(CertificateExtension(oid: "2.5.29.19", value: value)).pathLength == .max)
        #expect(
            try constraints(
                CertificateExtension(oid: "2.5.29.54", isCritical: true, value: huge)
            ).inhibitAnyPolicy == .max)
        #expect(
            try constraints(CertificateExtension(oid: "2.5.29.54", value: [2, 1, 4])).inhibitAnyPolicy == 4)
    }

    @Test("Policy constraints are read separately")
    func policyConstraints() throws {
        let both = try constraints(
            CertificateExtension(
                oid: "2.5.29.36", isCritical: true, value: [0x30, 6, 0x80, 1, 2, 0x81, 1, 3]))
        #expect(both.requireExplicitPolicy == 2 && both.inhibitPolicyMapping == 3)
        let mapping = try constraints(
            CertificateExtension(oid: "2.5.29.36", isCritical: true, value: [0x30, 3, 0x81, 1, 3]))
        #expect(mapping.requireExplicitPolicy == nil && mapping.inhibitPolicyMapping == 3)
    }

    @Test("Each reason of a revocation has its name in RFC 5280")
    func reasons() {
        let names = [
            "unspecified", "keyCompromise", "cACompromise", "affiliationChanged", "superseded",
            "cessationOfOperation", "certificateHold", "7", "removeFromCRL", "privilegeWithdrawn",
            "aACompromise",
        ]
        for (reason, name) in names.enumerated() {
            #expect(CertificateRevocation(date: nil, reason: reason).reasonName == name)
        }
        #expect(
            "\(CertificateRevocation(date: nil, reason: nil))" == "certificate revoked, no reason given")
    }

    @Test("Permitted and excluded names are read separately")
    func names() throws {
        let authority = try TestPKI.leaf {
            $0.permittedNames = [.dNSName("good.example")]
            $0.excludedNames = [.dNSName("bad.example"), .rfc822Name("bad.example")]
        }
        let constraints = AuthorityConstraints(of: authority)
        #expect(constraints.permittedNames == [.dNSName("good.example")])
        #expect(constraints.excludedNames == [.dNSName("bad.example"), .rfc822Name("bad.example")])
        #expect(constraints.hasNameConstraints && constraints.isAny)
    }

    @Test("A distribution point has its URLs, issuers and restriction to reasons, but no relative name")
    func points() throws {
        let url = Self.element(0x86, Array("http://x/c".utf8))
        let full = Self.element(
            0x30, Self.element(0xA0, Self.element(0xA0, url)), Self.element(0x81, [5, 0x60]))
        let common = Self.element(
            0x30, Self.element(0x06, [0x55, 0x04, 0x03]), Self.element(0x0C, Array("List".utf8)))
        let relative = Self.element(0x30, Self.element(0xA0, Self.element(0xA1, common)))
        let issuer = try DistinguishedName([.init("CN", "Signer")])
        let indirect = Self.element(0x30, Self.element(0xA2, Self.element(0xA4, issuer.der)))
        let points = try TestPKI.leaf {
            $0.extensions = [
                CertificateExtension(oid: "2.5.29.31", value: Self.element(0x30, full, relative, indirect))
            ]
        }.distributionPoints
        #expect(points.map(\.urls) == [["http://x/c"], [], []])
        #expect(points.map(\.isForSomeReasons) == [true, false, false])
        #expect(points.map(\.issuers) == [[], [], [issuer]])
    }

    @Test("A bundle may have as many items as the limit, and certificates and lists count")
    func bundles() throws {
        let list = try TestPKI.root.revocationList(
            [], thisUpdate: TestPKI.start, nextUpdate: nil, number: [1])
        let bundle = BundleSamples.bundle([TestPKI.root.certificate.der], [list.der])
        let read = try CertificateBundle(der: bundle, mostItems: 2)
        #expect(read.certificates == [TestPKI.root.certificate] && read.encodedLists == [list.der])
        #expect(read.lists.map(\.issuer) == [TestPKI.root.certificate.subject])
        #expect(read.lists.map(\.number) == [[1]])
        #expect(throws: CertificateError(.malformed, "")) { try CertificateBundle(der: bundle, mostItems: 1) }
        let data = Self.element(
            0x30, Self.element(0x06, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]),
            Self.element(0xA0, [0x04, 0x01, 0x01]))
        #expect(throws: CertificateError(.missing, "")) { try CertificateBundle(der: data, mostItems: 2) }
    }

    @Test("An extension is critical only if it is marked, and the issuer of a list's entry always is")
    func criticality() throws {
        let certificate = try TestPKI.leaf {
            $0.keyUsage = .digitalSignature
            $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.4"]
        }
        let critical = certificate.extensions.filter(\.isCritical).map(\.oid)
        #expect(critical == ["2.5.29.15"])
        let entry = CertificateRevocationList.Entry(
            serialNumber: [1], date: TestPKI.start, issuer: TestPKI.root.certificate.subject)
        let list = try TestPKI.root.revocationList(
            [entry], thisUpdate: TestPKI.start, nextUpdate: nil, number: [1])
        #expect(list.entries == [entry])
        // The extension's type and its critical flag.
        #expect(list.der.firstRange(of: [0x06, 0x03, 0x55, 0x1D, 0x1D, 0x01, 0x01, 0xFF]) != nil)
    }
}
