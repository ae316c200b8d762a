import KeyShareProtocol
import KeySharing
import PersistentToken
import Testing

@Suite("Algorithms of the Security framework", .timeLimit(.minutes(10)))
struct SecKeyAlgorithmTests {
    @Test(
        "The framework has 34 RSA algorithms, including 22 for signatures, and 42 elliptic-curve algorithms")
    func count() {
        let all = SecKeyAlgorithm.allCases
        #expect(all.count == 76)
        #expect(Set(all).count == 76)
        #expect(all.count { $0.family == .rsa } == 34)
        #expect(all.count { $0.family == .rsa && $0.operation == .sign } == 22)
        #expect(all.count { $0.family == .ec && $0.operation == .sign } == 12)
        #expect(all.count { $0.family == .ec && $0.operation == .decrypt } == 18)
        #expect(all.count { $0.operation == .keyExchange } == 12)
    }

    @Test("Each algorithm can be found by its name, and by the name and the value of its constant")
    func names() {
        for algorithm in SecKeyAlgorithm.allCases {
            #expect(SecKeyAlgorithm(named: algorithm.name) == algorithm)
            #expect(SecKeyAlgorithm(named: "kSecKeyAlgorithm" + algorithm.name) == algorithm)
            #expect(SecKeyAlgorithm(named: algorithm.identifier) == algorithm)
        }
        #expect(SecKeyAlgorithm(named: "RSASignatureMessagePKCS1v15MD5") == nil)
    }

    @Test(
        "The names and values of the constants match Apple's",
        arguments: [
            ("RSASignatureRaw", "algid:sign:RSA:raw"),
            ("RSASignatureDigestPKCS1v15Raw", "algid:sign:RSA:digest-PKCS1v15"),
            ("RSASignatureMessagePKCS1v15SHA512", "algid:sign:RSA:message-PKCS1v15:SHA512"),
            ("RSASignatureDigestPSSSHA224", "algid:sign:RSA:digest-PSS:SHA224:SHA224:24"),
            ("RSASignatureMessagePSSSHA256", "algid:sign:RSA:message-PSS:SHA256:SHA256:32"),
            ("RSAEncryptionPKCS1", "algid:encrypt:RSA:PKCS1"),
            ("RSAEncryptionOAEPSHA384AESGCM", "algid:encrypt:RSA:OAEP:SHA384:AESGCM"),
            ("ECDSASignatureRFC4754", "algid:sign:ECDSA:RFC4754"),
            ("ECDSASignatureDigestX962", "algid:sign:ECDSA:digest-X962"),
            ("ECDSASignatureMessageX962SHA1", "algid:sign:ECDSA:message-X962:SHA1"),
            ("ECDHKeyExchangeStandard", "algid:keyexchange:ECDH"),
            ("ECDHKeyExchangeCofactorX963SHA224", "algid:keyexchange:ECDHC:KDFX963:SHA224"),
            (
                "ECIESEncryptionStandardX963SHA1AESGCM",
                "algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM"
            ),
            (
                "ECIESEncryptionCofactorVariableIVX963SHA256AESGCM",
                "algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM-KDFIV"
            ),
        ])
    func identifiers(name: String, identifier: String) {
        #expect(SecKeyAlgorithm(named: name)?.identifier == identifier)
    }

    @Test("Each algorithm that signs a message has a counterpart that signs its digest")
    func digests() {
        for algorithm in SecKeyAlgorithm.allCases where algorithm.takesMessage {
            #expect(!algorithm.takingDigest.takesMessage)
            #expect(algorithm.takingDigest.digest == algorithm.digest)
            #expect(algorithm.takingDigest.name == algorithm.name.replacing("Message", with: "Digest"))
        }
    }
}

@Suite("Properties of a token's key", .timeLimit(.minutes(10)))
struct TokenKeyPropertyTests {
    @Test(
        "Under CryptoTokenKit's rule, keyAgreement permits decryption, and a missing key usage permits nothing",
        arguments: [
            (KeyUsage?.some([.digitalSignature, .nonRepudiation]), true, false, false),
            (.some(.keyEncipherment), false, true, false), (.some(.dataEncipherment), false, true, false),
            (.some(.keyAgreement), false, true, true), (.some([.keyCertSign]), true, false, false),
            (.some([.cRLSign]), true, false, false), (.some([.encipherOnly]), false, false, false),
            (nil, false, false, false),
        ])
    func masks(usage: KeyUsage?, signs: Bool, decrypts: Bool, exchanges: Bool) {
        let properties = TokenKeyProperties(usage: usage, family: .rsa, rule: .cryptoTokenKit)
        #expect(properties.canSign == signs)
        #expect(properties.canDecrypt == decrypts)
        #expect(properties.canPerformKeyExchange == exchanges)
        #expect(properties.allows(.sign) == signs)
        #expect(properties.allows(.decrypt) == decrypts)
        #expect(properties.allows(.keyExchange) == exchanges)
    }

    @Test("Under RFC 5280, keyAgreement permits only agreement, and a missing key usage restricts nothing")
    func standard() {
        let free = TokenKeyProperties(usage: nil, family: .rsa, rule: .rfc5280)
        #expect(free.canSign && free.canDecrypt && !free.canPerformKeyExchange)
        let curve = TokenKeyProperties(usage: nil, family: .ec, rule: .rfc5280)
        #expect(curve.canSign && !curve.canDecrypt && curve.canPerformKeyExchange)
        let agreeing = TokenKeyProperties(usage: .keyAgreement, family: .ec, rule: .rfc5280)
        #expect(!agreeing.canSign && !agreeing.canDecrypt && agreeing.canPerformKeyExchange)
    }
}

@Suite("Identifiers and errors of a token", .timeLimit(.minutes(10)))
struct TokenIdentifierTests {
    @Test("A token identifier is the driver's class, a colon and the label; other identifiers have no label")
    func identifiers() {
        let label = String(repeating: "0A", count: 32)
        let token = TokenIdentifier.token(label)
        #expect(token == "red.hound.keyshare.provider.token:" + label)
        #expect(TokenIdentifier.label(ofToken: token) == label)
        #expect(TokenIdentifier.label(ofToken: token.lowercased()) == nil)
        #expect(TokenIdentifier.label(ofToken: "other:" + label) == nil)
        // A class of the same length.
        #expect(TokenIdentifier.label(ofToken: "red.hound.keyshare.consumer.token:" + label) == nil)
        #expect(TokenIdentifier.label(ofToken: String(token.dropLast())) == nil)
    }

    @Test("Each CryptoTokenKit error code maps to the status that apps receive")
    func statuses() {
        let expected: [TokenError.Code: Int32] = [
            .notImplemented: -4, .communicationError: -26276, .corruptedData: -26275, .canceledByUser: -128,
            .authenticationFailed: -26276, .objectNotFound: -25300, .tokenNotFound: -25300,
            .badParameter: -50,
            .authenticationNeeded: -26276,
        ]
        for code in TokenError.Code.allCases {
            #expect(TokenError(code, "").status.rawValue == expected[code])
        }
    }
}
