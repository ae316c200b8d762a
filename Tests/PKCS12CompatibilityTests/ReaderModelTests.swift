import SecretMemory
import PKCS12Compatibility
import OpenSSL
import SwiftASN1
import TestSupport
import Testing

@Suite("Models of readers of PKCS #12", .timeLimit(.minutes(10)))
struct ReaderModelTests {
    private let password = PKCS12Password.text(PKCS12Samples.password)
    private let first = PKCS12Samples.first

    @Test(
        "Each model predicts whether the reader opens a file of each profile",
        arguments: PKCS12Profile.Name.allCases)
    func profiles(name: PKCS12Profile.Name) throws {
        let failing: Set<ReaderModel> =
            switch name {
            case .modern, .compatible, .sampleServed, .emptyPassword: [.openSSLFIPS]
            case .purebredSample: [.openSSL, .openSSLFIPS]
            case .pbmac1: [.openSSL, .openSSLLegacy, .nss, .gnuTLS, .java, .apple]
            case .noMAC: [.nss, .gnuTLS, .go, .apple]
            }
        let report = PKCS12.inspect(
            try PKCS12Samples.written(PKCS12Profile(name)),
            password: name == .emptyPassword ? .text(SecretBytes([])) : password)
        for reader in ReaderModel.allCases {
            let verdict = reader.verdict(on: report)
            #expect(verdict.reader == reader)
            #expect(verdict.outcome == (failing.contains(reader) ? .fails : .opens), "\(verdict)")
            #expect(verdict.reasons.isEmpty == !failing.contains(reader))
        }
    }

    @Test("Only NSS and Apple open a file with an AES key that is longer than its identifier specifies")
    func mislabelledAES() throws {
        let bag = try PKCS12Samples.bag(certificate: first.certificate)
        let layer = try PKCS12Samples.mislabelled(
            PKCS12Samples.encrypt(SecretBytes(PKCS12Samples.contents([bag]))))
        let report = PKCS12.inspect(
            try PKCS12Samples.file([PKCS12Samples.encryptedSafe(layer)]), password: password)
        #expect(report.verdict == .ok)
        let opening = ReaderModel.allCases.filter { $0.verdict(on: report).outcome == .opens }
        #expect(opening == [.nss, .apple])
        let reasons = ReaderModel.openSSL.verdict(on: report).reasons
        #expect(reasons.first?.contains("key length") == true)
    }

    @Test("The model of Apple's import follows every rule of its published source")
    func apple() throws {
        let pbmac1 = PKCS12.inspect(try PKCS12Samples.written(PKCS12Profile(.pbmac1)), password: password)
        #expect(ReaderModel.apple.verdict(on: pbmac1).reasons.first?.contains("errSecAuthFailed") == true)
        let noMAC = PKCS12.inspect(try PKCS12Samples.written(PKCS12Profile(.noMAC)), password: password)
        #expect(ReaderModel.apple.verdict(on: noMAC).reasons.first?.contains("errSecDecode") == true)

        // Apple's code decrypts AES-128 as AES-256, so the plaintext is not a bag.
        #expect(try outcome(.apple, cipher: OID.aes128CBC, prf: OID.hmacSHA256) == .fails)
        #expect(try outcome(.apple, cipher: OID.aes256CBC, prf: OID.hmacSHA1) == .fails)
        #expect(try outcome(.apple, cipher: OID.aes256CBC, prf: OID.hmacSHA256) == .opens)

        let bag = try first.key.pkcs8()
        let plain = try PKCS12Samples.bag(OID.keyBag, value: unsafe bag.withUnsafeBytes { unsafe Array($0) })
        let certificate = try PKCS12Samples.bag(certificate: first.certificate)
        #expect(try outcomes([PKCS12Samples.safe([plain])])[.apple] == .fails)
        #expect(try outcomes([PKCS12Samples.safe([plain, certificate])])[.apple] == .partly)
        let nested = try PKCS12Samples.bag(
            OID.safeContentsBag, value: PKCS12Samples.contents([certificate]))
        #expect(try outcomes([PKCS12Samples.safe([nested])])[.apple] == .fails)
        #expect(try outcomes([PKCS12Samples.safe([nested, certificate])])[.apple] == .partly)
        let strange = try PKCS12Samples.bag("1.2.3.5", value: [5, 0])
        #expect(try outcomes([PKCS12Samples.safe([strange])])[.apple] == .fails)
        for (attribute, count) in [
            (OID.localKeyID, 1), (OID.friendlyName, 1), (OID.javaTrustedKeyUsage, 0), ("1.2.3.6", 0),
        ] {
            let twice = try PKCS12Samples.bag(
                OID.crlBag, value: [5, 0], attributes: attributes(attribute, values: [[1], [2]]))
            let report = PKCS12.inspect(
                try PKCS12Samples.file([PKCS12Samples.safe([twice])]), password: password)
            #expect(report.contents.oddAttributeCount == count)
            #expect(ReaderModel.apple.verdict(on: report).outcome == (count == 0 ? .opens : .fails))
        }
    }

    /// Returns the DER of a SET with one attribute that has the given number of values.
    private func attributes(_ type: String, values: [[UInt8]]) throws -> [UInt8] {
        try encoded { coder in
            try coder.appendConstructedNode(identifier: .set) { set in
                try set.appendConstructedNode(identifier: .sequence) { attribute in
                    try attribute.serialize(ASN1ObjectIdentifier(dotRepresentation: type))
                    try attribute.appendConstructedNode(identifier: .set) { set in
                        for value in values { try set.serialize(ASN1OctetString(contentBytes: value[...])) }
                    }
                }
            }
        }
    }

    private func encoded(_ body: (inout DER.Serializer) throws -> Void) rethrows -> [UInt8] {
        var coder = DER.Serializer()
        try body(&coder)
        return coder.serializedBytes
    }

    @Test("No reader opens a file with an encryption scheme for which OpenSSL has no name")
    func unknownScheme() throws {
        let layer = PKCS12Samples.layer(
            algorithm: try encoded { coder in
                try coder.appendConstructedNode(identifier: .sequence) { algorithm in
                    try algorithm.serialize(ASN1ObjectIdentifier(dotRepresentation: "1.2.643.7.1.1.5.1"))
                }
            })
        let report = PKCS12.inspect(
            try PKCS12Samples.file([PKCS12Samples.encryptedSafe(layer)]), password: password)
        #expect(ReaderModel.allCases.allSatisfy { $0.verdict(on: report).outcome == .fails })
    }

    @Test("Java finds a certificate without a key only if an attribute marks it as trusted")
    func loneCertificate() throws {
        for mark in [[], try attributes(OID.javaTrustedKeyUsage, values: [[1]])] {
            let bag = try encoded { coder in
                try coder.appendConstructedNode(identifier: .sequence) { value in
                    try value.serialize(ASN1ObjectIdentifier(dotRepresentation: OID.x509Certificate))
                    try value.serialize(
                        ASN1OctetString(contentBytes: first.certificate.der[...]),
                        explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific)
                }
            }
            let lone = try PKCS12Samples.bag(OID.certBag, value: bag, attributes: mark)
            let verdict = try outcomes([PKCS12Samples.safe([lone])])[.java]
            #expect(verdict == (mark.isEmpty ? .fails : .opens))
        }
    }

    @Test(
        "A model predicts failure if its reader does not support the file's keys, encoding or password"
    )
    func shape() throws {
        let keys = try [PKCS12Samples.bag(key: first.key), PKCS12Samples.bag(key: PKCS12Samples.second.key)]
        let two = try outcomes([PKCS12Samples.safe(keys)])
        #expect(two[.go] == .fails)
        #expect(two[.openSSL] == .opens)
        let bytes = try PKCS12Samples.written()
        guard case .constructed(let fields) = try DER.parse(bytes).content else {
            Issue.record("no SEQUENCE")
            return
        }
        let indefinite = [0x30, 0x80] + fields.flatMap(\.encodedBytes) + [0, 0]
        #expect(outcomes(indefinite)[.go] == .fails)
        #expect(outcomes(indefinite)[.nss] == .opens)
        #expect(outcomes(bytes + [0])[.go] == .fails)
        let odd = SecretBytes(utf8: "Mötley")
        let foreign = outcomes(try PKCS12Samples.written(password: odd), password: .text(odd))
        #expect(Set(foreign.filter { $0.value == .fails }.keys) == [.java, .openSSLFIPS])
    }

    @Test(
        "Models of readers that failed in test runs reject plain keys, nested safes or unlinked keys"
    )
    func oddities() throws {
        let info = try first.key.pkcs8()
        let key = unsafe info.withUnsafeBytes { unsafe Array($0) }
        let (mine, other) = try (
            attributes(OID.localKeyID, values: [[1]]), attributes(OID.localKeyID, values: [[2]])
        )
        func failing(_ bags: [[UInt8]]) throws -> Set<ReaderModel> {
            Set(try outcomes([PKCS12Samples.safe(bags)]).filter { $0.value == .fails }.keys)
        }
        func plain(_ attributes: [UInt8]) throws -> [UInt8] {
            try PKCS12Samples.bag(OID.keyBag, value: key, attributes: attributes)
        }
        let certificate = try PKCS12Samples.bag(certificate: first.certificate, .init(localKeyID: [1]))
        let always: Set<ReaderModel> = [.openSSLFIPS]
        #expect(try failing([plain(mine), certificate]) == always.union([.java]))
        for key in try [plain([]), plain(other)] {
            #expect(try failing([key, certificate]) == always.union([.java, .nss]))
        }
        let nested = try PKCS12Samples.bag(
            OID.safeContentsBag, value: PKCS12Samples.contents([plain(mine), certificate]))
        #expect(try failing([nested]) == always.union([.java, .gnuTLS, .apple]))
    }

    @Test("Java finds the certificate of a key by localKeyID, name or position")
    func links() throws {
        typealias Attributes = PKCS12FileBuilder.Attributes
        func key(_ attributes: Attributes = .init()) throws -> [UInt8] {
            try PKCS12Samples.bag(key: first.key, attributes)
        }
        func certificate(_ attributes: Attributes = .init()) throws -> [UInt8] {
            try PKCS12Samples.bag(certificate: first.certificate, attributes)
        }
        func outcome(_ safes: [[UInt8]]...) throws -> ReaderModel.Verdict.Outcome? {
            let outcomes = try outcomes(safes.map(PKCS12Samples.safe))
            #expect(outcomes[.openSSL] == .opens)
            return outcomes[.java]
        }
        #expect(try outcome([certificate()], [key()]) == .fails)
        #expect(try outcome([certificate(), key()]) == .fails)
        #expect(try outcome([key(), certificate()]) == .fails)
        #expect(try outcome([key()], [certificate()]) == .opens)
        #expect(try outcome([certificate(.init(localKeyID: [1])), key(.init(localKeyID: [1]))]) == .opens)
        #expect(try outcome([certificate(.init(localKeyID: [1])), key(.init(localKeyID: [2]))]) == .fails)
        let (small, large) = (Attributes(friendlyName: "a name"), Attributes(friendlyName: "A Name"))
        #expect(try outcome([certificate(small), key(large)]) == .opens)
        #expect(try outcome([certificate(small), key(Attributes(friendlyName: "another"))]) == .fails)

        // The certificate of the second key is lost, and the first identity remains.
        let second = try [
            PKCS12Samples.bag(key: PKCS12Samples.second.key),
            PKCS12Samples.bag(certificate: PKCS12Samples.second.certificate),
        ]
        #expect(try outcome([key(small), certificate(small)] + second) == .partly)
        // A key has no certificate in the file, so none is lost.
        #expect(try outcome([key(small), certificate(small), second[0]]) == .opens)
        #expect(try outcome([key()]) == .opens)
    }

    @Test("GnuTLS and Go reject octets after the contents of a safe, and other readers ignore them")
    func trailingOctets() throws {
        let attributes = PKCS12FileBuilder.Attributes(localKeyID: [1])
        let bags = try [
            PKCS12Samples.bag(certificate: first.certificate, attributes),
            PKCS12Samples.bag(key: first.key, attributes),
        ]
        let padded = try PKCS12Samples.contents(bags) + [1]
        let always: Set<ReaderModel> = [.openSSLFIPS]
        let files = try [
            PKCS12Samples.file([PKCS12FileBuilder.safe(padded)]),
            PKCS12Samples.file([PKCS12Samples.encryptedSafe(PKCS12Samples.encrypt(SecretBytes(padded)))]),
            PKCS12Samples.file([PKCS12Samples.safe(bags)], trailing: [1]),
        ]
        for file in files {
            let outcomes = outcomes(file)
            #expect(Set(outcomes.filter { $0.value == .fails }.keys) == always.union([.gnuTLS, .go]))
        }
        let sound = outcomes(try PKCS12Samples.file([PKCS12Samples.safe(bags)]))
        #expect(Set(sound.filter { $0.value == .fails }.keys) == always)
    }

    @Test("The empty password opens a file without a password if the reader tries both")
    func absentPassword() throws {
        var builder = PKCS12FileBuilder()
        builder.isWithoutPassword = true
        builder.add(first.certificate, first.key, friendlyName: nil)
        let file = try builder.file(password: SecretBytes([]))
        let typed = PKCS12.inspect(file, password: .text(SecretBytes([])))
        let unprotected = PKCS12.inspect(file, password: .absent)
        #expect((typed.verdict, unprotected.verdict) == (.wrongPassword, .ok))
        let failing = ReaderModel.allCases.filter {
            $0.verdict(on: typed, withoutPassword: unprotected).outcome == .fails
        }
        #expect(failing == [.openSSLFIPS, .gnuTLS, .apple])
        #expect(ReaderModel.nss.verdict(on: typed).outcome == .unknown)
        #expect(ReaderModel.gnuTLS.verdict(on: unprotected).outcome == .opens)
    }

    @Test("The contents of a file that did not open are unknown, but its MAC and encryption are checked")
    func unopened() throws {
        let wrong = PKCS12Password.text(SecretBytes(utf8: "wrong"))
        let modern = outcomes(try PKCS12Samples.written(), password: wrong)
        #expect(modern[.openSSL] == .unknown)
        #expect(modern[.openSSLFIPS] == .fails)
        let pbmac1 = outcomes(try PKCS12Samples.written(PKCS12Profile(.pbmac1)), password: wrong)
        #expect(pbmac1[.apple] == .fails)
        #expect(pbmac1[.go] == .unknown)
        #expect(outcomes([1, 2, 3])[.apple] == .unknown)
    }

    @Test(
        "Java and GnuTLS reject more iterations than their limits, in the MAC and in a layer",
        arguments: [(ReaderModel.java, 5_000_000), (.gnuTLS, 10_485_760)])
    func iterationLimits(reader: ReaderModel, limit: Int) throws {
        var limits = PKCS12Limits()
        limits.iterations = 20_000_000
        limits.patience = .seconds(1_000)
        let contents = try PKCS12Samples.contents([PKCS12Samples.bag(certificate: first.certificate)])
        for (iterations, outcome) in [(limit, ReaderModel.Verdict.Outcome.unknown), (limit + 1, .fails)] {
            let layer = try PKCS12FileBuilder().encrypt(
                SecretBytes(contents), .pbes2(), password: PKCS12Samples.password,
                claimedIterations: iterations)
            var builder = PKCS12FileBuilder()
            builder.add(first.certificate, first.key, friendlyName: nil)
            builder.claimedIterations = iterations
            let files = try [
                PKCS12Samples.file([PKCS12Samples.encryptedSafe(layer)]),
                builder.file(password: PKCS12Samples.password),
            ]
            for file in files {
                // The password is wrong, so no layer is decrypted.
                let report = PKCS12.inspect(
                    file, password: .text(SecretBytes(utf8: "wrong")), limits: limits)
                #expect(reader.verdict(on: report).outcome == outcome, "\(iterations)")
            }
        }
    }

    @Test("Go rejects a file without a key, or with three safes")
    func countsOfGo() throws {
        let certificate = try PKCS12Samples.bag(certificate: first.certificate)
        #expect(try outcomes([PKCS12Samples.safe([certificate])])[.go] == .fails)
        let key = try PKCS12Samples.bag(key: first.key)
        let two = try [PKCS12Samples.safe([certificate]), PKCS12Samples.safe([key])]
        #expect(try outcomes(two)[.go] == .opens)
        #expect(try outcomes(two + [PKCS12Samples.safe([])])[.go] == .fails)
    }

    @Test("NSS rejects a revocation list, and Java rejects a secret")
    func otherBags() throws {
        let list = try PKCS12Samples.bag(OID.crlBag, value: [5, 0])
        let secret = try PKCS12Samples.bag(OID.secretBag, value: [0x30, 4, 6, 2, 0x2A, 3])
        for (bag, reader) in [(list, ReaderModel.nss), (secret, .java)] {
            let outcomes = try outcomes([PKCS12Samples.safe([bag])])
            #expect(outcomes[reader] == .fails && outcomes[.openSSL] == .opens)
        }
    }

    private func outcomes(
        _ bytes: [UInt8], password: PKCS12Password? = nil
    ) -> [ReaderModel: ReaderModel.Verdict.Outcome] {
        let report = PKCS12.inspect(bytes, password: password ?? self.password)
        return Dictionary(
            uniqueKeysWithValues: ReaderModel.allCases.map { ($0, $0.verdict(on: report).outcome) })
    }

    private func outcomes(_ safes: [[UInt8]]) throws -> [ReaderModel: ReaderModel.Verdict.Outcome] {
        outcomes(try PKCS12Samples.file(safes))
    }

    private func outcome(
        _ reader: ReaderModel, cipher: String, prf: String
    ) throws -> ReaderModel.Verdict.Outcome? {
        let contents = try PKCS12Samples.contents([PKCS12Samples.bag(certificate: first.certificate)])
        let layer = try PKCS12Samples.encrypt(
            SecretBytes(contents), .pbes2(cipher: cipher, function: prf))
        return try outcomes([PKCS12Samples.encryptedSafe(layer)])[reader]
    }
}
