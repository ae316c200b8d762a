import OpenSSL
import SecureMail

extension Limit {
    /// Mails of S/MIME and messages of CMS, whose author is anybody.
    static let mails: [Limit] = [
        Limit(
            "author of a mail", asks: "memory and time for headers", pays: "as many bytes",
            bound: "\(size(MailLimits.headers)) for a mail, and for each part", "MailLimits.headers"),
        Limit(
            "author of a mail", asks: "encryptions and signatures inside one another",
            pays: "a fourth more bytes for each",
            bound: "\(number(MailLimits.layers - 1))", "MailLimits.layers"),
        Limit(
            "author of a mail", asks: "memory for recipients, certificates, signatures and attributes",
            pays: "as many bytes",
            bound: """
                \(size(CMSLimits.structure)) beside the content, and \(size(MailLimits.signature)) of Base64 where the \
                signature stands apart; \(number(CMSLimits.nesting)) levels
                """, "CMSLimits.structure, .nesting, MailLimits.signature"),
        Limit(
            "author of a mail", asks: "verification of signatures", pays: "some hundred bytes for each",
            bound: "\(number(CMSLimits.signers)), with keys that `KeyLoadingPolicy` allows",
            "CMSLimits.signers"),
        Limit(
            "author of a mail", asks: "room on the disk for the content", pays: "as many bytes",
            bound: "none: content is read in pieces of 64 KiB, and kept in files without a name",
            "UnnamedFile"),
        Limit(
            "author of a mail", asks: "a tag that can be guessed", pays: "as many tries",
            bound: "\(number(CMSLimits.tag)) bytes at least", "CMSLimits.tag"),
        Limit(
            "who names a folder of mails", asks: "opening of every file in it", pays: "a file each",
            bound: "\(number(MailLimits.files)) files, none in folders below", "MailLimits.files"),
    ]
}
