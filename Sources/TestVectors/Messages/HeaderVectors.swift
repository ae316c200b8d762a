internal import SecureMail
internal import TestCredentials

/// Test vectors about protected header fields (RFC 9788).
enum HeaderVectors {
    private static let forged =
        "RFC 9788, 4.4: the sender in From must not be replaced by a field outside the signature."

    static let all: [MessageVector] = [
        MessageVector(
            "protected-headers", "The signature also protects the header fields (hp=\"clear\").", .valid,
            "shows the protected fields",
            because: "RFC 9788, 2.1.1: the fields are copied to the signed part."
        ) { material in
            let (outer, entity) = material.protected(isEncrypted: false)
            return try material.signed(outer, entity)
        },
        MessageVector(
            "protected-headers-encrypted",
            "The encrypted and signed part contains the header fields, and the subject outside is hidden (hp=\"cipher\").",
            .valid, "shows the subject inside, and not the one outside",
            because: "RFC 9788, 2.1.1: programs show the protected subject."
        ) { material in
            let (outer, entity) = material.protected(isEncrypted: true)
            return try material.encrypted(outer, try material.signed(MailHeader([]), entity))
        },
        MessageVector(
            "wrapped-headers", "The signed part is a whole message with its header fields (message/rfc822).",
            .valid, "shows the fields of the message inside",
            because: "RFC 8551, 3.1: a message may be wrapped in message/rfc822 to protect its fields."
        ) { try $0.signed($0.header(), $0.wrapped) },
        MessageVector(
            "outer-subject", "The subject outside differs from the protected one, as after a mailing list.",
            .debatableSender, "shows the protected subject, or a warning",
            because: "RFC 9788, 4.3: fields outside the protection are not authenticated."
        ) { material in
            let (_, entity) = material.protected(isEncrypted: false)
            return try material.signed(material.header(subject: "Meeting cancelled"), entity)
        },
        MessageVector(
            "outer-from", "From outside names another person than the protected From.", .notSigned,
            "shows the protected sender, or a warning", because: forged, check: "headers"
        ) { material in
            let (_, entity) = material.protected(isEncrypted: false)
            return try material.signed(material.header(from: material.otherAddress), entity)
        },
        MessageVector(
            "outer-from-wrapped", "From outside names another person than From of the message inside.",
            .notSigned, "shows the sender inside, or a warning", because: forged, check: "headers"
        ) { try $0.signed($0.header(from: $0.otherAddress), $0.wrapped) },
        MessageVector(
            "protected-from-mismatch",
            "Another person signed the message, and the protected From is the sender.",
            .notSigned, "shows that the signer is not the sender",
            because: "RFC 8550, 3: the signature must match the sender that the program shows.",
            check: "sender"
        ) { material in
            let (outer, entity) = material.protected(isEncrypted: false)
            return try material.signed(outer, entity, by: material.identities.otherSigner)
        },
    ]
}

extension MessageMaterial {
    /// The fields outside, and an entity that protects the fields (RFC 9788).
    fileprivate func protected(isEncrypted: Bool) -> (outer: MailHeader, entity: [UInt8]) {
        MailWriter.textEntity(text, protecting: header(), isEncrypted: isEncrypted)
    }

    /// An entity that contains a message with the fields (RFC 8551, 3.1).
    fileprivate var wrapped: [UInt8] { part(containing: header().withoutEmptyLine + body) }
}

extension MailHeader {
    /// The encoded fields of a message whose content begins with its own fields.
    var withoutEmptyLine: [UInt8] {
        Array(MailHeader(fields + [.init("MIME-Version", "1.0")]).encoded.dropLast(2))
    }
}
