import Foundation
import KeySharing
import TestSupport
import Testing

@testable import OpenSSL

@Suite("Rules of the certificate verifier", .timeLimit(.minutes(10)))
struct VerifierRuleTests {
    private static let email = "1.3.6.1.5.5.7.3.4"
    private static let server = "1.3.6.1.5.5.7.3.1"
    private static let anyUsage = "2.5.29.37.0"

    private static func outcome(
        _ kind: Verification.Kind, authority: (inout CertificateTemplate) -> Void = { _ in },
        leaf: (inout CertificateTemplate) -> Void = { _ in },
        _ configure: (inout TrustingVerifier) -> Void
    ) throws -> Verification.Outcome {
        let issuer = TestPKI.issuer(
            "Test CA", pathLength: 0, under: TestPKI.root, serial: [2], configure: authority)
        var template = try TestPKI.template()
        leaf(&template)
        var verifier = TrustingVerifier(trustAnchors: [TestPKI.root.certificate])
        verifier.intermediates = [issuer.certificate]
        configure(&verifier)
        return try verifier.verify(issuer.issue(template, to: TestPKI.leafKey), at: TestPKI.now).check(kind)
            .outcome
    }

    @Test("Expired certificates can be allowed, but not those that are not yet valid")
    func allowedExpiry() throws {
        for (change, isAllowed) in [
            (TemplateChange { $0.notAfter = TestPKI.now - 1 }, true),
            (TemplateChange { $0.notBefore = TestPKI.now + 1 }, false),
        ] {
            for allows in [false, true] {
                let expected: Verification.Outcome = allows && isAllowed ? .passed : .failed
                #expect(
                    try Self.outcome(.chain, authority: change.apply) { $0.allowsExpired = allows }
                        == expected)
                #expect(
                    try Self.outcome(.validity, leaf: change.apply) { $0.allowsExpired = allows } == expected)
            }
        }
    }

    @Test("The check of the validity distinguishes the times before and after it to the second")
    func validityWords() throws {
        let leaf = try TestPKI.leaf()
        let verifier = TrustingVerifier(trustAnchors: [TestPKI.root.certificate])
        for (date, words) in [
            (TestPKI.start - 1, "not valid before 2024"), (TestPKI.start - 0.5, "not valid before 2024"),
            (TestPKI.end + 1, "expired on 2027"),
        ] {
            let check = verifier.verify(leaf, at: date).check(.validity)
            #expect(check.outcome == .failed && check.explanation.hasPrefix(words), "\(date)")
        }
        for date in [TestPKI.start, TestPKI.end, TestPKI.end + 0.5] {
            #expect(verifier.verify(leaf, at: date).check(.validity).outcome == .passed, "\(date)")
        }
    }

    @Test("Each constraint makes an authority a constrained one")
    func anyConstraint() {
        #expect(!AuthorityConstraints().isAny)
        let changes: [(inout AuthorityConstraints) -> Void] = [
            { $0.pathLength = 0 }, { $0.hasNameConstraints = true }, { $0.requireExplicitPolicy = 0 },
            { $0.policyMappings = [.init(issuerPolicy: "1.2.3", subjectPolicy: "1.2.4")] },
            { $0.inhibitPolicyMapping = 0 }, { $0.inhibitAnyPolicy = 0 },
        ]
        for (index, change) in changes.enumerated() {
            var constraints = AuthorityConstraints()
            change(&constraints)
            #expect(constraints.isAny, "\(index)")
        }
    }

    @Test(
        "A purpose requires one of its key usages, and an extended key usage in every restricted certificate")
    func purposes() throws {
        let usages: [(CertificatePurpose, KeyUsage, Bool)] = [
            (.smimesign, .digitalSignature, true), (.smimesign, .nonRepudiation, true),
            (.smimesign, .keyAgreement, false), (.smimeencrypt, .keyAgreement, true),
            (.smimeencrypt, .digitalSignature, false), (.smimeencrypt, .keyEncipherment, false),
            (.sslclient, .keyAgreement, true), (.sslclient, .keyEncipherment, false),
        ]
        for (purpose, usage, isAllowed) in usages {
            let outcome = try Self.outcome(.keyUsage, leaf: { $0.keyUsage = usage }) { $0.purpose = purpose }
            #expect(outcome == (isAllowed ? .passed : .failed), "\(purpose) \(usage)")
        }
        let (email, server, anyUsage) = (Self.email, Self.server, Self.anyUsage)
        let extended: [(authority: [String], leaf: [String], purpose: CertificatePurpose, isAllowed: Bool)] =
            [
                ([], [email], .smimesign, true), ([email], [email], .smimesign, true),
                ([server], [email], .smimesign, false), ([server, email], [email], .smimesign, true),
                ([anyUsage], [anyUsage], .smimesign, true), ([email], [server], .smimesign, false),
                ([email], [], .smimesign, true), ([server], [], .smimesign, false),
                ([], ["1.3.6.1.5.5.7.3.8"], .timestampsign, false), ([], [], .timestampsign, false),
                (["1.3.6.1.5.5.7.3.8"], [], .timestampsign, false),
            ]
        for (authority, leaf, purpose, isAllowed) in extended {
            let outcome = try Self.outcome(
                .extendedKeyUsage, authority: { $0.extendedKeyUsage = authority },
                leaf: { $0.extendedKeyUsage = leaf }
            ) { $0.purpose = purpose }
            #expect(outcome == (isAllowed ? .passed : .failed), "\(authority) \(leaf) \(purpose)")
        }
    }

    @Test("The extended key usage of a time stamp signer is critical and contains only time stamping")
    func timeStamps() throws {
        for (numbers, isCritical, isAllowed) in [
            ([8], true, true), ([8], false, false), ([8, 1], true, false), ([1, 8], true, false),
            ([8, 8], true, false), ([1], true, false),
        ] as [([UInt8], Bool, Bool)] {
            let usage = CertificateExtension.purposes(numbers, isCritical: isCritical)
            let outcome = try Self.outcome(
                .extendedKeyUsage, authority: { $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.8", Self.server] },
                leaf: { $0.extensions = [usage] }
            ) { $0.purpose = .timestampsign }
            #expect(outcome == (isAllowed ? .passed : .failed), "\(numbers) \(isCritical)")
        }
    }

    private static func netscapeType(_ bits: UInt8, isCritical: Bool) -> CertificateExtension {
        CertificateExtension(
            oid: "2.16.840.1.113730.1.1", isCritical: isCritical, value: [0x03, 0x02, 0x00, bits])
    }

    @Test("A critical Netscape certificate type of the leaf must permit the purpose")
    func netscapeTypes() throws {
        for (bits, purpose, isAllowed) in [
            (0x10, .sslserver, false), (0x40, .sslserver, true), (0x80, .sslserver, false),
            (0x80, .sslclient, true), (0x10, .smimesign, false), (0x30, .smimesign, true),
            (0x20, .smimeencrypt, true), (0xFF, .crlsign, false), (0x00, .any, true),
        ] as [(UInt8, CertificatePurpose, Bool)] {
            for isCritical in [false, true] {
                let type = Self.netscapeType(bits, isCritical: isCritical)
                let outcome = try Self.outcome(.extendedKeyUsage, leaf: { $0.extensions = [type] }) {
                    $0.purpose = purpose
                }
                let isRejected = isCritical && !isAllowed
                #expect((outcome == .failed) == isRejected, "\(bits) \(purpose) \(isCritical)")
            }
        }
    }

    @Test("A critical Netscape certificate type that is not a BIT STRING permits no purpose")
    func malformedNetscapeType() throws {
        var verifier = CertificateVerifier()
        verifier.purpose = .sslserver
        // 0x40 is the bit for servers, in a BIT STRING and in an OCTET STRING.
        for (tag, isAllowed) in [(0x03, true), (0x04, false)] as [(UInt8, Bool)] {
            let leaf = try TestPKI.leaf {
                $0.extensions = [
                    CertificateExtension(
                        oid: "2.16.840.1.113730.1.1", isCritical: true, value: [tag, 0x02, 0x00, 0x40])
                ]
            }
            #expect(verifier.allowsPurpose(leaf, of: leaf) == isAllowed, "\(tag)")
        }
    }

    @Test("A critical Netscape certificate type of an authority must permit authorities for the purpose")
    func netscapeAuthorities() throws {
        for (bits, purpose, isAllowed) in [
            (0x04, .sslserver, true), (0x40, .sslserver, false), (0x02, .smimesign, true),
            (0x04, .smimesign, false), (0x00, .any, true),
        ] as [(UInt8, CertificatePurpose, Bool)] {
            let type = Self.netscapeType(bits, isCritical: true)
            let outcome = try Self.outcome(.extendedKeyUsage, authority: { $0.extensions = [type] }) {
                $0.purpose = purpose
            }
            #expect((outcome == .failed) == !isAllowed, "\(bits) \(purpose)")
        }
    }

    @Test("Encryption with a key on any curve requires key agreement")
    func curves() throws {
        for (key, usage, isAllowed) in [
            (TestPKI.key(.p384), .keyAgreement, true), (TestPKI.key(.p384), .keyEncipherment, false),
            (TestPKI.rsaKey, .keyEncipherment, true), (TestPKI.rsaKey, .keyAgreement, false),
        ] as [(PrivateKey, KeyUsage, Bool)] {
            var template = try TestPKI.template()
            template.keyUsage = usage
            var verifier = TrustingVerifier(trustAnchors: [TestPKI.root.certificate])
            verifier.purpose = .smimeencrypt
            let outcome = try verifier.verify(TestPKI.root.issue(template, to: key), at: TestPKI.now)
                .check(.keyUsage).outcome
            #expect(outcome == (isAllowed ? .passed : .failed), "\(key) \(usage)")
        }
    }

    @Test("Every expected key usage is required")
    func severalKeyUsages() throws {
        for (usage, isAllowed) in [
            ([.digitalSignature, .nonRepudiation], true), (.digitalSignature, false),
            (.nonRepudiation, false),
            ([.digitalSignature, .nonRepudiation, .keyAgreement], true),
        ] as [(KeyUsage, Bool)] {
            let outcome = try Self.outcome(.keyUsage, leaf: { $0.keyUsage = usage }) {
                $0.expectedKeyUsage = [.digitalSignature, .nonRepudiation]
            }
            #expect(outcome == (isAllowed ? .passed : .failed), "\(usage)")
        }
    }

    @Test("An expected extended key usage may be replaced by the usage for any purpose")
    func expectedUsage() throws {
        for (usages, isAllowed) in [
            ([Self.email], true), ([Self.anyUsage], true), ([Self.server], false),
            ([Self.server, Self.anyUsage], true), ([], true),
        ] {
            let outcome = try Self.outcome(.extendedKeyUsage, leaf: { $0.extendedKeyUsage = usages }) {
                $0.expectedExtendedKeyUsage = [Self.email]
            }
            #expect(outcome == (isAllowed ? .passed : .failed), "\(usages)")
        }
    }

    @Test("Without an intermediate certificate, the revocation of the incomplete chain is not checked")
    func incompleteChain() throws {
        let issuer = TestPKI.issuer("Test CA", pathLength: 0, under: TestPKI.root, serial: [2])
        let leaf = try issuer.issue(try TestPKI.template(), to: TestPKI.leafKey)
        var verifier = TrustingVerifier(trustAnchors: [TestPKI.root.certificate])
        verifier.revocationLists = [
            try issuer.revocationList([], thisUpdate: TestPKI.start, nextUpdate: TestPKI.end, number: [1])
        ]
        let check = verifier.verify(leaf, at: TestPKI.now).check(.revocation)
        #expect(check.outcome == .notChecked && check.explanation == "the chain is incomplete")
    }

    @Test("An RSA key matches only a key with the same two positive numbers")
    func numbers() throws {
        let key = TestPKI.rsaKey
        let spki = key.publicKey.spki
        #expect(try key.matches(PublicKey(spki: spki)))
        for exponent in [[1, 0, 3], [1, 0, 0], [3, 0, 1]] as [[UInt8]] {
            let other = try #require(
                spki.replacingFirst([0x02, 0x03, 0x01, 0x00, 0x01], with: [0x02, 0x03] + exponent))
            #expect(try !key.matches(PublicKey(spki: other)))
        }
        let small: [UInt8] = [0x30, 6, 0x02, 1, 0x0F, 0x02, 1, 3]
        #expect(RSANumbers(small[...])?.modulus == [0x0F] && RSANumbers(small[...])?.exponent == [3])
        for octets in [
            [0x30, 6, 0x02, 1, 0x8F, 0x02, 1, 3], [0x30, 6, 0x02, 1, 0x0F, 0x02, 1, 0x83],
            [0x30, 9, 0x02, 1, 0x0F, 0x02, 1, 3, 0x02, 1, 1], [0x30, 3, 0x02, 1, 0x0F],
            [0x31, 6, 0x02, 1, 0x0F, 0x02, 1, 3], [0x30, 6, 0x04, 1, 0x0F, 0x02, 1, 3], [],
        ] as [[UInt8]] {
            #expect(RSANumbers(octets[...]) == nil)
        }
    }

    @Test("The extension expiredCertsOnCRL of a revocation list must be exactly one time")
    func expiredCertificatesOnList() throws {
        func list(_ value: [UInt8]) throws -> EncodedRevocationList {
            let item = CertificateExtension(oid: "2.5.29.60", value: value)
            let list = try TestPKI.root.revocationList(
                [], thisUpdate: TestPKI.start, nextUpdate: TestPKI.end, number: [1], extensions: [item])
            return try EncodedRevocationList(der: list.der)
        }
        let time: [UInt8] = [0x18, 0x0F] + Array("20241203000000Z".utf8)
        #expect(try list(time).keepsExpiredSince == TestPKI.start)
        let others: [[UInt8]] = [[0x02, 0x01, 0x01], time + [0x05, 0x00]]
        for value in others {
            let error = #expect(throws: CertificateError.self) { try list(value) }
            #expect(error?.code == .malformed)
            #expect(error?.reason.contains("its extension expiredCertsOnCRL is not a time") == true)
        }
    }

    @Test("An unknown extension of an entry makes a revocation list unsuitable only if it is critical")
    func criticalExtensionOfEntry() throws {
        // The first entry has no extensions. The second one has a reason.
        let der = try TestPKI.root.revocationList(
            [
                .init(serialNumber: [1], date: TestPKI.start),
                .init(serialNumber: [2], date: TestPKI.start, reason: 1),
            ], thisUpdate: TestPKI.start, nextUpdate: TestPKI.end, number: [1]
        ).der
        let reason: [UInt8] = [0x06, 0x03, 0x55, 0x1D, 0x15, 0x04, 0x03, 0x0A, 0x01, 0x01]
        // The extensions 1.2, critical, and 1.2.3.4.
        let critical: [UInt8] = [0x06, 0x01, 0x2A, 0x01, 0x01, 0xFF, 0x04, 0x02, 0x05, 0x00]
        let harmless: [UInt8] = [0x06, 0x03, 0x2A, 0x03, 0x04, 0x04, 0x03, 0x02, 0x01, 0x00]
        for (item, isUnknown) in [(reason, false), (critical, true), (harmless, false)] {
            let list = try EncodedRevocationList(
                der: try #require(der.replacingFirst(reason, with: item)))
            #expect(list.hasUnknownCriticalExtension == isUnknown)
        }
    }

    @Test("An entry without a valid time makes a revocation list malformed, and its extensions are ignored")
    func timeOfEntry() throws {
        let der = try TestPKI.root.revocationList(
            [.init(serialNumber: [1], date: TestPKI.start + 86_400, reason: 1)],
            thisUpdate: TestPKI.start, nextUpdate: TestPKI.end, number: [1]
        ).der
        // The extension 1.2, critical, in place of the reason.
        let valid = try #require(
            der.replacingFirst(
                [0x06, 0x03, 0x55, 0x1D, 0x15, 0x04, 0x03, 0x0A, 0x01, 0x01],
                with: [0x06, 0x01, 0x2A, 0x01, 0x01, 0xFF, 0x04, 0x02, 0x05, 0x00]))
        #expect(try EncodedRevocationList(der: valid).hasUnknownCriticalExtension)
        try RevocationListParts(valid).requireEntries(in: valid)
        // The first replacement is a serial number of 16 octets and no time. The second one is a time without a zone.
        let serialAndTime: [UInt8] = [0x02, 0x01, 0x01, 0x17, 0x0D] + Array("241204000000Z".utf8)
        for others in [
            [0x02, 0x10, 0x01] + [UInt8](repeating: 0, count: 15), serialAndTime.dropLast() + [0x30],
        ] as [[UInt8]] {
            let malformed = try #require(valid.replacingFirst(serialAndTime, with: others))
            let error = #expect(throws: CertificateError.self) {
                try RevocationListParts(malformed).requireEntries(in: malformed)
            }
            #expect(error?.code == .malformed)
            #expect(error?.reason.contains("an entry has no serial number or no time") == true)
            #expect(try !EncodedRevocationList(der: malformed).hasUnknownCriticalExtension)
        }
    }
}
