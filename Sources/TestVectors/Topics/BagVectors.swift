internal import Foundation
internal import KeySharing
internal import OpenSSL
internal import TestCredentials

/// Test vectors with bags other than keys and certificates, and with bags in unusual places.
enum BagVectors {
    static let all: [Drafted] = others + nesting + layouts

    private static let others: [Drafted] = [
        Drafted(
            "crl-bag", "The file also contains a revocation list.", .valid(), "imports the identity",
            because: "RFC 7292, 4.2.4: a file may contain revocation lists. NSS rejects it (openssl#1854).",
            "OtherBags"
        ) { draft, context in
            let lists = try context.authority.revocationLists(
                revoked: [], at: context.date, from: context.source.child("lists"))
            guard let list = lists.first else { return }
            let value = BERElement.sequence([
                try .objectIdentifier("1.2.840.113549.1.9.23.1"), .explicit(0, .octetString(list.der)),
            ])
            draft.safes[0].bags.append(.init(.other(OID.crlBag, value)))
        },
        other(
            "damaged-crl-bag", "The file also contains a revocation list that is not DER.", .valid(),
            "RFC 7292, 4.2.4: the identity does not depend on revocation lists (openssl#1854).", OID.crlBag,
            .sequence([
                oid("1.2.840.113549.1.9.23.1"), .explicit(0, .octetString(Array("no list".utf8))),
            ])),
        other(
            "secret-bag", "The file also contains a secret.", .valid(),
            "RFC 7292, 4.2.5: a file may contain secrets (bc-java#890, openssl#10063).", OID.secretBag,
            .sequence([oid("1.2.840.113549.1.7.1"), .explicit(0, .octetString(Array("secret".utf8)))])),
        other(
            "secret-bag-without-value", "The file also contains a secret without a value.",
            .either(.accepted()), "RFC 7292, 4.2.5: the value is required. Oracle's wallets omit it.",
            OID.secretBag, .sequence([oid("1.2.840.113549.1.7.1")])),
        other(
            "sdsi-certificate-bag", "The file also contains an SDSI certificate.", .valid(),
            "RFC 7292, 4.2.3: certificates may be SDSI certificates.", OID.certBag,
            .sequence([oid("1.2.840.113549.1.9.22.2"), .explicit(0, .string(0x16, Array("U0RTSQ==".utf8)))])),
        other(
            "unknown-bag", "The file also contains a bag of an unknown type.", .either(.accepted()),
            "RFC 7292, 4.2: the types of bags are extensible. Apple's importer rejects the file.",
            "1.3.6.1.4.1.99999.2", .octetString([1, 2, 3])),
    ]

    private static let nested =
        "RFC 7292, 4.2.6: SafeContents may contain SafeContents. OpenSSL 1.0.2 read a SET instead (openssl#6665)."

    private static let nesting: [Drafted] = [
        Drafted(
            "nested-certificate", "The certificate is in a safe inside a safe, and the key is not.", .valid(),
            "reads the inner safe", because: nested, "SafeLayout"
        ) { draft, _ in draft.safes[0].bags = [.init(.bags(draft.safes[0].bags))] },
        Drafted(
            "nested-key", "The key is in a safe inside a safe, and the certificate is not.", .valid(),
            "reads the inner safe", because: nested, "SafeLayout"
        ) { draft, _ in draft.safes[1].bags = [.init(.bags(draft.safes[1].bags))] },
        Drafted(
            "nested-twice", "Key and certificate are in a safe inside a safe inside a safe.", .valid(),
            "reads the inner safe", because: nested, "SafeLayout"
        ) { draft, _ in
            for index in draft.safes.indices {
                draft.safes[index].bags = [.init(.bags([.init(.bags(draft.safes[index].bags))]))]
            }
        },
        Drafted(
            "nested-deep", "Key and certificate are below eight safes.", .either(.refused(10)),
            "opens it, or rejects the depth",
            because: "RFC 7292, 4.2.6 sets no limit, and recursive readers need one.", "SafeLayout"
        ) { draft, _ in
            for index in draft.safes.indices {
                for _ in 0..<8 { draft.safes[index].bags = [.init(.bags(draft.safes[index].bags))] }
            }
        },
        Drafted(
            "nested-bomb", "Safes are nested 2,000 times.", .invalid(5),
            "rejects the depth, and does not crash",
            because: "RFC 7292, 4.2.6 sets no limit, and a recursive reader exhausts its stack.", "SafeLayout"
        ) { draft, context in
            // The elements are nested in the encoded SafeContents, because a deep draft would itself need a deep stack.
            var inner = BERElement.sequence([]).bytes
            for _ in 0..<2_000 {
                let value = BERElement(tag: 0x80, .primitive(inner)).constructedBytes
                let type = try BERElement.objectIdentifier(OID.safeContentsBag).bytes
                let bag = BERElement(tag: 0x10, .primitive(type + value)).constructedBytes
                inner = BERElement(tag: 0x10, .primitive(bag)).constructedBytes
            }
            let contents = inner
            draft.edit(.authenticatedSafe, [1, 1, 0]) { $0.octets = contents }
        },
        Drafted(
            "nested-empty", "An empty safe is inside the safe with the certificate.", .valid(),
            "ignores the empty safe", because: nested, "SafeLayout"
        ) { draft, _ in draft.safes[0].bags.append(.init(.bags([]))) },
    ]

    private static let order = "RFC 7292, 4.1 does not define the number, the order or the contents of safes."

    private static let layouts: [Drafted] = [
        Drafted(
            "empty-safe", "An empty safe precedes the others.", .valid(), "ignores it", because: order,
            "SafeLayout"
        ) { draft, _ in draft.safes.insert(.init([]), at: 0) },
        Drafted(
            "empty-encrypted-safe", "An empty encrypted safe follows the others.", .valid(), "ignores it",
            because: order, "SafeLayout"
        ) { draft, context in draft.safes.append(.init([], try context.encryption("empty"))) },
        Drafted(
            "everything-in-clear",
            "Key and certificate are unencrypted, and only the MAC needs the password.",
            .valid(), "imports it",
            because: "RFC 7292, 4.2.1: a key bag contains an unencrypted key (bc-java#1494).",
            "SafeLayout"
        ) { draft, context in
            draft.safes[0].encryption = nil
            guard case .shroudedKey(let info, _) = draft.safes[1].bags[0].value else { return }
            draft.safes[1].bags[0].value = .key(info)
        },
        Drafted(
            "key-encrypted-twice", "The encrypted key is in an encrypted safe.", .valid(),
            "decrypts both layers",
            because: order, "SafeLayout"
        ) { draft, context in draft.safes[1].encryption = try context.encryption("keys") },
        Drafted(
            "safe-per-bag", "Each bag is in an encrypted safe of its own, each with other parameters.",
            .valid(),
            "derives a key for each safe", because: order, "SafeLayout"
        ) { draft, context in
            let extra = context.authority[.email].certificate.der
            draft.safes[1].encryption = try context.encryption("keys", iterations: 1_000)
            draft.safes.append(
                .init([.init(.certificate(extra))], try context.encryption("chain", iterations: 3_000)))
        },
        Drafted(
            "sixteen-safes", "The file has sixteen safes, most of them empty.", .valid(), "reads all safes",
            because: order + " go-pkcs12 expects two.", "SafeLayout"
        ) { draft, _ in
            draft.safes.insert(contentsOf: [PKCS12Draft.Safe](repeating: .init([]), count: 14), at: 1)
        },
        Drafted(
            "signed-file", "The PFX contains SignedData instead of Data.", .invalid(4),
            "reports that the file is protected by a signature",
            because: "RFC 7292, 3.1: in public-key integrity mode, the password proves nothing.", "Integrity"
        ) { draft, _ in
            draft.mac = nil
            draft.edit(.file) { try $0.edit([1, 0]) { $0 = try .objectIdentifier(OID.signedData) } }
        },
        Drafted(
            "authenticated-safe-trailer", "Four zero octets follow the AuthenticatedSafe, inside the MAC.",
            .either(.accepted()), "opens or rejects it",
            because: "RFC 7292, 4.1: the content is the AuthenticatedSafe. The octets are authentic.",
            "TrailingBytes"
        ) { draft, _ in draft.edit(.authenticatedSafe) { $0.trailer = [0, 0, 0, 0] } },
        Drafted(
            "pfx-trailer", "An additional element is at the end of the PFX.", .either(.refused(5)),
            "rejects it, or ignores the element",
            because: "RFC 7292, 4: the PFX has no extensions. Some decoders ignore them.", "TrailingBytes"
        ) { draft, _ in draft.edit(.file) { $0.children.append(.null) } },
    ]

    /// An object identifier that is known to be valid.
    private static func oid(_ dotted: String) -> BERElement {
        (try? .objectIdentifier(dotted)) ?? .null
    }

    private static func other(
        _ name: String, _ summary: String, _ verdict: Drafted.Verdict, _ reason: String, _ type: String,
        _ value: BERElement
    ) -> Drafted {
        Drafted(name, summary, verdict, "imports the identity", because: reason, "OtherBags") { draft, _ in
            draft.safes[0].bags.append(.init(.other(type, value)))
        }
    }
}

extension BERElement {
    /// The encoding of a constructed element whose encoded children are the octets of this primitive one.
    fileprivate var constructedBytes: [UInt8] {
        var bytes = bytes
        bytes[0] |= 0x20
        return bytes
    }
}
