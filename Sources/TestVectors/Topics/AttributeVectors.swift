internal import KeySharing
internal import OpenSSL

/// Test vectors with unusual attributes of bags.
enum AttributeVectors {
    static let all: [Drafted] = identifiers + names + others

    private static let pairing =
        "RFC 7292, 4.2: the attributes are optional. The public key identifies the certificate."

    private static let identifiers: [Drafted] = [
        vector(
            "local-key-id-on-key", "Only the key has a localKeyID.", .valid(), pairing, "LocalKeyId"
        ) { $0.remove(OID.localKeyID, safe: 0) },
        vector(
            "local-key-id-on-certificate", "Only the certificate has a localKeyID.", .valid(), pairing,
            "LocalKeyId"
        ) { $0.remove(OID.localKeyID, safe: 1) },
        vector(
            "different-local-key-ids", "Key and certificate have different localKeyIDs.", .valid(), pairing,
            "LocalKeyId"
        ) { $0.replace(OID.localKeyID, .octetString([1]), safe: 1) },
        vector(
            "empty-local-key-id", "The localKeyID has no octets.", .valid(), pairing, "LocalKeyId"
        ) { $0.replace(OID.localKeyID, .octetString([])) },
        vector(
            "long-local-key-id", "The localKeyID has 1,024 octets.", .valid(),
            "RFC 2985, 5.5.2 does not limit the length.", "LocalKeyId"
        ) { $0.replace(OID.localKeyID, .octetString([UInt8](repeating: 0xAB, count: 1_024))) },
        vector(
            "windows-local-key-id", "The localKeyID is 01 00 00 00, as in files that Windows writes.",
            .valid(),
            "RFC 2985, 5.5.2: any octets are valid. Windows numbers its keys (xca#568).", "LocalKeyId"
        ) { $0.replace(OID.localKeyID, .octetString([1, 0, 0, 0])) },
        vector(
            "java-local-key-id", "The localKeyID is a time as text, as in files that Java writes.", .valid(),
            "RFC 2985, 5.5.2: any octets are valid. Java writes the time.", "LocalKeyId"
        ) { $0.replace(OID.localKeyID, .octetString(Array("Time 1767225600000".utf8))) },
        vector(
            "two-local-key-ids", "The attribute localKeyID has two values.", .either(.accepted()),
            "RFC 2985, 5.5.2: localKeyID has one value. Apple's importer rejects the file.", "LocalKeyId"
        ) {
            $0.edit(.safe(1), [0, 2, 1, 1]) { $0.children.append(.octetString([2])) }
        },
        vector(
            "no-local-key-id-value", "The attribute localKeyID has no value.", .either(.accepted()),
            "RFC 2985, 5.5.2: localKeyID has one value.", "LocalKeyId"
        ) { $0.edit(.safe(1), [0, 2, 1, 1]) { $0.children = [] } },
        vector(
            "local-key-id-integer", "The localKeyID is an INTEGER.", .either(.accepted()),
            "RFC 2985, 5.5.2: localKeyID is an OCTET STRING.", "LocalKeyId"
        ) { draft in draft.replace(OID.localKeyID, try .integer(1)) },
        vector(
            "repeated-local-key-id", "The key has the attribute localKeyID twice.", .either(.accepted()),
            "RFC 5652, 5.3: a SET of attributes has no two of the same type. RFC 7292 does not repeat this.",
            "LocalKeyId"
        ) { $0.edit(.safe(1), [0, 2]) { $0.children.append($0.children[1]) } },
        vector(
            "no-attributes", "The bags have no attributes.", .valid(), pairing, "LocalKeyId"
        ) {
            $0.safes[0].bags[0].attributes = nil
            $0.safes[1].bags[0].attributes = nil
        },
        vector(
            "empty-attributes", "The sets of attributes are empty.", .valid(), pairing, "LocalKeyId"
        ) {
            $0.safes[0].bags[0].attributes = []
            $0.safes[1].bags[0].attributes = []
        },
    ]

    private static let nameType =
        "RFC 2985, 5.5.1: friendlyName is a BMPString. PKCS12_parse of OpenSSL fails otherwise."

    private static let names: [Drafted] = [
        name("utf8-name", "UTF8String", .string(0x0C, Array("Gr\u{FC}\u{DF}e".utf8))),
        name("printable-name", "PrintableString", .string(0x13, Array("Test".utf8))),
        name("ia5-name", "IA5String", .string(0x16, Array("Test".utf8))),
        name("teletex-name", "TeletexString", .string(0x14, [0x47, 0x72, 0xFC, 0xDF, 0x65])),
        name("universal-name", "UniversalString", .string(0x1C, [0, 0, 0, 0x54, 0, 1, 0xF5, 0x11])),
        vector(
            "odd-name", "The friendly name is a BMPString of an odd number of octets.", .either(.accepted()),
            "X.690, 8.23.8: a BMPString has two octets for each character.",
            "FriendlyName"
        ) { $0.replace(OID.friendlyName, .string(0x1E, [0, 0x54, 0, 0x65, 0])) },
        vector(
            "one-octet-name", "The friendly name is a BMPString of one octet.", .either(.accepted()),
            "X.690, 8.23.8: a BMPString has two octets for each character.",
            "FriendlyName"
        ) { $0.replace(OID.friendlyName, .string(0x1E, [0x54])) },
        validName("empty-name", "", "The friendly name is empty."),
        validName("terminated-name", "Test\0", "The friendly name ends with a zero character."),
        validName("zero-in-name", "Te\0st", "The friendly name has a zero character inside."),
        validName("name-255", String(repeating: "n", count: 255), "The friendly name has 255 characters."),
        validName("name-256", String(repeating: "n", count: 256), "The friendly name has 256 characters."),
        validName(
            "name-4096", String(repeating: "n", count: 4_096), "The friendly name has 4,096 characters."),
        validName("diacritic-name", "\u{10C}esk\u{FD} \u{ED}", "The friendly name has diacritics."),
        validName("bidi-name", "abc\u{202E}fdp.exe", "The friendly name reverses the direction of text."),
        validName("path-name", "../../../etc/passwd", "The friendly name is a path."),
        vector(
            "lone-surrogate-name", "The friendly name has half of a surrogate pair.", .either(.accepted()),
            "RFC 2985, 5.5.1: a BMPString has no surrogates, and Windows writes pairs.", "FriendlyName"
        ) { $0.replace(OID.friendlyName, .string(0x1E, [0, 0x54, 0xD8, 0x3D, 0, 0x65])) },
        vector(
            "two-names", "The attribute friendlyName has two values.", .either(.accepted()),
            "RFC 2985, 5.5.1: friendlyName has one value. Apple's importer rejects the file.", "FriendlyName"
        ) {
            $0.edit(.safe(0), [0, 2, 0, 1]) { $0.children.append(.bmpString("Other")) }
        },
        vector(
            "no-name-value", "The attribute friendlyName has no value.", .either(.accepted()),
            "RFC 2985, 5.5.1: friendlyName has one value.", "FriendlyName"
        ) { $0.edit(.safe(0), [0, 2, 0, 1]) { $0.children = [] } },
        vector(
            "different-names", "Key and certificate have different friendly names.", .valid(),
            "RFC 2985, 5.5.1: a name belongs to its bag (go-pkcs12#49).", "FriendlyName"
        ) { $0.replace(OID.friendlyName, .bmpString("Other"), safe: 1) },
        vector(
            "name-on-key", "Only the key has a friendly name.", .valid(),
            "RFC 7292, 4.2: the attributes are optional. PKCS12_parse of OpenSSL loses this name.",
            "FriendlyName"
        ) { $0.remove(OID.friendlyName, safe: 0) },
    ]

    private static let unknown = "RFC 7292, 4.2: bags may have any attribute (openssl#6684, go-pkcs12#16)."

    private static let others: [Drafted] = [
        attribute(
            "microsoft-csp-name", "The key has Microsoft's attribute with the name of the provider.",
            "1.3.6.1.4.1.311.17.1", .bmpString("Microsoft Enhanced Cryptographic Provider v1.0")),
        attribute(
            "microsoft-local-machine", "The key has Microsoft's attribute of keys of the machine.",
            "1.3.6.1.4.1.311.17.2", nil),
        attribute(
            "unknown-attribute", "The key has an attribute of an unknown type.", "1.3.6.1.4.1.99999.1",
            .sequence([.octetString([1, 2, 3]), .null])),
        vector(
            "java-trusted-identity", "The certificate of the key has Java's attribute of trust anchors.",
            .valid(), unknown + " Java marks trusted certificates with it (asn1crypto#31).",
            "VendorAttributes"
        ) { draft in
            draft.safes[0].bags[0].attributes?.append(
                try PKCS12Draft.Bag.attribute(
                    OID.javaTrustedKeyUsage, try .objectIdentifier("2.5.29.37.0")))
        },
        vector(
            "attribute-not-a-set", "The values of an attribute are a SEQUENCE instead of a SET.",
            .either(.accepted()), "RFC 7292, 4.2: the values are a SET OF.", "VendorAttributes"
        ) { $0.edit(.safe(1), [0, 2, 0, 1]) { $0.tag = 0x10 } },
    ]

    private static func vector(
        _ name: String, _ summary: String, _ verdict: Drafted.Verdict, _ reason: String, _ flag: String,
        _ change: @escaping @Sendable (inout PKCS12Draft) throws -> Void
    ) -> Drafted {
        Drafted(name, summary, verdict, because: reason, flag) { draft, _ in try change(&draft) }
    }

    /// A test vector whose friendly name does not have the type that the standard specifies.
    private static func name(_ name: String, _ type: String, _ value: BERElement) -> Drafted {
        vector(
            name, "The friendly name is a \(type).", .either(.accepted()), nameType, "FriendlyName"
        ) { $0.replace(OID.friendlyName, value) }
    }

    private static func validName(_ name: String, _ text: String, _ summary: String) -> Drafted {
        vector(
            name, summary, .valid(),
            "RFC 2985, 5.5.1: any BMPString is a name. A consumer that fails on a name loses the key (Dart-Basic-Utils#115).",
            "FriendlyName"
        ) { $0.replace(OID.friendlyName, .bmpString(text)) }
    }

    private static func attribute(
        _ name: String, _ summary: String, _ type: String, _ value: BERElement?
    ) -> Drafted {
        vector(name, summary, .valid(), unknown, "VendorAttributes") { draft in
            let values = BERElement.set(value.map { [$0] } ?? [])
            draft.safes[1].bags[0].attributes?.append(.sequence([try .objectIdentifier(type), values]))
        }
    }
}

extension PKCS12Draft {
    /// Removes an attribute from the bags of a safe, or of all safes.
    mutating func remove(_ type: String, safe: Int? = nil) {
        change(type, safe) { $0 = nil }
    }

    /// Replaces the value of an attribute in the bags of a safe, or of all safes.
    mutating func replace(_ type: String, _ value: BERElement, safe: Int? = nil) {
        change(type, safe) { $0?.children[1] = .set([value]) }
    }

    private mutating func change(_ type: String, _ safe: Int?, _ change: (inout BERElement?) -> Void) {
        let identifier = try? BERElement.objectIdentifier(type)
        for index in safes.indices where safe == nil || safe == index {
            for bag in safes[index].bags.indices {
                safes[index].bags[bag].attributes = safes[index].bags[bag].attributes?.compactMap {
                    var attribute: BERElement? = $0
                    if $0.children.first == identifier { change(&attribute) }
                    return attribute
                }
            }
        }
    }
}
