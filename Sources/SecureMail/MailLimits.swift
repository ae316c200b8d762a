/// The bounds of what is read of a mail.
package enum MailLimits {
    /// The greatest size in bytes of a mail's headers, and of those of a part.
    package static let headers = 256 << 10
    /// The greatest number of encryptions and signatures inside one another.
    package static let layers = 8
    /// The greatest length in bytes of a boundary between parts. RFC 2046, 5.1.1, allows 70.
    package static let boundary = 200
    /// The greatest size in bytes of a signature beside its content, in Base64.
    package static let signature = 8 << 20
    /// The greatest number of files of a folder that are looked into.
    package static let files = 100_000
}
