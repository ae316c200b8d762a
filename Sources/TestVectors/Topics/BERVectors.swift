internal import OpenSSL

/// Test vectors in forms that BER permits and DER does not.
enum BERVectors {
    static let all: [Drafted] = indefinite + strings + lengths + values

    private static let reason = "RFC 7292, 5.1 permits BER (X.690, 8.1.3.6)."
    private static let stringReason = "RFC 7292, 5.1 permits BER (X.690, 8.7.3)."

    private static let indefinite: [Drafted] = [
        vector("ber-file", "The PFX has an indefinite length.", reason, .file, []) {
            $0.length = .indefinite
        },
        vector("ber-content-info", "The ContentInfo of the PFX has an indefinite length.", reason, .file, [1])
        {
            $0.length = .indefinite
        },
        vector("ber-content", "The tag around the content has an indefinite length.", reason, .file, [1, 1]) {
            $0.length = .indefinite
        },
        vector(
            "ber-mac", "The MacData and its DigestInfo have indefinite lengths.", reason, .file, [2]
        ) { $0.makeIndefinite() },
        vector(
            "ber-authenticated-safe", "The AuthenticatedSafe has an indefinite length.",
            reason + " bc-java writes such files (bc-java#1276).", .authenticatedSafe, []
        ) { $0.length = .indefinite },
        vector(
            "ber-encrypted-data", "The EncryptedData has an indefinite length.",
            reason + " wolfSSL needed a change for such files (wolfssl#6160).", .authenticatedSafe, [0]
        ) { $0.makeIndefinite() },
        vector(
            "ber-encryption-algorithm", "The parameters of PBES2 have indefinite lengths.", reason,
            .authenticatedSafe, [0, 1, 0, 1, 1]
        ) { $0.makeIndefinite() },
        vector(
            "ber-safe-contents", "The decrypted SafeContents has an indefinite length.", reason, .safe(0), []
        ) {
            $0.length = .indefinite
        },
        vector("ber-bag", "The certificate's bag has indefinite lengths.", reason, .safe(0), [0]) {
            $0.makeIndefinite()
        },
        vector("ber-key-bag", "The key's bag has indefinite lengths.", reason, .safe(1), [0]) {
            $0.makeIndefinite()
        },
        vector("ber-attributes", "The attributes have indefinite lengths.", reason, .safe(1), [0, 2]) {
            $0.makeIndefinite()
        },
        everywhere("ber-everywhere", "Every structure at every level has an indefinite length.", reason) {
            $0.makeIndefinite()
        },
    ]

    private static let strings: [Drafted] = [
        split(
            "ber-split-content", "The AuthenticatedSafe is split into pieces of 1,000 octets.", .file,
            [1, 1, 0], 1_000),
        split(
            "ber-split-octets", "The AuthenticatedSafe is split into pieces of one octet.", .file, [1, 1, 0],
            1),
        vector(
            "ber-split-twice", "The AuthenticatedSafe is split into pieces that are split again.",
            stringReason,
            .file, [1, 1, 0]
        ) {
            $0.split(every: 300)
            $0.children = $0.children.map { piece in
                var piece = piece
                piece.split(every: 100)
                return piece
            }
        },
        vector(
            "ber-empty-piece", "An empty piece is among the pieces of the AuthenticatedSafe.", stringReason,
            .file, [1, 1, 0]
        ) {
            $0.split(every: 500)
            $0.children.insert(.octetString([]), at: 1)
        },
        vector(
            "ber-indefinite-pieces", "The AuthenticatedSafe is split, and has an indefinite length.",
            stringReason, .file, [1, 1, 0]
        ) {
            $0.split(every: 1_024)
            $0.length = .indefinite
        },
        split(
            "ber-split-ciphertext",
            "The ciphertext of the certificates is split into pieces.",
            .authenticatedSafe, [0, 1, 0, 1, 2], 256, " Windows rejects such files of PKI.js (PKI.js#405)."),
        split(
            "ber-split-plain-safe", "The safe in the clear is split into pieces.", .authenticatedSafe,
            [1, 1, 0],
            64),
        split(
            "ber-split-key", "The ciphertext of the key is split into pieces.", .safe(1), [0, 1, 0, 1], 32),
        split(
            "ber-split-certificate", "The octets of the certificate are split into pieces.", .safe(0),
            [0, 1, 0, 1, 0], 200),
        split(
            "ber-split-local-key-id", "The localKeyID of the key is split into pieces.", .safe(1),
            [0, 2, 1, 1, 0], 7),
        split("ber-split-mac", "The value of the MAC is split into pieces.", .file, [2, 0, 1], 8),
        split("ber-split-mac-salt", "The salt of the MAC is split into pieces.", .file, [2, 1], 3),
        split(
            "ber-split-salt", "The salt of PBKDF2 is split into pieces.", .authenticatedSafe,
            [0, 1, 0, 1, 1, 1, 0, 1, 0], 5),
        split(
            "ber-split-vector", "The initialization vector is split into pieces.", .authenticatedSafe,
            [0, 1, 0, 1, 1, 1, 1, 1], 4),
        Drafted(
            "ber-split-name", "The friendly name is a constructed BMPString.", .either(.accepted()),
            "reads the name, or ignores it",
            because: "X.690, 8.23.3 permits constructed character strings, which no known writer uses.",
            "BerEncoding", "FriendlyName"
        ) { draft, _ in
            draft.edit(.safe(0), [0, 2, 0, 1, 0]) { $0.split(every: 2, into: 0x04) }
        },
    ]

    private static let emptyReason =
        "X.690, 8.1.3.5 permits it. OpenSSL 3.0 rejects a long length of an empty element at the end of another, as of NULL."

    private static let lengths: [Drafted] = [
        vector(
            "ber-long-length", "The length of the PFX has a leading zero octet.",
            "X.690, 8.1.3.5 permits it.",
            .file, []
        ) { $0.length = .long(octets: 4) },
        Drafted(
            "ber-long-lengths", "Every length in the PFX has four octets.", .either(.accepted()),
            "opens or rejects it", because: emptyReason, "BerEncoding"
        ) { draft, _ in draft.edit(.file) { $0.editAll { $0.length = .long(octets: 4) } } },
        Drafted(
            "ber-long-everywhere", "Every length at every level has three octets.", .either(.accepted()),
            "opens or rejects it", because: emptyReason, "BerEncoding"
        ) { draft, _ in
            for level in [PKCS12Draft.Level.file, .authenticatedSafe, .safe(0), .safe(1)] {
                draft.edit(level) { $0.editAll { $0.length = .long(octets: 3) } }
            }
        },
        Drafted(
            "ber-length-of-9-octets", "The length of the PFX has nine octets, and the first six are zero.",
            .either(.refused(5)), "opens or rejects it",
            because: "X.690, 8.1.3.5 permits up to 126 octets, and readers use integers of 4 or 8.",
            "BerEncoding"
        ) { draft, _ in draft.edit(.file) { $0.length = .long(octets: 9) } },
        Drafted(
            "wrong-length-short", "The length of the PFX is one octet short.", .invalid(5), "rejects it",
            because: "X.690, 8.1.3: the length is that of the contents.", "NotPkcs12"
        ) { draft, _ in draft.edit(.file) { $0.length = .wrong(by: -1) } },
        Drafted(
            "wrong-length-long", "The length of the PFX is one octet too long.", .invalid(5), "rejects it",
            because: "X.690, 8.1.3: the length is that of the contents.", "NotPkcs12"
        ) { draft, _ in draft.edit(.file) { $0.length = .wrong(by: 1) } },
        Drafted(
            "wrong-length-of-mac", "The length of the MAC's value is 1,000 octets too long.", .invalid(5),
            "rejects it, and reads nothing past the end of the file",
            because: "X.690, 8.1.3: the length is that of the contents.", "NotPkcs12"
        ) { draft, _ in draft.edit(.file, [2, 0, 1]) { $0.length = .wrong(by: 1_000) } },
        Drafted(
            "wrong-length-inside", "The length of the first bag is larger than its safe.", .invalid(5),
            "rejects it, and reads nothing past the end of the safe",
            because:
                "X.690, 8.1.3: the length is that of the contents. wolfSSL read past the end (wolfssl#10172).",
            "NotPkcs12"
        ) { draft, _ in draft.edit(.safe(0), [0]) { $0.length = .wrong(by: 100) } },
    ]

    private static let values: [Drafted] = [
        Drafted(
            "padded-version", "The version has a leading zero octet.", .either(.accepted()),
            "opens or rejects it", because: "X.690, 8.3.2 forbids it, and lenient parsers accept it.",
            "BerEncoding"
        ) { draft, _ in draft.edit(.file, [0]) { $0.octets = [0, 3] } },
        Drafted(
            "padded-iterations", "The iteration count of the MAC has a leading zero octet.",
            .either(.accepted()), "opens or rejects it",
            because: "X.690, 8.3.2 forbids it, and lenient parsers accept it.", "BerEncoding"
        ) { draft, _ in draft.edit(.file, [2, 2]) { $0.octets = [0] + $0.octets } },
        Drafted(
            "explicit-default-iterations",
            "The MAC has one iteration, which is written although it is the default.",
            .valid(), "opens it", because: "RFC 7292, 4: the default is 1. Only DER omits it (X.690, 11.5).",
            "BerEncoding", "IterationCount"
        ) { draft, context in
            draft.mac = .pkcs12(digest: OID.sha256, salt: context.octets(16, "MAC"), iterations: 1)
            draft.edit(.file) { try $0.edit([2]) { $0.children.append(try .integer(1)) } }
        },
        vector(
            "unsorted-attributes", "The attributes are in the reverse order of DER.",
            "RFC 7292, 4.2: the attributes are a SET OF, which only DER sorts (X.690, 11.6).", .safe(0),
            [0, 2]
        ) { $0.children.reverse() },
        Drafted(
            "version-0", "The version is 0.", .invalid(5), "rejects it",
            because: "RFC 7292, 4: the version is 3.", "InvalidParameters"
        ) { draft, _ in draft.edit(.file, [0]) { $0.octets = [0] } },
        Drafted(
            "version-4", "The version is 4.", .invalid(5), "rejects it",
            because: "RFC 7292, 4: the version is 3.", "InvalidParameters"
        ) { draft, _ in draft.edit(.file, [0]) { $0.octets = [4] } },
        Drafted(
            "content-missing", "The ContentInfo of the PFX has no content.", .invalid(5),
            "rejects it and does not crash",
            because: "CVE-2024-0727: OpenSSL crashed on a ContentInfo without content.", "NotPkcs12"
        ) { draft, _ in draft.edit(.file, [1]) { $0.children.removeLast() } },
        Drafted(
            "safe-content-missing", "The ContentInfo of a safe has no content.", .invalid(5),
            "rejects it and does not crash",
            because: "CVE-2024-0727: OpenSSL crashed on a ContentInfo without content.", "NotPkcs12"
        ) { draft, _ in draft.edit(.authenticatedSafe, [1]) { $0.children.removeLast() } },
        Drafted(
            "ciphertext-missing", "The EncryptedData of a safe has no ciphertext.", .invalid(5),
            "rejects it and does not crash",
            because: "RFC 5652, 6.1: the ciphertext is optional. CVE-2025-69421: OpenSSL crashed without it.",
            "NotPkcs12"
        ) { draft, _ in draft.edit(.authenticatedSafe, [0, 1, 0, 1]) { $0.children.removeLast() } },
    ]

    private static func vector(
        _ name: String, _ summary: String, _ reason: String, _ level: PKCS12Draft.Level, _ path: [Int],
        _ change: @escaping @Sendable (inout BERElement) -> Void
    ) -> Drafted {
        Drafted(name, summary, .valid(), "reads BER and DER", because: reason, "BerEncoding") { draft, _ in
            draft.edit(level, path, change)
        }
    }

    private static func split(
        _ name: String, _ summary: String, _ level: PKCS12Draft.Level, _ path: [Int], _ size: Int,
        _ report: String = ""
    ) -> Drafted {
        vector(name, summary, stringReason + report, level, path) { $0.split(every: size) }
    }

    /// A test vector with the same change at all levels.
    private static func everywhere(
        _ name: String, _ summary: String, _ reason: String,
        _ change: @escaping @Sendable (inout BERElement) -> Void
    ) -> Drafted {
        Drafted(name, summary, .valid(), "reads BER and DER", because: reason, "BerEncoding") { draft, _ in
            for level in [PKCS12Draft.Level.file, .authenticatedSafe, .safe(0), .safe(1)] {
                draft.edit(level, [], change)
            }
        }
    }
}
