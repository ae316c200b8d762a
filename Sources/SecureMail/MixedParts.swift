internal import OpenSSL
internal import PrivateFiles

/// A part of a multipart/mixed message, other than the part that was opened.
package struct MessagePart: Sendable, Hashable {
    /// The part's number, preceded by the numbers of the parts that contain it, such as `2` or `1.2` (RFC 9051, 6.4.5).
    package let path: String
    /// The media type in lower case, such as `text/plain`.
    package let type: String
    /// Whether this part is also an S/MIME message. Only the first S/MIME part of the message is opened.
    package let isMessage: Bool
}

/// Finds the S/MIME part of a multipart/mixed message. Mailing lists and gateways create such messages to add footers
/// and banners.
///
/// Each part is copied to a file of its own, so parts are never concatenated. A malformed part does not prevent another
/// part from being opened.
struct MixedParts {
    /// Opens the outermost layer of a part.
    typealias Opening = (MessageForm) throws -> MessageOpener.OpenedLayer

    /// The path and the outermost layer of the first S/MIME part that could be opened; nil if none could.
    private(set) var message: (path: String, layer: MessageOpener.OpenedLayer)?
    /// The other parts, in order.
    private(set) var others: [MessagePart] = []
    /// The limit that kept a part from being examined, as a message; nil if every part was examined.
    private(set) var limit: String?
    /// The error of the first part that its headers declare as S/MIME but that cannot be read as S/MIME.
    private(set) var failure: (any Error)?
    private let scratch: String
    private let opening: Opening
    private var count = 0

    /// Searches a message.
    ///
    /// - Parameters:
    ///   - reader: A reader whose next byte is the first one after the headers.
    ///   - boundary: The boundary between the parts.
    ///   - scratch: A folder for temporary files without a name.
    ///   - opening: Opens an S/MIME part. If it throws an error that ``isUnreadable(_:)`` accepts, the search continues.
    /// - Throws: `FileError`; any other error of `opening`.
    init(
        _ reader: LineReader, _ boundary: String, scratch: String, opening: @escaping Opening
    ) throws {
        self.scratch = scratch
        self.opening = opening
        try search(reader, boundary, inside: "", level: 1)
    }

    /// Whether an error means that a part cannot be read as S/MIME. An altered part, an invalid signature and a missing
    /// key are different errors, because another part must not replace the message that the sender protected.
    private static func isUnreadable(_ error: any Error) -> Bool {
        guard let error = error as? CMSError else { return error is CertificateError }
        return switch error.code {
        case .malformed, .unsupported, .overLimit: true
        default: false
        }
    }

    private mutating func search(
        _ reader: LineReader, _ boundary: String, inside prefix: String, level: Int
    ) throws {
        var parts = try PartReader(reader, boundary, scratch: scratch)
        var number = 0
        while parts.hasNext {
            guard count < MailLimits.parts else {
                limit = "the message has more than \(MailLimits.parts) parts"
                return
            }
            number += 1
            count += 1
            let file = try parts.next()
            let path = prefix + "\(number)"
            // The form reads from the file, so the file must remain open.
            try withExtendedLifetime(file) { try examine(file, path, level: level) }
        }
    }

    private mutating func examine(_ file: UnnamedFile, _ path: String, level: Int) throws {
        let form = try MessageForm(file.descriptor, as: .part)
        var isMessage = false
        switch form.kind {
        case .mixed(let inner, let boundary):
            if level < MailLimits.partLevels {
                return try search(inner, boundary, inside: path + ".", level: level + 1)
            }
            limit = limit ?? "the message has more than \(MailLimits.partLevels) levels of multipart/mixed"
        case .cms, .signed:
            isMessage = message != nil
            if !isMessage, try open(form, path) { return }
        case .signedWithoutBoundary: if message == nil, try open(form, path) { return }
        case .plain, .multipart, .message: break
        }
        others.append(MessagePart(path: path, type: form.type, isMessage: isMessage))
    }

    /// Tries to open a part as the S/MIME message. Returns false if the part cannot be read as S/MIME.
    private mutating func open(_ form: MessageForm, _ path: String) throws -> Bool {
        do {
            message = (path, try opening(form))
            return true
        } catch  where Self.isUnreadable(error) {
            failure = failure ?? error
            return false
        }
    }
}
