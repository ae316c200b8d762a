internal import SecureMail
internal import TestCredentials

/// Test vectors about the match of signature and content.
enum SignatureVectors {
    private static let altered =
        "RFC 5652, 5.6: the message digest must equal that of the content, and the signature must match."

    static let all: [MessageVector] = [
        MessageVector(
            "signed", "The sender signed the message.", .valid, "shows it as signed by the sender",
            because: "RFC 8551, 3.5.3: multipart/signed is the form that every program can show."
        ) { try $0.signed($0.header()) },
        MessageVector(
            "altered", "One word was changed after the message was signed.", .unreadable,
            "shows that it was altered", because: altered, check: "signature"
        ) { $0.replacing("noon", with: "nine", in: try $0.signed($0.header())) },
        MessageVector(
            "altered-signature", "One bit of the signature is flipped.", .unreadable,
            "shows that the signature does not match", because: altered, check: "signature"
        ) { material in
            material.editingSignature(of: try material.signed(material.header())) { $0[$0.count - 1] ^= 1 }
        },
        MessageVector(
            "signature-of-another", "The signature belongs to another message of the same sender.",
            .unreadable, "shows that the signature does not match", because: altered, check: "signature"
        ) { material in
            var signature: [UInt8] = []
            let other = try material.signed(MailHeader([]), MailWriter.textEntity("Yes, I agree.\n"))
            _ = material.editingSignature(of: other) { signature = $0 }
            return material.editingSignature(of: try material.signed(material.header())) { $0 = signature }
        },
        MessageVector(
            "text-after-signature", "Text was added to the signed part, after the signed text.", .unreadable,
            "shows that it was altered", because: altered, check: "signature"
        ) { material in
            material.replacing(
                "of both contracts.", with: "of both contracts.\r\n\r\nAnd the master key.",
                in: try material.signed(material.header()))
        },
        MessageVector(
            "truncated", "The end of the signature is missing.", .unreadable,
            "shows that the message is incomplete",
            because: "RFC 5652, 5.1: the structure of the signature is incomplete.", check: "signed"
        ) { material in
            material.editingSignature(of: try material.signed(material.header())) {
                $0.removeLast($0.count / 2)
            }
        },
        MessageVector(
            "unsigned", "The message is neither signed nor encrypted.", .unsafe, "does not show a signature",
            because: "A program that shows every message as signed proves nothing.", check: "structure"
        ) { $0.header().withoutEmptyLine + $0.body },
    ]
}
