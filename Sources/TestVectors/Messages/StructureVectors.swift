internal import SecureMail
internal import TestCredentials

/// Test vectors about signed parts inside other parts and messages.
enum StructureVectors {
    private static let outside =
        "RFC 8551, 3.1: only the signed part is protected. Parts outside it can be anybody's."

    static let all: [MessageVector] = [
        MessageVector(
            "list-footer", "A mailing list added a footer after the signed part.", .debatable,
            "shows which part is signed, or does not show a signature", because: outside
        ) { material in
            material.mixed(
                material.header(subject: "[auditors] Meeting on Friday"),
                [
                    try material.signed(MailHeader([])),
                    material.part("-- \r\nTo unsubscribe, write to auditors-leave@mail.example."),
                ])
        },
        MessageVector(
            "gateway-banner", "A gateway added a banner before the signed part.", .debatable,
            "shows which part is signed, or does not show a signature", because: outside
        ) { material in
            material.mixed(
                material.header(),
                [material.part("CAUTION: external sender."), try material.signed(MailHeader([]))])
        },
        MessageVector(
            "forwarded-signed",
            "The sender signed a message that contains a signed message of another person.",
            .valid, "shows the sender as the signer, and judges the inner message separately",
            because: "RFC 8551, 3.7: signatures may be nested. Each of them belongs to one content."
        ) { material in
            let inner = try material.signed(
                material.header(from: material.otherAddress), by: material.identities.otherSigner)
            return try material.signed(
                material.header(subject: "Fwd: Meeting on Friday"),
                material.mixed(nil, [material.body, material.part(containing: inner)]))
        },
        MessageVector(
            "forwarded-in-unsigned", "An unsigned message contains a signed message as an attachment.",
            .unsafe, "does not show the outer message as signed", because: outside, check: "structure"
        ) { material in
            material.mixed(
                material.header(from: material.otherAddress, subject: "Fwd: Meeting on Friday"),
                [
                    material.part("Please pay this invoice."),
                    material.part(containing: try material.signed(material.header())),
                ])
        },
        MessageVector(
            "signed-by-list", "Another person signed a message that contains the sender's signed message.",
            .notSigned, "shows that the signer is not the sender",
            because: "RFC 8550, 3: the outer signature must match From of the outer message.", check: "sender"
        ) { material in
            try material.signed(
                material.header(),
                material.mixed(
                    nil, [material.body, material.part(containing: try material.signed(material.header()))]),
                by: material.identities.otherSigner)
        },
    ]
}
