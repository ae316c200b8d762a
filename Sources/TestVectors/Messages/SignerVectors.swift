internal import Foundation
internal import KeySharing
internal import OpenSSL
internal import SecureMail
internal import StandardExtensions
internal import TestCredentials

/// Test vectors about signers: their certificates, and whether the sender in From is the signer.
enum SignerVectors {
    private static let sender =
        "RFC 8550, 3: an address of the signer's certificate must match the address in From."
    private static let path = "RFC 8550, 4: the signer's certificate must have a valid path."

    static let all = senders + certificates

    private static let senders: [MessageVector] = [
        MessageVector(
            "from-domain-case", "The domain in From is in upper case.", .valid,
            "shows it as signed by the sender",
            because: "RFC 5280, 7.5: the case of domains does not count in a comparison of addresses."
        ) { material in
            let address = material.context.person.emailAddress
            let parts = address.split(separator: "@", maxSplits: 1)
            let upper = parts.count == 2 ? "\(parts[0])@\(parts[1].uppercased())" : address
            return try material.signed(material.header(from: upper))
        },
        MessageVector(
            "from-local-part-case", "The local part in From is in upper case.", .debatableSender,
            "warns, because addresses that differ in the local part may belong to different persons",
            because: "RFC 5280, 7.5: the case of the local part counts. Most mail servers ignore it.",
            check: "sender"
        ) { material in
            let address = material.context.person.emailAddress
            let parts = address.split(separator: "@", maxSplits: 1)
            let upper = parts.count == 2 ? "\(parts[0].uppercased())@\(parts[1])" : address
            return try material.signed(material.header(from: upper))
        },
        MessageVector(
            "from-mismatch", "Another person with a valid certificate signed the message.", .notSigned,
            "shows that the signer is not the sender", because: sender, check: "sender"
        ) { try $0.signed($0.header(), by: $0.identities.otherSigner) },
        MessageVector(
            "two-from", "The message has two From fields. The first one names the signer.", .unsafe,
            "rejects it, because programs differ in the field that they show",
            because: "RFC 5322, 3.6: a message has exactly one From field.", check: "sender"
        ) { material in
            let header = material.header()
            return try material.signed(MailHeader(header.fields + [.init("From", material.otherAddress)]))
        },
        MessageVector(
            "no-from", "The message has no From field.", .unsafe, "shows that the sender is unknown",
            because: sender, check: "sender"
        ) { material in
            try material.signed(MailHeader(material.header().fields.filter { $0.name != "From" }))
        },
        MessageVector(
            "signed-by-delegate", "The signer is in Sender, and another person is in From.", .debatableSender,
            "shows the name of the signer, because users see only From",
            because: "RFC 8550, 3, accepts From or Sender. Most programs show only From.", check: "sender"
        ) { material in
            let header = material.header(from: material.otherAddress)
            return try material.signed(MailHeader(header.fields + [.init("Sender", material.sender)]))
        },
    ]

    private static let certificates: [MessageVector] = [
        MessageVector(
            "expired-signer", "The message was signed a year after the certificate had expired.",
            .invalidSigner, "shows that the certificate had expired", because: path, check: "validity"
        ) { material in
            try material.signed(
                by: try material.certified(validity: material.context.validity(shiftedBy: -4)))
        },
        MessageVector(
            "expired-since", "The certificate expired a year ago, and the signature claims an earlier time.",
            .debatableSigner, "validates the certificate at the signing time, or shows that it has expired",
            because: "RFC 5652, 11.3: the signing time is only the signer's claim.", check: "validity"
        ) { material in
            try material.signed(
                by: try material.certified(validity: material.context.validity(shiftedBy: -4)),
                at: Calendar.utc.adding(years: -2, to: material.context.date))
        },
        MessageVector(
            "not-yet-valid-signer", "The certificate is valid from next year.", .invalidSigner,
            "shows that the certificate is not yet valid", because: path, check: "validity"
        ) { material in
            try material.signed(by: try material.certified(validity: material.context.validity(shiftedBy: 1)))
        },
        MessageVector(
            "revoked-signer", "The certificate is on its issuer's revocation list.", .invalidSigner,
            "shows that the certificate was revoked",
            because: "RFC 5280, 6.1.3 (a)(3): a certificate on its issuer's revocation list is not trusted.",
            check: "revocation"
        ) { try $0.signed(by: $0.identities.revoked) },
        MessageVector(
            "untrusted-signer", "The certificate's path ends at another root with the same name.",
            .invalidSigner, "compares keys and not names: the signer is not trusted", because: path,
            check: "chain"
        ) { material in
            let context = material.context
            let other = try TestAuthority(
                algorithm: .p256, validity: context.validity(), number: context.authority.number,
                from: context.source.child("other PKI"))
            var signer = try material.certified(issuer: other[.email])
            signer.chain = [other[.email].certificate, other[.root].certificate]
            return try material.signed(by: signer)
        },
        MessageVector(
            "encryption-certificate", "The message is signed with an encryption key.", .invalidSigner,
            "shows that the key must not sign",
            because: "RFC 8550, 4.4.2: the key usage must include digitalSignature or nonRepudiation.",
            check: "key usage"
        ) { try $0.signed(by: try $0.certified { $0.keyUsage = [.keyEncipherment] }) },
        MessageVector(
            "wrong-purpose", "The only extended key usage of the certificate is server authentication.",
            .invalidSigner, "shows that the certificate is not for mail",
            because: "RFC 8550, 4.4.4: the extended key usage must include e-mail protection.",
            check: "extended key usage"
        ) { material in
            try material.signed(by: try material.certified { $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.1"] })
        },
        MessageVector(
            "weak-key", "The signature's RSA key has 1,024 bits.", .invalidSigner,
            "shows that the signature is too weak",
            because: "RFC 8551, 2.7.1, and NIST SP 800-131A: RSA keys below 2,048 bits are disallowed.",
            check: "signature"
        ) { try $0.signed(by: try $0.context.identity(algorithm: .rsa(bits: 1024))) },
    ]
}

extension MessageMaterial {
    /// Signs the usual text with another identity of the sender.
    fileprivate func signed(by signer: TestIdentity, at time: Date? = nil) throws -> [UInt8] {
        try signed(header(), by: signer, at: time)
    }

    /// Issues another signature certificate for the sender's key, because generating an RSA key takes a long time.
    fileprivate func certified(
        validity: Range<Date>? = nil, issuer: CertificateIssuer? = nil,
        edit: (inout CertificateTemplate) throws -> Void = { _ in }
    ) throws -> TestIdentity {
        try context.identity(
            validity: validity, issuer: issuer, with: identities.sender.privateKey, edit: edit)
    }
}
