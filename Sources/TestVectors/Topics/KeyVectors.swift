internal import KeySharing
internal import OpenSSL
internal import SecretMemory

/// Test vectors with other types of keys, and with unusual encodings of private keys.
enum KeyVectors {
    static let all: [Drafted] = types + encodings

    private static let ec = "1.2.840.10045.2.1"

    private static let types: [Drafted] = [
        curve("p521", "1.3.132.0.35", 66, .valid(), "P-521", "RFC 5480, 2.1.1.1 names the curve."),
        curve(
            "p224", "1.3.132.0.33", 28, .either(.accepted()), "P-224",
            "RFC 5480, 2.1.1.1 names the curve. Java and NSS do not support it."),
        curve(
            "secp256k1", "1.3.132.0.10", 32, .either(.accepted()), "secp256k1",
            "SEC 2 names the curve, and many libraries do not support it."),
        curve(
            "brainpool256", "1.3.36.3.3.2.8.1.1.7", 32, .either(.accepted()), "brainpoolP256r1",
            "RFC 5639 names the curve. Java, NSS and Go do not support it."),
        Drafted(
            "key-ed25519", "The key is an Ed25519 key.", .either(.accepted()),
            "imports it, or reports the type",
            because: "RFC 8410, 3. NSS rejects it (libreswan#2483, terraform-provider-pkcs12#23).", "KeyTypes"
        ) { draft, context in
            try replace(
                &draft, context,
                [
                    .integer(0), .algorithm("1.3.101.112", nil),
                    .octetString(BERElement.octetString(context.octets(32, "private key")).bytes),
                ])
        },
    ]

    private static let encodings: [Drafted] = [
        Drafted(
            "key-with-attributes", "The PrivateKeyInfo has an attribute, as in files that Windows writes.",
            .valid(),
            "ignores the attribute",
            because: "RFC 5208, 5: attributes are optional. Windows writes the key usage (xca#568).",
            "KeyEncoding"
        ) { draft, _ in
            try change(&draft) { info in
                let usage = try PKCS12Draft.Bag.attribute("2.5.29.15", .string(0x03, [0x07, 0x80]))
                info.children.append(BERElement(tag: 0x80, .constructed([usage])))
            }
        },
        Drafted(
            "key-version-1", "The private key has version 1 and a public key.", .either(.refused(4)),
            "ignores the public key, or rejects the version",
            because: "RFC 5958, 2: version 1 has a public key. RFC 5208, 5 defines only version 0.",
            "KeyEncoding"
        ) { draft, _ in
            try change(&draft) { info in
                info.children[0] = try .integer(1)
                // An EC point in the clear: the form octet and 64 octets.
                info.children.append(.string(0x81, [0, 4] + [UInt8](repeating: 1, count: 64)))
            }
        },
        Drafted(
            "key-without-public-half", "The EC private key does not contain its public key.", .valid(),
            "computes the public key", because: "RFC 5915, 3: the public key is optional.", "KeyEncoding"
        ) { draft, _ in
            try change(&draft) { info in
                var key = try BERElement(parsing: info.children[2].octets)
                key.children.removeAll { $0.tag == 0x81 }
                info.children[2].octets = key.bytes
            }
        },
        Drafted(
            "key-with-curve-inside", "The EC private key repeats the curve.", .valid(),
            "ignores the repetition",
            because: "RFC 5915, 3: the parameters are optional, and Java repeats them.", "KeyEncoding"
        ) { draft, _ in
            try change(&draft) { info in
                var key = try BERElement(parsing: info.children[2].octets)
                guard let curve = info.children[1].children.last else { return }
                key.children.insert(.explicit(0, curve), at: 2)
                info.children[2].octets = key.bytes
            }
        },
        Drafted(
            "key-ber", "The decrypted private key has indefinite lengths.", .either(.accepted()),
            "opens or rejects it",
            because: "RFC 5958, 2 does not require DER. NSS and OpenSSL read BER.", "KeyEncoding",
            "BerEncoding"
        ) { draft, _ in try change(&draft) { $0.makeIndefinite() } },
        Drafted(
            "key-version-7", "The private key has the version 7.", .either(.accepted()),
            "opens or rejects it",
            because: "RFC 5958, 2 defines the versions 0 and 1. OpenSSL ignores the version.", "KeyEncoding"
        ) { draft, _ in try change(&draft) { $0.children[0] = try .integer(7) } },
        Drafted(
            "key-without-private-half", "The octets of the private key are empty.", .invalid(5),
            "reports it as malformed and does not crash",
            because: "RFC 5958, 2: the octets are an encoded key.", "DamagedContents"
        ) { draft, _ in try change(&draft) { $0.children[2].octets = [] } },
        Drafted(
            "key-zero", "The private number of the EC key is zero.", .invalid(7), "rejects it",
            because: "SEC 1, 3.2.1: the private number is from 1 to n - 1.", "DamagedContents"
        ) { draft, _ in
            try change(&draft) { info in
                var key = try BERElement(parsing: info.children[2].octets)
                key.children[1].octets = [UInt8](repeating: 0, count: key.children[1].octets.count)
                key.children.removeAll { $0.tag == 0x81 }
                info.children[2].octets = key.bytes
            }
        },
    ]

    private static func curve(
        _ name: String, _ curve: String, _ size: Int, _ verdict: Drafted.Verdict, _ title: String,
        _ reason: String
    ) -> Drafted {
        Drafted(
            "key-\(name)", "The key is an EC key on \(title).", verdict, "imports it, or reports the curve",
            because: reason, "KeyTypes"
        ) { draft, context in
            // A first octet of zero keeps the number below the order of every curve.
            let number = [0] + context.octets(size - 1, "private key")
            let key = BERElement.sequence([try .integer(1), .octetString(number)])
            try replace(
                &draft, context,
                [.integer(0), .algorithm(ec, .objectIdentifier(curve)), .octetString(key.bytes)])
        }
    }

    /// Replaces the identity with one that has another private key.
    private static func replace(
        _ draft: inout PKCS12Draft, _ context: TestVectorContext, _ info: [BERElement]
    ) throws {
        let key = try PrivateKey(pkcs8: SecretBytes(BERElement.sequence(info).bytes))
        let identity = try context.identity(with: key)
        let bags = try context.bags(of: identity)
        draft.safes[0].bags = [bags.certificate]
        draft.safes[1].bags = [bags.key]
    }

    /// Changes the PrivateKeyInfo before it is encrypted.
    private static func change(
        _ draft: inout PKCS12Draft, _ body: (inout BERElement) throws -> Void
    ) throws {
        guard case .shroudedKey(let info, let encryption) = draft.safes[1].bags[0].value else { return }
        var element = try BERElement(parsing: info)
        try body(&element)
        draft.safes[1].bags[0].value = .shroudedKey(element.bytes, encryption)
    }
}
