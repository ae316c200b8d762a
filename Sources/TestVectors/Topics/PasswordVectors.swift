internal import KeySharing
internal import OpenSSL

/// Test vectors with unusual passwords, and with passwords in encodings that the standards do not specify.
enum PasswordVectors {
    static let all: [Drafted] = texts + lengths + encodings + twoPasswords

    private static let bmp = "RFC 7292, B.1: the password is a BMPString of the characters as entered."

    private static let texts: [Drafted] = [
        text(
            "latin-password", "Gr\u{FC}\u{DF}e \u{E9}", "The password has characters of ISO-8859-1.",
            bmp + " Readers that widen octets fail (mbed-crypto#337)."),
        text(
            "euro-password", "Op\u{20AC}nwal\u{A3}",
            "The password has one character inside ISO-8859-1 and one outside.",
            bmp + " Readers that widen octets fail (john#4179)."),
        text(
            "cyrillic-password", "\u{43F}\u{430}\u{440}\u{43E}\u{43B}\u{44C}", "The password is Cyrillic.",
            bmp),
        text(
            "polish-password", "\u{17C}\u{F3}\u{142}w", "The password is Polish.",
            bmp + " PKI.js wrote other files (PKI.js#404)."),
        text(
            "bom-password", "\u{FEFF}password", "The password begins with U+FEFF, a byte order mark.",
            bmp + " A decoder that removes the mark derives another key."),
        text(
            "nfc-password", "caf\u{E9}", "The password is in Unicode normalization form C.",
            bmp + " RFC 8265, 4.2 normalizes to form C, which changes nothing here."),
        text(
            "nfd-password", "cafe\u{301}", "The password is in Unicode normalization form D.",
            bmp + " No standard of PKCS #12 requires a normalization (openssl#3531)."),
        text("control-password", "a\u{1}b\u{7F}c\td", "The password has control characters.", bmp),
        text(
            "shell-password", "'\"$(id)`;|&\\ %s", "The password has characters that are special in shells.",
            bmp + " A wrapper that builds a command line from it fails, or runs a command."),
        text("space-password", " ", "The password is one space.", bmp + " A reader that trims it fails."),
        text(
            "padded-password", " secret ", "The password begins and ends with a space.",
            bmp + " A reader that trims it fails."),
        text("one-character-password", "x", "The password has one character.", bmp),
        text("dash-password", "-password", "The password begins with a hyphen, like an option.", bmp),
        text("colon-password", "pass:word", "The password contains a colon and a prefix of OpenSSL.", bmp),
        Drafted(
            "emoji-password", "The password has characters beyond the basic plane.", .either(.accepted()),
            "encodes surrogate pairs, or rejects the password",
            because:
                "RFC 7292, B.1: a BMPString has no such characters. Windows and OpenSSL write surrogate pairs (openssl#6179).",
            "PasswordEncoding", password: .text("\u{1F511}\u{1F680}")
        ) { _, _ in },
        Drafted(
            "legacy-non-ascii-password", "The password is not ASCII, and the layers use Triple DES.",
            .valid(),
            "opens it", because: bmp, "PasswordEncoding", "LegacyAlgorithms",
            password: .text("M\u{F6}tley \u{5BC6}\u{7801}")
        ) { draft, context in
            draft.safes[0].encryption = try .pbes1(
                OID.pbeWithSHA1AndTripleDES, salt: context.octets(8, "legacy"))
        },
    ]

    private static let lengths: [Drafted] = [
        text(
            "password-64", String(repeating: "0123456789abcdef", count: 4), "The password has 64 characters.",
            "RFC 2104, 2: the key of HMAC has exactly the length of a block."),
        text(
            "password-65", String(repeating: "0123456789abcdef", count: 4) + "x",
            "The password has 65 characters.", "RFC 2104, 2: a key longer than a block is hashed first."),
        text(
            "password-256", String(repeating: "0123456789abcdef", count: 16),
            "The password has 256 characters.",
            bmp + " Fixed buffers are short."),
        Drafted(
            "password-1024", "The password has 1,024 characters.", .either(.accepted()),
            "opens or rejects it",
            because: bmp + " OpenSSL's commands read at most 1,024 octets.", "PasswordEncoding",
            password: .text(String(repeating: "0123456789abcdef", count: 64))
        ) { _, _ in },
        Drafted(
            "password-65536", "The password has 65,536 characters.", .either(.refused(10)),
            "opens or rejects it, and does not truncate the password",
            because: bmp + " No standard limits the length.", "PasswordEncoding",
            password: .text(String(repeating: "0123456789abcdef", count: 4_096))
        ) { _, _ in },
    ]

    private static let encodings: [Drafted] = [
        Drafted(
            "nfd-for-nfc", "The file was encrypted in normalization form C, and the password is in form D.",
            .either(.refused(3)), "rejects the password, or normalizes it",
            because: bmp
                + " RFC 8265, 4.2 recommends form C, and no reader is known to normalize (openssl#3531).",
            "PasswordEncoding", password: .text("cafe\u{301}")
        ) { draft, _ in draft.password = .init("caf\u{E9}") },
        Drafted(
            "no-bom-for-bom", "The password begins with U+FEFF, and the file was encrypted without it.",
            .either(.refused(3)), "rejects the password, or removes the byte order mark",
            because: bmp + " A decoder of UTF-8 may remove the mark.", "PasswordEncoding",
            password: .text("\u{FEFF}password")
        ) { draft, _ in draft.password = .init("password") },
        Drafted(
            "widened-password", "The octets of UTF-8 were widened to 16 bits for the MAC and the layers.",
            .either(.accepted()), "rejects the password, or also tries this encoding",
            because:
                "RFC 7292, B.1 specifies a BMPString. OpenSSL 1.0.2 and Mbed TLS widened octets (mbed-crypto#337).",
            "PasswordEncoding", password: .text("Gr\u{FC}\u{DF}e")
        ) { draft, _ in draft.password.wide = draft.password.octets.flatMap { [0, $0] } + [0, 0] },
        Drafted(
            "latin1-password", "The password of PBES2 is in ISO-8859-1.", .either(.accepted()),
            "rejects the file, or also tries this encoding",
            because: "RFC 8018, 3 recommends UTF-8. RSA's JSafe wrote ISO-8859-1.", "PasswordEncoding",
            password: .text("Gr\u{FC}\u{DF}e")
        ) { draft, _ in draft.password.octets = [0x47, 0x72, 0xFC, 0xDF, 0x65] },
        Drafted(
            "bmp-password-pbes2", "The password of PBES2 is a BMPString with a terminator.",
            .either(.accepted()), "rejects the file, or also tries this encoding",
            because: "RFC 8018, 3 recommends UTF-8. NSS wrote such files before PBES2 became common.",
            "PasswordEncoding"
        ) { draft, _ in draft.password.octets = draft.password.wide },
        Drafted(
            "absent-password-legacy", "The file has no password, and the layers use Triple DES.", .valid(),
            "tries no password and the empty one", because: "RFC 7292, B.1: no password has no octets.",
            "EmptyPassword", password: .absent
        ) { draft, context in
            draft.safes[0].encryption = try .pbes1(
                OID.pbeWithSHA1AndTripleDES, salt: context.octets(8, "legacy"))
        },
        Drafted(
            "empty-password-legacy", "The password is empty, and the layers use Triple DES.", .valid(),
            "tries no password and the empty one",
            because: "RFC 7292, B.1: the empty password has a terminator (dotnet/runtime#103929).",
            "EmptyPassword", password: .text("")
        ) { draft, context in
            draft.safes[0].encryption = try .pbes1(
                OID.pbeWithSHA1AndTripleDES, salt: context.octets(8, "legacy"))
        },
        Drafted(
            "mixed-empty-password", "The MAC uses the empty password, and a layer uses no password.",
            .either(.accepted()), "opens or rejects it",
            because: "RFC 7292, B.1: the two differ, and ice#6503 lists the form that each system accepts.",
            "EmptyPassword", password: .absent
        ) { draft, context in
            draft.macPassword = .init("")
            draft.safes[0].encryption = try .pbes1(
                OID.pbeWithSHA1AndTripleDES, salt: context.octets(8, "legacy"))
        },
    ]

    private static let twoPasswords: [Drafted] = [
        Drafted(
            "two-passwords", "The MAC uses the password, and the layers use another one.",
            .either(.refused(5)), "asks for the second password, or rejects the file",
            because:
                "RFC 7292, 3.1: the passwords of the MAC and of the encryption may differ (openssl#7936).",
            "TwoPasswords"
        ) { draft, _ in
            draft.macPassword = draft.password
            draft.password = .init("another")
        },
        Drafted(
            "key-under-own-password",
            "The MAC and the certificate use the password, and the key uses another one.",
            .either(.refused(5)), "asks for the second password, or rejects the file",
            because: "RFC 7292, 4.2.2: each key may have its own password (openssl#8107).", "TwoPasswords"
        ) { draft, _ in
            for index in draft.safes[1].bags.indices {
                guard case .shroudedKey(let info, var encryption) = draft.safes[1].bags[index].value else {
                    continue
                }
                encryption.password = .init("another")
                draft.safes[1].bags[index].value = .shroudedKey(info, encryption)
            }
        },
        Drafted(
            "mac-under-other-password",
            "The layers use the password, and the MAC uses another one.",
            .invalid(3), "reports that the password is wrong",
            because: "RFC 7292, 5.1: without a valid MAC, the file may have been changed (openssl#7936).",
            "TwoPasswords", "Integrity"
        ) { draft, _ in draft.macPassword = .init("another") },
    ]

    private static func text(
        _ name: String, _ password: String, _ summary: String, _ reason: String
    ) -> Drafted {
        Drafted(
            name, summary, .valid(), "opens it", because: reason, "PasswordEncoding",
            password: .text(password)
        ) { _, _ in }
    }
}
