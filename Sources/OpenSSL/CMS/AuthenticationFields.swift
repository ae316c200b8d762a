internal import SwiftASN1

/// The fields of AuthEnvelopedData that authenticate the content (RFC 5083, 2.1).
struct AuthenticationFields: Sendable {
    /// Whether the message has authenticated attributes (authAttrs).
    var hasAttributes = false
    /// Whether the message has unauthenticated attributes (unauthAttrs).
    var hasUnauthenticatedAttributes = false
    /// The length of the tag (mac) in bytes; nil if the message has none.
    var tagLength: Int?
    /// The parameters of the cipher in BER; empty if there are none.
    var parameters: [UInt8] = []

    /// The length of a tag, in bytes, if the parameters omit it (aes-ICVlen, RFC 5084, 3.2).
    private static let defaultTagLength = 12
    /// The length of the only nonce that OpenSSL 3.0 accepts in messages, in bytes.
    private static let nonceLength = 12

    /// Checks that OpenSSL 3.0 can open a message with these fields, whose cipher is AES-GCM.
    ///
    /// OpenSSL accepts tags of other lengths than the parameters specify, so an attacker could shorten a tag to guess it. It
    /// requires the optional length in the parameters, and a nonce of the recommended length.
    ///
    /// - Parameter oid: The cipher, as a dotted object identifier.
    /// - Throws: `CMSError`: `.malformed` if tag and parameters do not fit, `.unsupported` for fields that OpenSSL 3.0 does
    ///   not implement.
    func check(oid: String) throws(CMSError) {
        guard !hasAttributes else {
            throw CMSError(
                .unsupported(oid: OID.authEnvelopedData),
                "the message has authenticated attributes (RFC 5083, 2.2), which OpenSSL 3.0 does not implement"
            )
        }
        guard let (nonce, specified) = gcmParameters else {
            throw CMSError(.malformed, "the parameters of AES-GCM in the message cannot be read")
        }
        let expected = specified ?? Self.defaultTagLength
        if let tagLength, tagLength != expected {
            throw CMSError(
                .malformed,
                "the authentication tag of the message has \(tagLength) bytes instead of \(expected) (RFC 5084, 3.2)"
            )
        }
        guard specified != nil else {
            throw CMSError(
                .unsupported(oid: oid),
                "the parameters of AES-GCM omit the length of the tag, which OpenSSL 3.0 does not implement for messages"
            )
        }
        guard nonce == Self.nonceLength else {
            throw CMSError(
                .unsupported(oid: oid),
                "the nonce of AES-GCM has \(nonce) bytes, and OpenSSL 3.0 implements only \(Self.nonceLength) for messages"
            )
        }
    }

    /// The lengths of nonce and tag in GCMParameters (RFC 5084, 3.2), in bytes; the latter is nil if it is omitted. Nil if
    /// the parameters cannot be read.
    private var gcmParameters: (nonce: Int, tag: Int?)? {
        let place = "the cipher"
        guard let root = try? ASN1Node.parse(parameters[...], at: place),
            var fields = try? root.children(at: place), let first = fields.next(),
            let nonce = try? first.octets(at: place)
        else { return nil }
        guard let second = fields.next() else { return (nonce.count, nil) }
        guard let length = try? second.integer(at: place), fields.next() == nil else { return nil }
        return (nonce.count, length)
    }
}
