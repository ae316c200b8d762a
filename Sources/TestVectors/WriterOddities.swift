internal import KeySharing
internal import OpenSSL
internal import SecretMemory

/// Valid test vectors in forms that other programs write, but not this package.
enum WriterOddities {
    /// All valid test vectors in such forms.
    static let all: [TestVector] = passwords + layouts + writers

    private static let passwords: [TestVector] = [
        underPassword(
            "non-ascii-password", "M\u{F6}tley Cr\u{FC}e \u{5BC6}\u{7801}", "The password is not ASCII."),
        underPassword(
            "long-password", String(repeating: "0123456789abcdef", count: 8),
            "The password has 128 characters."),
        {
            var vector = assembled("absent-password", "The file has no password, not even the empty one.") {
                $0.isWithoutPassword = true
            }
            vector.password = .absent
            return vector
        }(),
    ]

    private static let layouts: [TestVector] = [
        TestVector(
            "no-local-key-id", "Key and certificate have a name and no local key ID.",
            "pairs them by comparing the keys",
            .accepted()
        ) { context in
            let identity = try context.identity()
            var builder = PKCS12FileBuilder(context.profile)
            builder.certificates = [(identity.certificate.der, .init(friendlyName: "Test"))]
            builder.keys = [(identity.privateKey, .init(friendlyName: "Test"))]
            return .file(try context.file(builder))
        },
        TestVector(
            "ber",
            "The file is BER with indefinite lengths and constructed strings, as written by streaming encoders.",
            "reads BER and DER", .accepted()
        ) { context in
            .file(try PKCS12FileBuilder.indefiniteLength(try context.file(try context.identity())))
        },
        laidOut("nested-safes", "Key and certificate are in a safe inside a safe.", "reads the inner safe") {
            parts in
            let inner = try PKCS12FileBuilder.safeContents([parts.certificate, parts.key])
            return [
                try parts.encryptedSafe([try PKCS12FileBuilder.bag(OID.safeContentsBag, value: inner)])
            ]
        },
        laidOut(
            "plain-key", "The key is unencrypted inside an encrypted safe.", "imports it"
        ) { parts in [try parts.encryptedSafe([parts.certificate, parts.plainKey])] },
        laidOut("keys-first", "The key precedes its certificate.", "pairs them in any order") { parts in
            [
                try PKCS12FileBuilder.safe(PKCS12FileBuilder.safeContents([parts.key])),
                try parts.encryptedSafe([parts.certificate]),
            ]
        },
        laidOut("one-safe", "Key and certificate share one safe.", "reads both") { parts in
            [try parts.encryptedSafe([parts.certificate, parts.key])]
        },
        laidOut("certificates-in-clear", "The certificate is not encrypted.", "imports it") { parts in
            [try PKCS12FileBuilder.safe(PKCS12FileBuilder.safeContents([parts.certificate, parts.key]))]
        },
    ]

    private static let writers: [TestVector] = [
        assembled("iterations-1", "Every derivation has one iteration.") {
            $0.profile = $0.profile.iterations(1)
        },
        assembled("iterations-1999", "Every derivation has 1,999 iterations.") {
            $0.profile = $0.profile.iterations(1_999)
        },
        assembled("java-style", "Every derivation has 10,000 iterations, like keytool's.") {
            $0.profile = PKCS12Profile.modern.iterations(10_000)
        },
        laidOut(
            "gnutls-style", "The file uses AES-128 and 600,000 iterations, like certtool's.",
            "derives the keys within its time limit",
            profile: PKCS12Profile.modern.iterations(600_000),
            encryption: .pbes2(cipher: OID.aes128CBC)
        ) { parts in
            [
                try parts.encryptedSafe([parts.certificate]),
                try PKCS12FileBuilder.safe(PKCS12FileBuilder.safeContents([parts.key])),
            ]
        },
        laidOut(
            "nss-style",
            "The file uses AES-128 for the certificate, AES-256 for the key, and 600,000 iterations, like Firefox's.",
            "derives the keys within its time limit", profile: PKCS12Profile.modern.iterations(600_000)
        ) { parts in
            [
                try parts.encryptedSafe([parts.certificate], .pbes2(cipher: OID.aes128CBC)),
                try PKCS12FileBuilder.safe(PKCS12FileBuilder.safeContents([parts.key])),
            ]
        },
        TestVector(
            "two-types",
            "One file contains a signature and an encryption identity, like a backup of a keychain.",
            "imports both", .accepted(2)
        ) { context in
            .file(
                try context.file([
                    try context.identity(part: "first"), try context.identity(.encryption, part: "second"),
                ]))
        },
    ]

    private static func underPassword(_ name: String, _ password: String, _ summary: String) -> TestVector {
        var vector = TestVector(name, summary, "opens it", .accepted()) { context in
            .file(try context.file(try context.identity(), password: SecretBytes(utf8: password)))
        }
        vector.password = .text(password)
        return vector
    }

    private static func assembled(
        _ name: String, _ summary: String, _ edit: @escaping @Sendable (inout PKCS12FileBuilder) -> Void
    ) -> TestVector {
        TestVector(name, summary, "opens it", .accepted()) { context in
            let identity = try context.identity()
            var builder = PKCS12FileBuilder(context.profile)
            builder.add(identity.certificate, identity.privateKey, friendlyName: "Test")
            edit(&builder)
            return .file(try context.file(builder))
        }
    }

    /// The parts of a file whose layout is not that of any profile.
    private struct Parts {
        let builder: PKCS12FileBuilder
        let encryption: PKCS12Profile.Encryption
        let password: SecretBytes
        let random: (Int) throws(OpenSSLError) -> [UInt8]
        /// The encoded bag that contains the certificate.
        let certificate: [UInt8]
        /// The encoded bag that contains the encrypted key.
        let key: [UInt8]
        /// The encoded bag that contains the unencrypted key.
        let plainKey: [UInt8]

        func encryptedSafe(
            _ bags: [[UInt8]], _ encryption: PKCS12Profile.Encryption? = nil
        ) throws -> [UInt8] {
            try PKCS12FileBuilder.encryptedSafe(
                builder.encrypt(
                    SecretBytes(PKCS12FileBuilder.safeContents(bags)), encryption ?? self.encryption,
                    password: password, random: random))
        }
    }

    private static func laidOut(
        _ name: String, _ summary: String, _ expectedBehaviour: String, profile: PKCS12Profile? = nil,
        encryption: PKCS12Profile.Encryption? = nil, _ safes: @escaping @Sendable (Parts) throws -> [[UInt8]]
    ) -> TestVector {
        TestVector(name, summary, expectedBehaviour, .accepted()) { context in
            let identity = try context.identity()
            let builder = PKCS12FileBuilder(profile ?? context.profile)
            let encryption = encryption ?? builder.profile.keyEncryption
            var generator = context.source.child("layout").generator()
            func random(_ count: Int) -> [UInt8] { generator.octets(count) }
            let attributes = PKCS12FileBuilder.Attributes(
                friendlyName: "Test", localKeyID: Array(identity.certificate.sha256.prefix(20)))
            let info = try identity.privateKey.pkcs8()
            // The key need not be wiped, because it is test material: it is derived from a seed or discarded with the
            // file.
            let plain = unsafe info.withUnsafeBytes { unsafe Array($0) }
            let layer = try builder.encrypt(info, encryption, password: context.password, random: random)
            let parts = Parts(
                builder: builder, encryption: encryption, password: context.password, random: random,
                certificate: try PKCS12FileBuilder.certificateBag(identity.certificate.der, attributes),
                key: try PKCS12FileBuilder.shroudedKeyBag(layer, attributes),
                plainKey: try PKCS12FileBuilder.bag(OID.keyBag, value: plain))
            let authenticatedSafe = try PKCS12FileBuilder.authenticatedSafe(try safes(parts))
            return .file(
                try PKCS12FileBuilder.file(
                    authenticatedSafe,
                    mac: builder.authenticate(authenticatedSafe, password: context.password, random: random)))
        }
    }
}
