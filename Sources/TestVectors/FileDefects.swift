internal import SecretMemory
internal import KeySharing
internal import OpenSSL

/// Test vectors with a defective, hostile or unusual PKCS #12 file.
enum FileDefects {
    /// All test vectors with a defective, hostile or unusual file.
    static let all: [TestVector] = [
        TestVector(
            "key-of-another-certificate", "The private key does not belong to the certificate.",
            "compares the two before storing anything", .refused(7)
        ) { context in
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.add(try context.identity().certificate, try context.key("another"), friendlyName: "Test")
            return .file(try context.file(assembly))
        },
        TestVector(
            "two-identities", "The file contains two identities.", "imports both and not only the first",
            .accepted(2)
        ) { context in
            .file(
                try context.file([try context.identity(), try context.identity(.encryption, part: "second")]))
        },
        TestVector(
            "no-identity", "The file can be decrypted and is empty.",
            "reports that the file contains nothing to import", .refused(9)
        ) { context in .file(try context.file(PKCS12FileBuilder(context.profile))) },
        TestVector(
            "certificate-only", "The file contains a certificate and no key.",
            "reports that the file contains nothing to import", .refused(9)
        ) { context in
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.certificates = [(try context.identity().certificate.der, .init(friendlyName: "Test"))]
            return .file(try context.file(assembly))
        },
        TestVector(
            "key-only", "The file contains a private key and no certificate.",
            "reports that the file contains nothing to import", .refused(9)
        ) { context in
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.keys = [(try context.key("alone"), .init(friendlyName: "Test"))]
            return .file(try context.file(assembly))
        },
        TestVector(
            "untied-key", "Nothing in the file links the key to its certificate.",
            "pairs them by comparing the keys", .accepted()
        ) { context in
            let identity = try context.identity()
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.certificates = [(identity.certificate.der, .init())]
            assembly.keys = [(identity.privateKey, .init())]
            return .file(try context.file(assembly))
        },
        named(
            "non-latin-name", "Ωmega мир 例", "The friendly name has no Latin letters.",
            "shows it unchanged"),
        named(
            "emoji-name", "Key \u{1F511} of \u{1F9D1}\u{200D}\u{1F680}",
            "The friendly name has characters beyond the basic plane.",
            "decodes each surrogate pair as one character"),
        named(
            "control-name", "Key\u{1B}[2J\u{7}\nfake line",
            "The friendly name would clear a terminal's screen.",
            "escapes control characters when it shows it"
        ),
        named(
            "long-name", String(repeating: "long ", count: 200), "The friendly name has 1,000 characters.",
            "truncates it and reports this"),
        TestVector(
            "damaged-certificate", "The file contains a certificate that is not DER, and a valid key.",
            "reports that the file contains nothing to import", .refused(9)
        ) { context in
            let identity = try context.identity()
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.certificates = [(Array(identity.certificate.der.dropLast(40)), .init())]
            assembly.keys = [(identity.privateKey, .init())]
            return .file(try context.file(assembly))
        },
        TestVector(
            "mismatch-beside-identity",
            "The file contains an identity and a key with another key's certificate.",
            "imports the identity and reports the key",
            .init(importing: 7, identities: 1, verifying: 0)
        ) { context in
            var assembly = assembly(of: try context.identity(), context)
            assembly.add(
                try context.identity(.encryption, part: "second").certificate, try context.key("another"),
                friendlyName: "Test")
            return .file(try context.file(assembly))
        },
        TestVector(
            "octets-behind", "One zero octet follows the certificate, and another follows the key.",
            "imports the identity and reports the octets", .accepted()
        ) { context in
            let identity = try context.identity()
            let key = try unsafe identity.privateKey.pkcs8().withUnsafeBytes { unsafe Array($0) }
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.certificates = [(identity.certificate.der + [0], .init(friendlyName: "Test"))]
            assembly.keyOctets = [(key + [0], .init(friendlyName: "Test"))]
            return .file(try context.file(assembly))
        },
        TestVector(
            "damaged-key", "The decrypted data are not a private key.",
            "reports it as malformed and does not blame the password", .refused(5)
        ) { context in
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.certificates = [(try context.identity().certificate.der, .init(friendlyName: "Test"))]
            assembly.keyOctets = [([UInt8](repeating: 0xA5, count: 100), .init(friendlyName: "Test"))]
            return .file(try context.file(assembly))
        },
        TestVector(
            "oversized-key", "The private key is a DSA key with numbers of 16,384 bits.",
            "does not load it, because loading takes seconds", .refused(10)
        ) { context in
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.keyOctets = [
                (try PKCS12FileBuilder.dsaKey(modulus: 16_384, exponent: 16_384), .init(friendlyName: "Test"))
            ]
            return .file(try context.file(assembly))
        },
        TestVector(
            "other-password", "The file is encrypted with another password.",
            "reports that the password is wrong",
            .refused(3)
        ) { context in .file(try context.file(try context.identity(), password: SecretBytes(utf8: "another")))
        },
        TestVector(
            "no-mac", "The file has no MAC.", "rejects it unless an option permits such files", .refused(10)
        ) { context in
            var assembly = assembly(of: try context.identity(), context)
            assembly.profile = PKCS12Profile(.noMAC)
            return .file(try context.file(assembly))
        },
        iterations(
            "iteration-bomb", 2_147_483_647, "two billion", "checks the count before the derivation"),
        iterations("zero-iterations", 0, "no", "rejects an impossible count"),
        iterations("negative-iterations", -1, "minus one", "rejects an impossible count"),
        edited(
            "trailing-zeroes", "Sixteen zero bytes follow the file, as if Windows had padded it.",
            "reads the file and reports the bytes", .accepted()
        ) { $0 + [UInt8](repeating: 0, count: 16) },
        edited(
            "trailing-bytes", "Other bytes follow the file.", "rejects a file that is not exactly one object",
            .refused(5)
        ) { $0 + Array("trailing".utf8) },
        edited("truncated", "The last third of the file is missing.", "reports it as malformed", .refused(5))
        {
            Array($0.prefix($0.count * 2 / 3))
        },
        edited(
            "flipped-bit", "One bit in the middle of the file is flipped.",
            "detects it by the MAC, which cannot distinguish it from a wrong password", .refused(3)
        ) { bytes in
            var bytes = bytes
            bytes[bytes.count / 2] ^= 4
            return bytes
        },
        edited("empty-file", "The file has no bytes.", "reports it as malformed", .refused(5)) { _ in [] },
        edited("garbage", "The file is text.", "reports it as malformed", .refused(5)) { _ in
            Array("This is no key store.\n".utf8)
        },
        edited(
            "pem-text", "The file is a certificate in PEM.", "reports it as malformed", .refused(5),
            from: { Array(try $0.identity().certificate.pem.utf8) }, edit: { $0 }),
        edited(
            "bare-certificate", "The file is a certificate in DER.", "reports it as malformed", .refused(5),
            from: { try $0.identity().certificate.der }, edit: { $0 }),
    ]

    private static func assembly(
        of identity: TestIdentity, _ context: TestVectorContext
    ) -> PKCS12FileBuilder {
        var assembly = PKCS12FileBuilder(context.profile)
        assembly.add(identity.certificate, identity.privateKey, friendlyName: "Test")
        return assembly
    }

    private static func named(
        _ name: String, _ friendlyName: String, _ summary: String, _ expectedBehaviour: String
    )
        -> TestVector
    {
        TestVector(name, summary, expectedBehaviour, .accepted()) { context in
            .file(try context.file(try context.identity(), friendlyName: friendlyName))
        }
    }

    private static func iterations(
        _ name: String, _ count: Int, _ words: String, _ expectedBehaviour: String
    ) -> TestVector {
        TestVector(name, "The MAC requires \(words) iterations.", expectedBehaviour, .refused(10)) {
            context in
            var assembly = assembly(of: try context.identity(), context)
            assembly.claimedIterations = count
            return .file(try context.file(assembly))
        }
    }

    private static func edited(
        _ name: String, _ summary: String, _ expectedBehaviour: String, _ expectation: TestVector.Expectation,
        from original: @escaping @Sendable (TestVectorContext) throws -> [UInt8] = {
            try $0.file(try $0.identity())
        },
        edit: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) -> TestVector {
        TestVector(name, summary, expectedBehaviour, expectation) { context in
            .file(edit(try original(context)))
        }
    }
}
