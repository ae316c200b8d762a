import OpenSSL
import SecureMail

extension Limit {
    /// The limits on S/MIME and CMS messages from untrusted sources.
    static let mails: [Limit] = [
        Limit(
            "author of a message", asks: "memory and time for headers", pays: "the same number of bytes",
            bound: """
                \(size(MailLimits.headers)) and \(number(MailLimits.fields)) fields for a message, and for each part; a field \
                with more than \(number(MailLimits.parameters)) parameters is ambiguous
                """, "MailLimits.headers, .fields, .parameters"),
        Limit(
            "author of a message", asks: "comparing the addresses of From with the signer",
            pays: "about four bytes for each address",
            bound: """
                \(number(MailLimits.addresses)) addresses, and \(number(MailLimits.addresses)) alternative names of the \
                signer; above, the check `sender` fails or remains open
                """, "MailLimits.addresses"),
        Limit(
            "author of a message", asks: "showing a field of the header for each part",
            pays: "about ten bytes for each part",
            bound: "the first \(number(MailLimits.shownValue)) characters", "MailLimits.shownValue"),
        Limit(
            "author of a message", asks: "nested encryptions and signatures",
            pays: "a quarter more bytes for each",
            bound: "\(number(MailLimits.layers - 1))", "MailLimits.layers"),
        Limit(
            "author of a message", asks: "a search for S/MIME in the parts of multipart/mixed",
            pays: "about ten bytes for each part",
            bound: """
                \(number(MailLimits.parts)) parts at \(number(MailLimits.partLevels)) levels; a boundary has at most \
                \(size(MailLimits.boundary))
                """, "MailLimits.parts, .partLevels, .boundary"),
        Limit(
            "author of a message", asks: "a search for all S/MIME parts (`verify --message`)",
            pays: "about ten bytes for each part",
            bound: """
                \(number(MailLimits.parts)) parts at \(number(MailLimits.messageLevels)) levels; \
                \(MailLimits.copies) times the size of the message in all parts and layers
                """, "MailLimits.parts, .messageLevels, .copies"),
        Limit(
            "author of a message", asks: "memory for recipients, certificates, signatures and attributes",
            pays: "the same number of bytes",
            bound: """
                \(size(CMSLimits.structure)) in addition to the content, and \(size(MailLimits.signature)) for a \
                detached signature; \(number(CMSLimits.nesting)) levels of nesting
                """, "CMSLimits.structure, .nesting, MailLimits.signature"),
        Limit(
            "author of a message", asks: "verification of signatures", pays: "a few hundred bytes each",
            bound: """
                \(number(CMSLimits.signers)) in one part, with keys that `KeyLoadingPolicy` allows; after \
                \(number(MailLimits.signatures)), no further part is opened
                """, "CMSLimits.signers, MailLimits.signatures"),
        Limit(
            "author of a message", asks: "computing digests of the content",
            pays: "about ten bytes for each algorithm",
            bound: "\(number(CMSLimits.digests)) different digest algorithms", "CMSLimits.digests"),
        Limit(
            "author of a message", asks: "iterations of the key derivation for a password",
            pays: "four bytes",
            bound: """
                \(number(PKCS12Limits.standard.iterations)), and \(time(PKCS12Limits.standard.patience)) of processor \
                time, for all recipients with a password in all parts
                """, "PKCS12Limits.iterations, .patience"),
        Limit(
            "author of a message", asks: "trying a key, a password or a shared key",
            pays: "about 60 bytes for each recipient",
            bound: """
                \(number(CMSLimits.entriesOfRecipient)) entries for the same recipient, \
                \(number(CMSLimits.heldRecipients)) recipients whose keys are available, \
                \(number(CMSLimits.ungrantedRecipients)) recipients whose keys the app may not use, and \
                \(number(CMSLimits.secretRecipients)) recipients with a password or a shared key; \
                \(number(CMSLimits.failedAttempts)) failed attempts with private keys in all parts
                """,
            "CMSLimits.entriesOfRecipient, .heldRecipients, .ungrantedRecipients, .secretRecipients, .failedAttempts"
        ),
        Limit(
            "author of a message", asks: "disk space for the content", pays: "the same number of bytes",
            bound: "no limit: content is read in chunks of 64 KiB and kept in unnamed files",
            "UnnamedFile"),
        Limit(
            "author of a message", asks: "guessing an authentication tag",
            pays: "a message for each attempt",
            bound: "a tag has at least \(number(CMSLimits.tag)) bytes", "CMSLimits.tag"),
        Limit(
            "user who passes a folder of messages", asks: "opening every file in it", pays: "one file each",
            bound: "\(number(MailLimits.files)) files, no subfolders", "MailLimits.files"),
    ]
}
