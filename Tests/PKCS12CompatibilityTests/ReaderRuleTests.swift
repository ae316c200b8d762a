import TestSupport
import Testing

@testable import OpenSSL
@testable import PKCS12Compatibility

/// Predictions for contents that are assembled field by field, so that each rule is tested separately.
@Suite("Rules of the models of readers", .timeLimit(.minutes(10)))
struct ReaderRuleTests {
    private typealias Outcome = ReaderModel.Verdict.Outcome

    /// The contents of a file with one identity that most readers open.
    private static func contents(_ change: (inout PKCS12Contents) -> Void = { _ in }) -> PKCS12Contents {
        var contents = PKCS12Contents()
        contents.identities = [
            PKCS12Identity(
                certificate: PKCS12Samples.first.certificate, privateKey: PKCS12Samples.first.key,
                friendlyName: nil, localKeyID: [1], attributes: [])
        ]
        (contents.certificateCount, contents.keyCount, contents.safeCount) = (1, 1, 2)
        contents.mac = MACInfo(
            scheme: .pkcs12(digest: "SHA-256"), algorithm: "HMAC with SHA-256", iterations: 1, saltLength: 8)
        contents.passwordForm = PKCS12PasswordForm(encoding: .utf16, isASCII: true)
        contents.linkedBags = [
            bag(.shroudedKey, "safe 2, bag 1", [1]),
            bag(.certificate(isTrusted: false), "safe 1, bag 1", [1]),
        ]
        change(&contents)
        return contents
    }

    private static func bag(
        _ kind: PKCS12LinkedBag.Kind, _ place: String, _ identifier: [UInt8]? = nil
    ) -> PKCS12LinkedBag {
        PKCS12LinkedBag(kind: kind, place: place, friendlyName: nil, localKeyID: identifier)
    }

    private func verdict(
        _ reader: ReaderModel, _ change: (inout PKCS12Contents) -> Void = { _ in }
    ) -> ReaderModel.Verdict {
        reader.verdict(on: PKCS12Report(contents: Self.contents(change), error: nil))
    }

    /// The readers that do not open the file.
    private func failing(_ change: (inout PKCS12Contents) -> Void = { _ in }) -> Set<ReaderModel> {
        Set(ReaderModel.allCases.filter { verdict($0, change).outcome == .fails })
    }

    /// The model of OpenSSL with the FIPS provider opens no file with the usual MAC.
    private static let always: Set<ReaderModel> = [.openSSLFIPS]
    private static let all = Set(ReaderModel.allCases)

    @Test("Every reader except OpenSSL with the FIPS provider opens the unchanged contents")
    func unchanged() {
        #expect(failing() == Self.always)
        #expect(ReaderModel.allCases.allSatisfy { verdict($0).outcome == .opens || $0 == .openSSLFIPS })
    }

    @Test("Java links keys and certificates only outside nested safes, and completes only the first key's ID")
    func links() {
        #expect(verdict(.java) { $0.linkedBags = [] }.outcome == .opens)
        let nested = verdict(.java) {
            $0.linkedBags[1] = Self.bag(.certificate(isTrusted: false), "safe 1, bag 2, bag 1", [1])
        }
        #expect(nested.outcome == .fails)
        let plain = verdict(.java) { $0.linkedBags.append(Self.bag(.plainKey, "safe 2, bag 2", [2])) }
        #expect(plain.outcome == .opens)
        // Java's ID of a key without one consists of the characters 01.
        let two = verdict(.java) {
            $0.identities += $0.identities
            $0.linkedBags = [
                Self.bag(.shroudedKey, "safe 1, bag 1"), Self.bag(.shroudedKey, "safe 1, bag 2"),
                Self.bag(.certificate(isTrusted: false), "safe 2, bag 1", Array("01".utf8)),
            ]
        }
        #expect(two.outcome == .partly)
    }

    @Test("Each key type is supported by the expected readers")
    func keyTypes() {
        let known = Self.all
        let expected: [(KeyType, Set<ReaderModel>)] = [
            (.rsa, known), (.ec(curve: "P-256"), known), (.ec(curve: "P-521"), known),
            (.ec(curve: "P-224"), known.subtracting([.nss, .java])),
            (.ec(curve: "brainpoolP256r1"), [.openSSL, .openSSLLegacy, .gnuTLS, .apple]),
            (.dsa, known.subtracting([.go, .apple])),
            (.ed25519, [.openSSL, .openSSLLegacy, .gnuTLS, .java, .go]),
            (.x25519, [.openSSL, .openSSLLegacy, .gnuTLS, .java, .go]),
            (.ed448, [.openSSL, .openSSLLegacy, .gnuTLS, .java]), (.other("1.2.3"), []),
        ]
        for (type, readers) in expected {
            #expect(Set(ReaderModel.allCases.filter { $0.rules.takesKey(type) }) == readers, "\(type)")
        }
        var unknown = PKCS12UnknownKey(
            algorithm: "1.2.3", name: "1.2.3", isRefused: false, friendlyName: nil, localKeyID: nil)
        #expect(failing { $0.unknownKeys = [unknown] } == Self.all)
        unknown.isVersion1 = true
        #expect(failing { $0.unknownKeys = [unknown] } == Self.all.subtracting([.gnuTLS]))
    }

    @Test("Keys and certificates that cannot be read are an obstacle for every reader")
    func unreadable() {
        let locked = PKCS12LockedKey(
            place: "safe 1, bag 1", encryption: "", friendlyName: nil, localKeyID: nil)
        #expect(failing { $0.lockedKeys = [locked] } == Self.all)
        let unreadable = PKCS12UnreadableBag(place: "safe 1, bag 1", friendlyName: nil)
        #expect(failing { $0.unreadableKeys = [unreadable] } == Self.all)
        #expect(failing { $0.unreadableCertificates = [unreadable] } == Self.all)
    }

    @Test(
        "A PBMAC1 needs a supported digest and a supported key derivation",
        arguments: [
            ("SHA-256", "SHA-256", [.go, .openSSLFIPS]), ("SHA-512/256", "SHA-256", [.openSSLFIPS]),
            ("SHA-256", "SHA-512/224", [.openSSLFIPS]), ("SHA-256", "SHA3-256", []),
            ("SHA3-256", "SHA-256", []), ("SHA-384", "SHA-256", [.openSSLFIPS]),
        ] as [(String, String, Set<ReaderModel>)])
    func pbmac1(digest: String, derivation: String, readers: Set<ReaderModel>) {
        let failing = failing {
            $0.mac = MACInfo(
                scheme: .pbmac1(digest: digest, derivation: derivation), algorithm: "PBMAC1", iterations: 1,
                saltLength: 8)
        }
        #expect(failing == Self.all.subtracting(readers))
    }

    @Test("Without a MAC, Go requires the empty password, and an absent password is not a further obstacle")
    func missingMAC() {
        func withoutMAC(_ encoding: PasswordEncoding?) -> (inout PKCS12Contents) -> Void {
            {
                $0.mac = nil
                $0.notes = [.noMAC]
                $0.passwordForm = encoding.map { PKCS12PasswordForm(encoding: $0, isASCII: true) }
            }
        }
        let strict: Set<ReaderModel> = [.nss, .gnuTLS, .apple]
        for encoding in [nil, .empty, .absent] as [PasswordEncoding?] {
            #expect(failing(withoutMAC(encoding)) == strict, "\(String(describing: encoding))")
        }
        #expect(failing(withoutMAC(.utf16)) == strict.union([.go]))
        #expect(verdict(.apple, withoutMAC(.absent)).reasons.count == 1)
        #expect(
            failing { $0.passwordForm = PKCS12PasswordForm(encoding: .absent, isASCII: true) }
                == Self.always.union([.apple]))
    }

    @Test("Only Apple rejects a MAC with an empty salt")
    func emptySalt() {
        let failing = failing {
            $0.mac = MACInfo(
                scheme: .pkcs12(digest: "SHA-256"), algorithm: "HMAC with SHA-256", iterations: 1,
                saltLength: 0)
        }
        #expect(failing == Self.always.union([.apple]))
    }

    @Test(
        "Each encryption of a layer is supported by the expected readers",
        arguments: [
            ("AES-256-CBC", .pbkdf2(digest: "SHA-256"), ReaderModel.allCases.filter { $0 != .openSSLFIPS }),
            ("RC2-40-CBC", .pbkdf2(digest: "SHA-1"), [.openSSLLegacy, .nss]),
            ("RC2-CBC", .pbkdf2(digest: "SHA-1"), [.openSSLLegacy, .nss]),
            ("AES-256-CBC", .scrypt, [.openSSL, .openSSLLegacy]),
            ("AES-192-CBC", .pbkdf2(digest: "SHA-256"), [.openSSL, .openSSLLegacy, .nss, .gnuTLS, .go]),
            ("AES-256-CBC", .pbkdf2(digest: "MD5"), [.openSSL, .openSSLLegacy]),
        ] as [(String, PKCS12Layer.Derivation, [ReaderModel])])
    func layers(cipher: String, derivation: PKCS12Layer.Derivation, readers: [ReaderModel]) {
        let layer = PKCS12Layer(
            place: "safe 1", scheme: OID.pbes2, derivation: derivation, cipher: cipher, isMislabelled: false,
            keyLength: 32, iterations: 1, saltLength: 8, schemeName: "PBES2", description: "safe 1")
        #expect(failing { $0.layers = [layer] } == Self.all.subtracting(readers))
    }

    @Test(
        "Each scheme of PKCS #12 and PKCS #5 is supported by the expected readers",
        arguments: [
            ("12.1.1", [.openSSLLegacy, .nss, .gnuTLS, .java, .apple]),
            ("12.1.2", [.openSSLLegacy, .nss, .java, .apple]),
            ("12.1.3", [.openSSL, .openSSLLegacy, .nss, .gnuTLS, .java, .go, .apple]),
            ("12.1.4", [.openSSL, .openSSLLegacy]),
            ("12.1.5", [.openSSLLegacy, .nss, .java, .go, .apple]),
            ("12.1.6", [.openSSLLegacy, .nss, .gnuTLS, .java, .go, .apple]),
            ("5.3", [.openSSLLegacy, .gnuTLS, .java]), ("5.10", [.openSSLLegacy]), ("5.1", []),
        ] as [(String, Set<ReaderModel>)])
    func schemes(scheme: String, readers: Set<ReaderModel>) {
        let layer = PKCS12Layer(
            place: "safe 1", scheme: "1.2.840.113549.1." + scheme, derivation: .pkcs12(digest: "SHA-1"),
            cipher: "", isMislabelled: false, keyLength: 16, iterations: 1, saltLength: 8, schemeName: scheme,
            description: "safe 1")
        #expect(failing { $0.layers = [layer] } == Self.all.subtracting(readers))
    }

    @Test("A password in another encoding than the standard's is an obstacle for every reader")
    func oddPasswords() {
        for encoding in [PasswordEncoding.widenedBytes, .latin1, .utf16] {
            #expect(failing { $0.notes = [.passwordEncoding(layer: "safe 1", encoding)] } == Self.all)
        }
        #expect(failing { $0.notes = [.passwordEncoding(layer: "safe 1", .bytes)] } == Self.always)
    }

    @Test("Go rejects BER and zeros after the file, and octets after a bag are no obstacle")
    func trailingOctets() {
        let go = Self.always.union([.go])
        #expect(failing { $0.notes = [.basicEncoding] } == go)
        #expect(failing { $0.notes = [.trailingZeroes(1)] } == go)
        #expect(
            failing { $0.notes = [.trailingOctets(place: "safe 1", count: 1)] }
                == Self.always.union([.go, .gnuTLS]))
        #expect(failing { $0.notes = [.trailingOctets(place: "safe 1, bag 1", count: 1)] } == Self.always)
    }

    @Test("A reason that applies to several bags is given once")
    func repeatedReasons() {
        let bag = PKCS12OtherBag(kind: .revocationList, friendlyName: nil)
        let verdict = verdict(.nss) { $0.otherBags = [bag, bag] }
        #expect(verdict.outcome == .fails && verdict.reasons.count == 1)
    }

    @Test("A verdict contains every kind of contents that the reader skips")
    func losses() {
        let verdict = verdict(.java) {
            $0.plainKeyCount = 1
            $0.nestedSafeCount = 1
            $0.keyCount = 3
            $0.certificateEntries = [
                PKCS12CertificateEntry(
                    certificate: PKCS12Samples.second.certificate, friendlyName: nil, localKeyID: nil,
                    isTrusted: true, attributes: [])
            ]
        }
        #expect(verdict.outcome == .partly && verdict.reasons.count == 2)
    }

    @Test("The report without a password counts only if it opened the file, and keeps its own reasons")
    func withoutPassword() {
        func report(_ error: PKCS12Error?, _ encoding: PasswordEncoding) -> PKCS12Report {
            PKCS12Report(
                contents: Self.contents {
                    $0.passwordForm = PKCS12PasswordForm(encoding: encoding, isASCII: true)
                }, error: error)
        }
        let wrong = report(PKCS12Error(.wrongPassword), .empty)
        #expect(ReaderModel.gnuTLS.verdict(on: wrong, withoutPassword: wrong).outcome == .unknown)
        let absent = report(nil, .absent)
        #expect(
            ReaderModel.apple.verdict(on: wrong, withoutPassword: absent).reasons.first?
                .contains("The password is absent") == true)
        #expect(
            ReaderModel.gnuTLS.verdict(on: wrong, withoutPassword: absent).reasons.first?
                .contains("the reader treats the empty one as a password") == true)
        #expect(ReaderModel.nss.verdict(on: wrong, withoutPassword: absent).outcome == .opens)
        let opened = report(nil, .utf16)
        #expect(ReaderModel.gnuTLS.verdict(on: opened, withoutPassword: absent).outcome == .opens)
    }
}
