internal import Glibc
package import OpenSSL
package import PrivateFiles
package import SecretMemory

/// All S/MIME parts of a message, opened independently of one another, and the parts that are not S/MIME.
///
/// A part is named by its path: the number of the part, preceded by the numbers of the parts that contain it (RFC
/// 9051, 6.4.5). The numbers continue inside S/MIME parts and messages: the first part of the content of part `2` is
/// `2.1`. The path of a file that is an S/MIME message as a whole is nil.
package struct MessageContents: Sendable {
    /// An S/MIME part.
    package struct ProtectedPart: Sendable {
        /// The path of the part; nil if the whole file is the S/MIME message.
        package let path: String?
        /// The media type in lower case.
        package let type: String
        /// The header of the message that directly contains the part: the file's, or that of a forwarded message. Nil
        /// for a bare CMS message.
        package let header: MailHeader?
        /// Whether the part belongs to a message inside the file's message, such as a forwarded one.
        package let isForwarded: Bool
        /// The index of the S/MIME part that contains this one, in ``MessageContents/parts``; nil if there is none.
        package let container: Int?
        /// The numbers of the multipart/alternative, multipart/related and similar entities around the part.
        package let choices: [Int]
        /// The parameters of the part's Content-Type, keyed by name in lower case; empty for a bare CMS message.
        package let parameters: [String: String]
        /// The CMS structures without their content, outermost first, including the one that could not be opened.
        package fileprivate(set) var structures: [CMSStructure] = []
        /// The encryptions and signatures that were removed, outermost first.
        package fileprivate(set) var layers: [MessageProtection] = []
        /// The reason why the next layer could not be opened. For a part that does not belong to the message itself, also the
        /// reason why some programs could find another S/MIME message in it. Nil if there is none.
        package fileprivate(set) var failure: (any Error)?
        /// The protected header fields; nil if no header fields are protected.
        package fileprivate(set) var headerProtection: HeaderProtection?
        /// The content, usually a MIME entity; nil if it was not opened, or was not kept.
        package fileprivate(set) var content: UnnamedFile?
        /// The SHA-256 of the content; nil if a layer could not be opened.
        package fileprivate(set) var sha256: [UInt8]?

        /// Whether the part is a CMS structure with certificates and nothing else.
        package fileprivate(set) var isCertificateList = false

        /// Whether the part is encrypted, even if it could not be decrypted.
        package var isEncrypted: Bool { structures.contains { $0.kind != .signedData } }

        /// Whether the part could be encrypted, or contain an encrypted part: a layer could not be read at all, or it is a
        /// signature whose content was not read.
        package var isUnread: Bool {
            failure != nil && sha256 == nil && !isCertificateList
                && (structures.count == layers.count || structures.last?.kind == .signedData)
        }
    }

    /// A part that is neither S/MIME nor a container of other parts, such as text or an attachment.
    package struct ContentPart: Sendable, Hashable {
        /// The path of the part.
        package let path: String
        /// The media type in lower case.
        package let type: String
        /// Whether mail programs could determine different media types, because the header is malformed or ambiguous.
        package let hasAmbiguousType: Bool
        /// Whether no mail program loads remote content for the part: plain text and signatures.
        package let isInert: Bool
        /// Whether the part could contain an S/MIME message that was not read, for example because its header or its
        /// boundary is ambiguous.
        package let isUnread: Bool
        /// The numbers of the multipart/alternative, multipart/related and similar entities around the part. Mail programs
        /// show only one part of such an entity, or one as the frame of the others.
        package let choices: [Int]
        /// The index of the innermost S/MIME part that contains this one, in ``MessageContents/parts``; nil for a part
        /// that nothing protects.
        package let container: Int?
        /// Whether the text repeats protected header fields for older mail programs (`hp-legacy-display`, RFC 9788,
        /// 2.1.2).
        package let hasLegacyDisplay: Bool
    }

    /// The header of the file; nil for a bare CMS message.
    package let header: MailHeader?
    /// The S/MIME parts, in the order in which they begin in the file. A part precedes those that it contains.
    package let parts: [ProtectedPart]
    /// The other parts, in order.
    package let contents: [ContentPart]
    /// The limit that kept a part from being examined, as a sentence without a full stop; nil if every part was
    /// examined.
    package let limit: String?
    /// The reason why some programs could find other header fields, parts or layers in the message itself, as a sentence
    /// without a full stop; nil if there is none.
    package let ambiguity: String?

    /// The parts that nothing protects, in order.
    package var unprotected: [ContentPart] { contents.filter { $0.container == nil } }

    /// The first part that a mail program could combine with the text of an encrypted part: a part that is outside that
    /// encrypted part and not inert. Nil if there is none.
    ///
    /// A signature or another encryption around both parts changes nothing, because anyone can sign and encrypt another
    /// person's encrypted message.
    package var exposure: (part: ContentPart, encrypted: ProtectedPart)? {
        let encrypted = parts.indices.filter { parts[$0].isEncrypted }
        for part in contents where !part.isInert {
            var containers: Set<Int> = []
            var container = part.container
            while let index = container {
                containers.insert(index)
                container = parts[index].container
            }
            if let other = encrypted.first(where: { !containers.contains($0) }) {
                return (part, parts[other])
            }
        }
        return nil
    }
}

/// Reads all S/MIME parts of messages (RFC 8551): the message itself, parts of multipart messages, and messages inside
/// messages, in every combination.
package struct MessageReader {
    private let scratch: String
    private let opener: LayerOpener
    private let keepsContent: Bool

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - scratch: A folder for temporary files without a name.
    ///   - keepsContent: Whether the content of each part remains available. It uses a file descriptor for each part.
    ///   - certificates: Further certificates, among which signers are looked up if a message does not contain theirs.
    ///   - securityLevel: The security level that signatures must reach.
    ///   - secret: A password, or the hexadecimal digits of a shared key, for recipients without a private key.
    ///   - keys: Looks up the certificate and the key of a recipient.
    package init(
        scratch: String, keepsContent: Bool = false, certificates: [Certificate] = [],
        securityLevel: Int = CMSSignature.securityLevel, secret: SecretBytes? = nil,
        keys: @escaping MessageOpener.Keys
    ) {
        self.scratch = scratch
        self.keepsContent = keepsContent
        opener = LayerOpener(
            scratch: scratch, keys: keys, certificates: certificates, isStrict: true,
            securityLevel: securityLevel, secret: secret)
    }

    /// Reads a message. A part that cannot be opened does not prevent others from being opened.
    ///
    /// - Parameter descriptor: An open file, which must be seekable.
    /// - Throws: `CMSError.Code.noMessage` if the file is neither a message nor CMS, and the errors of damaged headers;
    ///   `FileError`; any error that the lookup of keys throws, if it is neither `CMSError` nor `CertificateError`.
    package func read(_ descriptor: CInt) throws -> MessageContents {
        let size = Int(lseek(descriptor, 0, SEEK_END))
        let form = try MessageForm(descriptor, as: .file)
        var opener = opener
        opener.work = OpeningWork()
        var walk = MessageWalk(
            scratch: scratch, opener: opener, keepsContent: keepsContent,
            mostBytes: MailLimits.copies * size)
        walk.noteAmbiguity(of: form, .init(path: nil, header: form.header))
        switch form.kind {
        case .cms, .signed, .signedWithoutBoundary:
            try walk.open(form, .init(path: nil, header: form.header))
        default:
            guard form.header != nil else {
                throw CMSError(.noMessage, "this is neither an e-mail message nor a CMS message")
            }
            try walk.visitBody(form, .init(path: nil, header: form.header))
        }
        return MessageContents(
            header: form.header, parts: walk.parts, contents: walk.contents, limit: walk.limit,
            ambiguity: walk.ambiguity)
    }
}

/// The state of ``MessageReader/read(_:)``.
private struct MessageWalk {
    /// The position of an entity in the message.
    struct Place {
        var path: String?
        var header: MailHeader?
        var isForwarded = false
        var container: Int?
        var level = 0
        /// The numbers of the entities around the entity whose type is one of ``choiceTypes``.
        var choices: [Int] = []
        /// The boundaries of the multipart entities around the entity.
        var boundaries: [String] = []

        /// Whether the entity is part of the file's message itself, and not protected.
        var isOwn: Bool { !isForwarded && container == nil }

        func child(_ number: Int) -> Place {
            var child = self
            child.path = (path.map { $0 + "." } ?? "") + "\(number)"
            child.level += 1
            return child
        }
    }

    let scratch: String
    let opener: LayerOpener
    let keepsContent: Bool
    private(set) var parts: [MessageContents.ProtectedPart] = []
    private(set) var contents: [MessageContents.ContentPart] = []
    private(set) var limit: String?
    private(set) var ambiguity: String?
    private var count = 0
    private var choices = 0
    private var signatures = 0
    /// The number of bytes that further parts and the content of layers may have.
    private var remainingBytes: Int

    init(scratch: String, opener: LayerOpener, keepsContent: Bool, mostBytes: Int) {
        self.scratch = scratch
        self.opener = opener
        self.keepsContent = keepsContent
        remainingBytes = mostBytes
    }

    private static let tooLarge =
        "all parts and layers of the message together are larger than \(MailLimits.copies) times its size"

    /// Counts the bytes of a part, or of the content of a layer. Returns false if all of them together exceed the limit.
    private mutating func allows(_ file: UnnamedFile) -> Bool {
        remainingBytes -= Int(lseek(file.descriptor, 0, SEEK_END))
        if remainingBytes < 0 {
            limit = limit ?? Self.tooLarge
        }
        return remainingBytes >= 0
    }

    /// Visits the body of a message, or the content of an S/MIME part. A body that is not multipart is numbered part 1.
    mutating func visitBody(_ form: MessageForm, _ place: Place) throws {
        switch form.kind {
        case .mixed(let reader, let boundary), .multipart(let reader, let boundary):
            if form.hidesMessage { note(form, place) }
            try visitParts(reader, boundary, form, place)
        default: try visit(form, place.child(1))
        }
    }

    private mutating func visit(_ form: MessageForm, _ place: Place) throws {
        if case .plain = form.kind { return note(form, place) }
        if form.hidesMessage { note(form, place) }
        noteAmbiguity(of: form, place)
        guard place.level <= MailLimits.messageLevels else {
            limit = limit ?? "the message has more than \(MailLimits.messageLevels) levels of parts"
            return note(form, place)
        }
        switch form.kind {
        case .cms, .signed, .signedWithoutBoundary: try open(form, place)
        case .mixed(let reader, let boundary), .multipart(let reader, let boundary):
            try visitParts(reader, boundary, form, place)
        case .message(let source): try visitMessage(source, form, place)
        case .plain: note(form, place)
        }
    }

    /// Notes that some programs could find other parts because of the header of a message, multipart or S/MIME part.
    /// Forwarded messages and the content of S/MIME parts do not affect the message itself.
    mutating func noteAmbiguity(of form: MessageForm, _ place: Place) {
        guard place.isOwn else { return }
        let owner = place.path.map { "part \($0)" } ?? "the message"
        ambiguity = ambiguity ?? form.ambiguity(of: owner)
        if place.path == nil, form.isUndivided {
            ambiguity = ambiguity ?? "the Content-Type of the message is ambiguous"
        }
    }

    /// Adds a part to ``contents``.
    ///
    /// - Parameter isRead: Whether the parts were read that an entity of its type contains.
    private mutating func note(_ form: MessageForm, _ place: Place, isRead: Bool = false) {
        limit = limit ?? form.limit
        contents.append(
            MessageContents.ContentPart(
                path: place.path ?? "1", type: form.type, hasAmbiguousType: form.isAmbiguous,
                isInert: form.isInert, isUnread: form.isContainer && !isRead || form.hidesMessage,
                choices: place.choices, container: place.container,
                hasLegacyDisplay: form.header?.contentType?.parameters["hp-legacy-display"] == "1"))
    }

    /// Programs show only one part of an entity with one of these types, or one as the frame of the others. For example,
    /// Evolution shows only the second part of multipart/appledouble (RFC 1740). They show all parts of an unknown type (RFC
    /// 2046, 5.1.7).
    private static let choiceTypes: Set<String> = [
        "multipart/alternative", "multipart/related", "multipart/signed", "multipart/encrypted",
        "multipart/appledouble", "multipart/header-set", "multipart/multilingual",
        "multipart/x-mixed-replace",
    ]

    private mutating func visitParts(
        _ reader: LineReader, _ boundary: String, _ form: MessageForm, _ place: Place
    ) throws {
        var bodies = try PartReader(reader, boundary, scratch: scratch)
        var number = 0
        var place = place
        let overlaps = noteBoundary(boundary, in: &place)
        let isDigest = form.type == "multipart/digest"
        // Other programs could read an ambiguous type as a choice.
        if Self.choiceTypes.contains(form.type) || form.isAmbiguous {
            choices += 1
            place.choices.append(choices)
        }
        while bodies.hasNext {
            guard count < MailLimits.parts else {
                limit = limit ?? "the message has more than \(MailLimits.parts) parts"
                return
            }
            number += 1
            count += 1
            let file = try bodies.next()
            guard allows(file) else { return note(form, place) }
            // The form reads from the file, so the file must remain open.
            try withExtendedLifetime(file) {
                try visit(
                    try MessageForm(file.descriptor, as: isDigest ? .digestPart : .part), place.child(number))
            }
        }
        if let finding = bodies.ambiguity, place.isOwn {
            ambiguity = ambiguity ?? "the message contains \(finding)"
        }
        let isRead = bodies.ambiguity == nil && !overlaps
        if number == 0 || !isRead { note(form, place, isRead: isRead) }
    }

    /// Adds a boundary to those around an entity. Returns whether one of these begins with it: some programs compare only
    /// the beginning of lines, and first with the innermost boundary, so they find other parts.
    private mutating func noteBoundary(_ boundary: String, in place: inout Place) -> Bool {
        let overlaps = place.boundaries.contains { $0.hasPrefix(boundary) }
        place.boundaries.append(boundary)
        if overlaps, place.isOwn {
            ambiguity = ambiguity ?? "the message contains two boundaries that begin in the same way"
        }
        return overlaps
    }

    private mutating func visitMessage(
        _ source: any ByteSource, _ form: MessageForm, _ place: Place
    ) throws {
        let file = try UnnamedFile(in: scratch)
        guard let inner = try message(source, in: file) else { return note(form, place) }
        if inner.isHeaderOnly { return note(inner, place.child(1), isRead: true) }
        try withExtendedLifetime(file) {
            var place = place
            place.header = inner.header
            place.isForwarded = true
            try visitBody(inner, place)
        }
    }

    /// Copies a message to `file` and returns its form; nil if it cannot be decoded, or is above the limit.
    private mutating func message(_ source: any ByteSource, in file: UnnamedFile) throws -> MessageForm? {
        var source = source
        do {
            while true {
                let bytes = try source.next()
                if bytes.isEmpty { break }
                try file.write(bytes)
            }
        } catch is CMSError {
            return nil
        }
        return allows(file) ? try MessageForm(file.descriptor, as: .message) : nil
    }

    // MARK: - S/MIME parts

    /// Opens all layers of an S/MIME part, and visits its content.
    mutating func open(_ form: MessageForm, _ place: Place) throws {
        let index = parts.count
        parts.append(
            MessageContents.ProtectedPart(
                path: place.path, type: form.type, header: place.header, isForwarded: place.isForwarded,
                container: place.container, choices: place.choices,
                parameters: form.header?.contentType?.parameters ?? [:]))
        var inner = place
        switch form.kind {
        case .signed(_, let boundary): _ = noteBoundary(boundary, in: &inner)
        default: inner.boundaries = []
        }
        guard let content = try openLayers(form, place, into: index) else { return }
        let digest = try content.sha256()
        parts[index].sha256 = digest
        if keepsContent { parts[index].content = content }
        let isEncrypted = parts[index].isEncrypted
        try withExtendedLifetime(content) {
            let payload = try MessageForm(content.descriptor, as: .part)
            inner.container = index
            if case .message(let source) = payload.kind, payload.isWrapper {
                // If the protected part is a whole message, its header fields are protected (RFC 8551, 3.1).
                let file = try UnnamedFile(in: scratch)
                if let wrapped = try message(source, in: file), let header = wrapped.header {
                    return try withExtendedLifetime(file) {
                        parts[index].headerProtection = HeaderProtection(
                            payload: payload.header, wrapped: header, outer: place.header,
                            isEncrypted: isEncrypted)
                        inner.header = header
                        try visitBody(wrapped, inner)
                    }
                }
                return note(payload, inner.child(1))
            }
            parts[index].headerProtection = HeaderProtection(
                payload: payload.header, wrapped: nil, outer: place.header, isEncrypted: isEncrypted)
            try visitBody(payload, inner)
        }
    }

    /// Removes all layers of a part, and returns the content. Returns nil if a layer cannot be opened, and then records
    /// the reason.
    private mutating func openLayers(
        _ form: MessageForm, _ place: Place, into index: Int
    ) throws -> UnnamedFile? {
        noteAmbiguity(ofLayer: form, place, into: index)
        var form = form
        let opener = opener
        // Keeps the file open that the form reads.
        var content: UnnamedFile?
        do {
            while true {
                guard signatures < MailLimits.signatures else {
                    throw CMSError(
                        .overLimit,
                        "the message has more than \(MailLimits.signatures) signatures in its parts")
                }
                let (layer, inner) = try withExtendedLifetime(content) {
                    try opener.open(form) { parts[index].structures.append($0) }
                }
                parts[index].layers.append(layer)
                if case .signed(let reports, _, _) = layer { signatures += reports.count }
                guard parts[index].layers.count < MailLimits.layers else {
                    throw CMSError(
                        .overLimit,
                        "the message has more than \(MailLimits.layers - 1) nested encryptions and signatures"
                    )
                }
                guard allows(inner) else { throw CMSError(.overLimit, Self.tooLarge) }
                content = inner
                form = try MessageForm(inner.descriptor, as: .part)
                switch form.kind {
                case .cms, .signed, .signedWithoutBoundary:
                    noteAmbiguity(ofLayer: form, place, into: index)
                case .plain, .mixed, .multipart, .message: return inner
                }
            }
        } catch let error as CMSError {
            parts[index].failure = error
            // Such a list can also take the place of a signature. The signed part is then not read.
            if case .cms = form.kind, let last = parts[index].structures.last {
                parts[index].isCertificateList = last.isCertificateList
            }
        } catch let error as CertificateError {
            parts[index].failure = error
        }
        return nil
    }

    /// Notes that some programs could find another S/MIME message because of the header of a part or of its content. If
    /// the part does not belong to the message itself, only the part is affected.
    private mutating func noteAmbiguity(ofLayer form: MessageForm, _ place: Place, into index: Int) {
        let part = place.path.map { "part \($0)" } ?? "the message"
        let isContent = !parts[index].layers.isEmpty
        guard let finding = form.ambiguity(of: isContent ? "the content of \(part)" : part) else { return }
        if place.isOwn {
            ambiguity = ambiguity ?? finding
        } else {
            parts[index].failure = parts[index].failure ?? CMSError(.malformed, finding)
        }
    }
}
