internal import OpenSSL
internal import PrivateFiles

/// A part of a multipart/mixed message, outside the part that was opened.
package struct MessagePart: Sendable, Hashable {
    /// The numbers of the part and of the parts around it, such as `2` or `1.2` (RFC 9051, 6.4.5).
    package let path: String
    /// The media type in lower case, such as `text/plain`.
    package let type: String
    /// Whether the part is another S/MIME message, which was not opened.
    package let isMessage: Bool
}

/// Finds the S/MIME part of a multipart/mixed message, to which mailing lists and gateways add footers and banners.
///
/// Each part is copied to a file of its own, so parts are never concatenated.
struct MixedParts {
    /// The first S/MIME part; nil if there is none.
    private(set) var message: (path: String, file: UnnamedFile)?
    /// The other parts, in order.
    private(set) var others: [MessagePart] = []
    private var count = 0

    /// Searches a message.
    ///
    /// - Parameters:
    ///   - reader: A reader whose next byte is the first one after the headers.
    ///   - boundary: The boundary between the parts.
    ///   - scratch: A folder for temporary files without a name.
    /// - Throws: `CMSError.Code.overLimit` for more parts than `MailLimits` allows; `CMSError.Code.malformed` for an
    ///   S/MIME part whose headers are malformed; `FileError`.
    init(_ reader: LineReader, _ boundary: String, scratch: String) throws {
        try search(reader, boundary, inside: "", level: 1, scratch)
    }

    private mutating func search(
        _ start: LineReader, _ boundary: String, inside prefix: String, level: Int, _ scratch: String
    ) throws {
        guard level <= MailLimits.partLevels else {
            throw CMSError(
                .overLimit, "the message has more than \(MailLimits.partLevels) levels of multipart/mixed")
        }
        var reader = start
        let delimiter = PartDelimiter(boundary)
        var delimited = try reader.skip(past: delimiter)
        var number = 0
        while delimited == .next {
            number += 1
            count += 1
            guard count <= MailLimits.parts else {
                throw CMSError(.overLimit, "the message has more than \(MailLimits.parts) parts")
            }
            let file = try UnnamedFile(in: scratch)
            delimited = try reader.copyPart(until: delimiter, to: file, isCanonical: false)
            let path = prefix + "\(number)"
            let form = try MessageForm(file.descriptor, isOuter: false)
            switch form.kind {
            case .mixed(let inner, let boundary):
                try withExtendedLifetime(file) {
                    try search(inner, boundary, inside: path + ".", level: level + 1, scratch)
                }
            case .cms, .signed:
                if message == nil {
                    message = (path, file)
                } else {
                    others.append(MessagePart(path: path, type: form.type, isMessage: true))
                }
            case .plain: others.append(MessagePart(path: path, type: form.type, isMessage: false))
            }
        }
    }
}

extension MessageForm {
    /// The media type; text/plain by default (RFC 2045, 5.2).
    fileprivate var type: String { header?.contentType?.name ?? "text/plain" }
}
