internal import SecretMemory
internal import Foundation
internal import KeySharing
package import NIOCore

extension ProviderReply {
    /// Decodes the reply in `frame`.
    ///
    /// The body of a password's frame still holds the password afterwards; the caller must overwrite it.
    ///
    /// - Throws: `malformed` for a type that is no reply, and for fields that end early, hold a forbidden value, or
    ///   are followed by more bytes.
    package init(_ frame: Frame) throws(ProviderFailure) {
        var reader = FieldReader(frame.body)
        switch Wire.MessageType(rawValue: frame.type) {
        case .welcome:
            self = .welcome(
                Welcome(
                    version: try reader.integer("the version"),
                    serverName: try reader.string("the server's name"),
                    services: try reader.strings("the services")))
            // A later version may add fields here; they are skipped.
            return
        case .page: self = .page(try reader.page())
        case .itemReply: self = .item(try reader.item())
        case .servicesReply: self = .services(try reader.strings("the services"))
        case .granted:
            let size = try reader.optional("the size") { (reader) throws(ProviderFailure) in
                try reader.size("the size")
            }
            self = .granted(size: size)
        case .chunk:
            let total = try reader.size("the size")
            self = .chunk(ContentChunk(total: total, bytes: Array(reader.rest().readableBytesView)[...]))
        case .password:
            let length = Int(try reader.integer("the password", as: UInt16.self))
            guard reader.remaining == length else {
                throw ProviderFailure(.malformed, "the password has not the length it claims")
            }
            self = .password(SecretBytes(reader.rest().readableBytesView))
        case .stopped: self = .stopped
        case .rows: self = .rows(try reader.page())
        case .chosen: self = .chosen(try reader.item())
        case .facts: self = .facts(try reader.factsPage())
        case .failure:
            let number = try reader.integer("the code", as: UInt16.self)
            let message = try reader.string("the message")
            // A code that a later version added still means that the request failed.
            self = .failure(ProviderFailure(.init(rawValue: number) ?? .internalError, message))
        default:
            throw ProviderFailure(.malformed, "there is no reply of type \(frame.type)")
        }
        try reader.end()
    }

    /// Appends the frame of this reply to `bytes`.
    ///
    /// - Parameters:
    ///   - id: The id of the request that the reply answers.
    ///   - bytes: The buffer that gets the frame.
    /// - Throws: `refused` where the reply does not fit a frame; nothing is appended then.
    package func encode(id: UInt32, into bytes: inout ByteBuffer) throws(ProviderFailure) {
        try Frame.append(messageType, requestID: id, to: &bytes, limit: Wire.replyLimit) {
            (bytes) throws(ProviderFailure) in
            switch self {
            case .welcome(let welcome):
                bytes.writeInteger(welcome.version)
                try bytes.writeField(welcome.serverName)
                try bytes.writeField(welcome.services)
            case .page(let page), .rows(let page): try bytes.write(page)
            case .item(let item), .chosen(let item): try bytes.write(item)
            case .services(let names): try bytes.writeField(names)
            case .granted(let size):
                try bytes.writeOptional(size) { (bytes, size) throws(ProviderFailure) in
                    bytes.writeInteger(UInt64(clamping: size))
                }
            case .chunk(let chunk):
                bytes.writeInteger(UInt64(clamping: chunk.total))
                bytes.writeBytes(chunk.bytes)
            case .password(let password):
                guard let length = UInt16(exactly: password.count) else {
                    throw ProviderFailure(.refused, "the password does not fit its field")
                }
                bytes.writeInteger(length)
                unsafe password.withUnsafeBytes { secret in
                    _ = unsafe bytes.writeBytes(secret)
                }
            case .stopped: break
            case .facts(let page): try bytes.write(page)
            case .failure(let failure):
                bytes.writeInteger(failure.code.rawValue)
                try bytes.writeField(String(failure.reason.prefix(512)))
            }
        }
    }

    /// The type of this reply's frame.
    package var messageType: Wire.MessageType {
        switch self {
        case .welcome: .welcome
        case .page: .page
        case .item: .itemReply
        case .services: .servicesReply
        case .granted: .granted
        case .chunk: .chunk
        case .password: .password
        case .stopped: .stopped
        case .rows: .rows
        case .chosen: .chosen
        case .facts: .facts
        case .failure: .failure
        }
    }
}

extension FieldReader {
    mutating func page() throws(ProviderFailure) -> ItemPage {
        let items = try list("the items", smallest: 18) { (reader) throws(ProviderFailure) in
            try reader.item()
        }
        return ItemPage(items: items, nextCursor: try cursor())
    }

    mutating func item() throws(ProviderFailure) -> Item {
        Item(
            identifier: try string("the identifier"), filename: try string("the file name"),
            kind: try kind(), contentType: try string("the content type"), parent: try string("the parent"),
            size: try optional("the size") { (reader) throws(ProviderFailure) in try reader.size("the size")
            },
            created: try date("the date"))
    }

    private mutating func kind() throws(ProviderFailure) -> Item.Kind {
        switch try integer("the kind", as: UInt8.self) {
        case 1: return .pkcs12
        case 2: return .folder
        case 3: return .zip
        case let other: throw ProviderFailure(.malformed, "there is no kind \(other) of item")
        }
    }

    mutating func factsPage() throws(ProviderFailure) -> IdentityFactsPage {
        let facts = try list("the identities", smallest: 14) { (reader) throws(ProviderFailure) in
            try reader.facts()
        }
        return IdentityFactsPage(facts: facts, nextCursor: try cursor())
    }

    private mutating func facts() throws(ProviderFailure) -> IdentitySummary {
        let label = try string("the label")
        let serialNumber = try string("the serial number")
        let notBefore = try date("the date")
        let keyUsage = try optional("the key usage") { (reader) throws(ProviderFailure) in
            try reader.integer("the key usage", as: UInt16.self)
        }
        let traits = FactTraits(rawValue: try integer("the traits"))
        guard FactTraits.all.isSuperset(of: traits) else {
            throw ProviderFailure(.malformed, "an identity has a trait that is not known")
        }
        return IdentitySummary(
            label: label, serialNumber: serialNumber, notBefore: notBefore,
            facts: CertificateFacts(
                keyUsage: keyUsage.map(KeyUsage.init(rawValue:)),
                isEllipticCurve: traits.contains(.ellipticCurve), hasRFC822Name: traits.contains(.rfc822Name),
                hasUTF8OtherName: traits.contains(.utf8OtherName),
                hasOtherOtherName: traits.contains(.otherOtherName)))
    }
}

extension ByteBuffer {
    fileprivate mutating func write(_ page: ItemPage) throws(ProviderFailure) {
        try writeList(page.items) { (bytes, item) throws(ProviderFailure) in try bytes.write(item) }
        try writeCursor(page.nextCursor)
    }

    fileprivate mutating func write(_ item: Item) throws(ProviderFailure) {
        try writeField(item.identifier)
        try writeField(item.filename)
        let kind: UInt8 =
            switch item.kind {
            case .pkcs12: 1
            case .folder: 2
            case .zip: 3
            }
        writeInteger(kind)
        try writeField(item.contentType)
        try writeField(item.parent)
        try writeOptional(item.size) { (bytes, size) throws(ProviderFailure) in
            bytes.writeInteger(UInt64(clamping: size))
        }
        writeField(item.created)
    }

    fileprivate mutating func write(_ page: IdentityFactsPage) throws(ProviderFailure) {
        try writeList(page.facts) { (bytes, identity) throws(ProviderFailure) in
            let facts = identity.facts
            try bytes.writeField(identity.label)
            try bytes.writeField(identity.serialNumber)
            bytes.writeField(identity.notBefore)
            try bytes.writeOptional(facts.keyUsage?.rawValue) { (bytes, bits) throws(ProviderFailure) in
                bytes.writeInteger(bits)
            }
            var traits: FactTraits = []
            if facts.isEllipticCurve { traits.insert(.ellipticCurve) }
            if facts.hasRFC822Name { traits.insert(.rfc822Name) }
            if facts.hasUTF8OtherName { traits.insert(.utf8OtherName) }
            if facts.hasOtherOtherName { traits.insert(.otherOtherName) }
            bytes.writeInteger(traits.rawValue)
        }
        try writeCursor(page.nextCursor)
    }
}

/// The yes-or-no facts about an identity, as the bits of one byte.
private struct FactTraits: OptionSet {
    let rawValue: UInt8

    static let ellipticCurve = FactTraits(rawValue: 1 << 0)
    static let rfc822Name = FactTraits(rawValue: 1 << 1)
    static let utf8OtherName = FactTraits(rawValue: 1 << 2)
    static let otherOtherName = FactTraits(rawValue: 1 << 3)
    static let all: FactTraits = [.ellipticCurve, .rfc822Name, .utf8OtherName, .otherOtherName]
}
