internal import SecretMemory
internal import KeySharing
internal import OpenSSL

/// Test vectors whose PKCS #12 file is damaged, hostile or odd.
enum FileDefects {
    /// Every such test vector.
    static let all: [TestVector] = [
        TestVector(
            "key-of-another-certificate", "The private key is not the certificate's.",
            "compares the two before anything is stored", .refused(7)
        ) { context in
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.add(try context.identity().certificate, try context.key("another"), friendlyName: "Test")
            return .file(try context.file(assembly))
        },
        TestVector(
            "two-identities", "The file holds two identities.", "imports both and not the first one alone",
            .accepted(2)
        ) { context in
            .file(
                try context.file([try context.identity(), try context.identity(.encryption, part: "second")]))
        },
        TestVector(
            "no-identity", "The file opens and is empty.", "says that there is nothing to import", .refused(9)
        ) { context in .file(try context.file(PKCS12FileBuilder(context.profile))) },
        TestVector(
            "certificate-only", "The file holds a certificate and no key.",
            "says that there is nothing to import", .refused(9)
        ) { context in
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.certificates = [(try context.identity().certificate.der, .init(friendlyName: "Test"))]
            return .file(try context.file(assembly))
        },
        TestVector(
            "key-only", "The file holds a private key and no certificate.",
            "says that there is nothing to import", .refused(9)
        ) { context in
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.keys = [(try context.key("alone"), .init(friendlyName: "Test"))]
            return .file(try context.file(assembly))
        },
        TestVector(
            "untied-key", "Nothing in the file ties the key to its certificate.",
            "pairs them by comparing the keys", .accepted()
        ) { context in
            let identity = try context.identity()
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.certificates = [(identity.certificate.der, .init())]
            assembly.keys = [(identity.privateKey, .init())]
            return .file(try context.file(assembly))
        },
        named(
            "non-latin-name", "Ωmega 例 мир", "The friendly name has no Latin letters.",
            "shows it as it is written"),
        named(
            "emoji-name", "Key \u{1F511} of \u{1F9D1}\u{200D}\u{1F680}",
            "The friendly name has characters beyond the basic plane.", "reads surrogate pairs as one"),
        named(
            "control-name", "Key\u{1B}[2J\u{7}\nfake line",
            "The friendly name would clear a terminal's screen.",
            "escapes control characters when it shows it"
        ),
        named(
            "long-name", String(repeating: "long ", count: 200), "The friendly name has 1,000 characters.",
            "cuts it and says so"),
        TestVector(
            "damaged-certificate", "The file holds a certificate that is no DER, beside a good key.",
            "says that there is nothing to import", .refused(9)
        ) { context in
            let identity = try context.identity()
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.certificates = [(Array(identity.certificate.der.dropLast(40)), .init())]
            assembly.keys = [(identity.privateKey, .init())]
            return .file(try context.file(assembly))
        },
        TestVector(
            "mismatch-beside-identity",
            "Beside an identity stands a key whose certificate is for another key.",
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
            "octets-behind", "One zero octet follows the certificate, and one the key, where each is alone.",
            "takes what is there and reports them", .accepted()
        ) { context in
            let identity = try context.identity()
            let key = try unsafe identity.privateKey.pkcs8().withUnsafeBytes { unsafe Array($0) }
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.certificates = [(identity.certificate.der + [0], .init(friendlyName: "Test"))]
            assembly.keyOctets = [(key + [0], .init(friendlyName: "Test"))]
            return .file(try context.file(assembly))
        },
        TestVector(
            "damaged-key", "What decrypts under the password is no private key.",
            "calls it malformed and does not blame the password", .refused(5)
        ) { context in
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.certificates = [(try context.identity().certificate.der, .init(friendlyName: "Test"))]
            assembly.keyOctets = [([UInt8](repeating: 0xA5, count: 100), .init(friendlyName: "Test"))]
            return .file(try context.file(assembly))
        },
        TestVector(
            "oversized-key", "The private key is DSA's with numbers of 16,384 bits.",
            "does not load it, for that takes seconds", .refused(10)
        ) { context in
            var assembly = PKCS12FileBuilder(context.profile)
            assembly.keyOctets = [
                (try PKCS12FileBuilder.dsaKey(modulus: 16_384, exponent: 16_384), .init(friendlyName: "Test"))
            ]
            return .file(try context.file(assembly))
        },
        TestVector(
            "other-password", "The file is under another password.", "says that the password is wrong",
            .refused(3)
        ) { context in .file(try context.file(try context.identity(), password: SecretBytes(utf8: "another")))
        },
        TestVector(
            "no-mac", "The file has no MAC.", "refuses it unless it was told to take such files", .refused(10)
        ) { context in
            var assembly = assembly(of: try context.identity(), context)
            assembly.profile = PKCS12Profile(.noMAC)
            return .file(try context.file(assembly))
        },
        iterations("iteration-bomb", 2_147_483_647, "two thousand million", "counts before it derives"),
        iterations("zero-iterations", 0, "no", "refuses a count that cannot be"),
        iterations("negative-iterations", -1, "minus one", "refuses a count that cannot be"),
        edited(
            "trailing-zeroes", "Sixteen zero bytes stand behind the file, as Windows pads.",
            "reads the file and reports them", .accepted()
        ) { $0 + [UInt8](repeating: 0, count: 16) },
        edited(
            "trailing-bytes", "Other bytes stand behind the file.", "refuses what is not one object",
            .refused(5)
        ) { $0 + Array("trailing".utf8) },
        edited("truncated", "The last third of the file is missing.", "calls it malformed", .refused(5)) {
            Array($0.prefix($0.count * 2 / 3))
        },
        edited(
            "flipped-bit", "One bit in the middle of the file is flipped.",
            "notices by the MAC, which cannot tell this from a wrong password", .refused(3)
        ) { bytes in
            var bytes = bytes
            bytes[bytes.count / 2] ^= 4
            return bytes
        },
        edited("empty-file", "The file has no bytes.", "calls it malformed", .refused(5)) { _ in [] },
        edited("garbage", "The file is text.", "calls it malformed", .refused(5)) { _ in
            Array("This is no key store.\n".utf8)
        },
        edited(
            "pem-text", "The file is a certificate in PEM.", "calls it malformed", .refused(5),
            from: { Array(try $0.identity().certificate.pem.utf8) }, edit: { $0 }),
        edited(
            "bare-certificate", "The file is a certificate in DER.", "calls it malformed", .refused(5),
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
        TestVector(name, "The MAC asks for \(words) iterations.", expectedBehaviour, .refused(10)) {
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
