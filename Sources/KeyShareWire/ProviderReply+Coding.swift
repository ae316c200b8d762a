internal import Foundation
package import KeyShareProtocol
internal import KeySharing
package import SecretMemory
package import NIOCore

extension ProviderReply {
    /// Decodes the reply in `frame`.
    ///
    /// If the reply has a `secret`, the body of the frame still contains it afterwards. The caller must overwrite it.
    ///
    /// - Throws: `malformed` if the type is not a reply type, if a field ends early or contains a forbidden value, or
    ///   if bytes follow the last field.
    package init(_ frame: Frame) throws(ProviderFailure) {
        var reader = FieldReader(frame.body)
        switch Wire.MessageType(rawValue: frame.type) {
        case .welcome:
            var welcome = Welcome(
                version: try reader.integer("the version"),
                serverName: try reader.string("the server's name"),
                services: try reader.strings("the services"))
            if welcome.version >= 2 {
                welcome.requestLimit = Int(try reader.integer("the longest request", as: UInt32.self))
                welcome.features = try reader.strings("the features")
            }
            self = .welcome(welcome)
            // Skip the fields that a later version may add.
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
                throw ProviderFailure(.malformed, "the password does not have the announced length")
            }
            self = .password(SecretBytes(reader.rest().readableBytesView))
        case .stopped: self = .stopped
        case .rows: self = .rows(try reader.page())
        case .chosen: self = .chosen(try reader.item())
        case .facts: self = .facts(try reader.factsPage(areDetailed: false))
        case .identitiesReply: self = .identities(try reader.factsPage(areDetailed: true))
        case .statisticsReply:
            self = .statistics(
                try reader.list("the figures", smallest: 10) { (reader) throws(ProviderFailure) in
                    ProviderFigure(
                        try reader.string("the figure's name"), try reader.integer("the figure"))
                })
        case .eventsReply: self = .events(try reader.eventPage())
        case .failure:
            let number = try reader.integer("the code", as: UInt16.self)
            let message = try reader.string("the message")
            if number == Wire.tokenFailureCode {
                self = .tokenFailure(try reader.tokenError(message))
                break
            }
            // An unknown code comes from a later version and still means that the request failed.
            self = .failure(ProviderFailure(.init(rawValue: number) ?? .internalError, message))
        default: self = try Self.tokenReply(frame, &reader)
        }
        try reader.end()
    }

    /// Decodes a reply of the token.
    private static func tokenReply(
        _ frame: Frame, _ reader: inout FieldReader
    ) throws(ProviderFailure) -> ProviderReply {
        switch Wire.MessageType(rawValue: frame.type) {
        case .tokensReply: return .tokens(try reader.tokenPage())
        case .used: return .used(SecretBytes(reader.rest().readableBytesView))
        case .useBegun: return .useBegun(handle: try reader.integer("the handle"))
        case .useUpdated: return .useUpdated(total: try reader.integer("the number of bytes"))
        case .useEnded: return .useEnded(SecretBytes(reader.rest().readableBytesView))
        case .useCanceled: return .useCanceled
        case .tokenStatusReply: return .tokenStatus(try reader.tokenStatus())
        case .tokenObjectsReply: return .tokenObjects(try reader.tokenObjectPage())
        case .tokenLoginReply: return .tokenLogin(try reader.tokenLoginState())
        case .aliasQueryReply: return .aliases(try reader.aliasPage())
        case .aliasChooseReply: return .aliasChosen(try reader.aliasChoice())
        default: throw ProviderFailure(.malformed, "unknown reply type \(frame.typeName)")
        }
    }

    /// Appends the frame of this reply to `bytes`.
    ///
    /// - Parameters:
    ///   - id: The ID of the request that the reply answers.
    ///   - bytes: The buffer to append to.
    /// - Throws: `refused` if the reply does not fit in a frame. Nothing is appended in that case.
    package func encode(id: UInt32, into bytes: inout ByteBuffer) throws(ProviderFailure) {
        try Frame.append(messageType, requestID: id, to: &bytes, limit: Wire.replyLimit) {
            (bytes) throws(ProviderFailure) in
            switch self {
            case .welcome(let welcome):
                bytes.writeInteger(welcome.version)
                try bytes.writeField(welcome.serverName)
                try bytes.writeField(welcome.services)
                if welcome.version >= 2 {
                    bytes.writeInteger(UInt32(clamping: welcome.requestLimit))
                    try bytes.writeField(welcome.features)
                }
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
                    throw ProviderFailure(.refused, "the password does not fit in its field")
                }
                bytes.writeInteger(length)
                unsafe password.withUnsafeBytes { secret in
                    _ = unsafe bytes.writeBytes(secret)
                }
            case .stopped: break
            case .facts(let page): try bytes.write(page, isDetailed: false)
            case .identities(let page): try bytes.write(page, isDetailed: true)
            case .statistics(let figures):
                try bytes.writeList(figures) { (bytes, figure) throws(ProviderFailure) in
                    try bytes.writeField(figure.name)
                    bytes.writeInteger(figure.value)
                }
            case .events(let page): try bytes.write(page)
            case .tokens(let page): try bytes.write(page)
            case .used(let result), .useEnded(let result): bytes.write(result)
            case .useBegun(let handle): bytes.writeInteger(handle)
            case .useUpdated(let total): bytes.writeInteger(total)
            case .useCanceled: break
            case .tokenStatus(let status): try bytes.write(status)
            case .tokenObjects(let page): try bytes.write(page)
            case .tokenLogin(let state): try bytes.write(state)
            case .aliases(let page): try bytes.write(page)
            case .aliasChosen(let choice): try bytes.write(choice)
            case .tokenFailure(let error): try bytes.write(error)
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
        case .identities: .identitiesReply
        case .statistics: .statisticsReply
        case .events: .eventsReply
        case .tokens: .tokensReply
        case .used: .used
        case .useBegun: .useBegun
        case .useUpdated: .useUpdated
        case .useEnded: .useEnded
        case .useCanceled: .useCanceled
        case .tokenStatus: .tokenStatusReply
        case .tokenObjects: .tokenObjectsReply
        case .tokenLogin: .tokenLoginReply
        case .aliases: .aliasQueryReply
        case .aliasChosen: .aliasChooseReply
        case .failure, .tokenFailure: .failure
        }
    }

    /// The secret in this reply, or nil. The caller must overwrite every copy of its bytes.
    package var secret: SecretBytes? {
        switch self {
        case .password(let secret), .used(let secret), .useEnded(let secret): secret
        default: nil
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
            identifier: try identifier("the identifier"), filename: try string("the file name"),
            kind: try kind(), contentType: try string("the content type"),
            parent: try identifier("the parent"),
            size: try optional("the size") { (reader) throws(ProviderFailure) in try reader.size("the size")
            },
            created: try date("the date"))
    }

    private mutating func kind() throws(ProviderFailure) -> Item.Kind {
        switch try integer("the kind", as: UInt8.self) {
        case 1: return .pkcs12
        case 2: return .folder
        case 3: return .zip
        case let other: throw ProviderFailure(.malformed, "the kind of item \(other) is unknown")
        }
    }

    /// Reads identity facts, each followed by its details if `areDetailed` is true.
    mutating func factsPage(areDetailed: Bool) throws(ProviderFailure) -> IdentityFactsPage {
        let facts = try list("the identities", smallest: areDetailed ? 15 : 14) {
            (reader) throws(ProviderFailure) in
            try reader.facts(areDetailed: areDetailed)
        }
        return IdentityFactsPage(facts: facts, nextCursor: try cursor())
    }

    private mutating func facts(areDetailed: Bool) throws(ProviderFailure) -> IdentitySummary {
        let label = try string("the label")
        let serialNumber = try string("the serial number")
        let notBefore = try date("the date")
        let keyUsage = try optional("the key usage") { (reader) throws(ProviderFailure) in
            try reader.integer("the key usage", as: UInt16.self)
        }
        let traits = FactTraits(rawValue: try integer("the traits"))
        guard FactTraits.all.isSuperset(of: traits) else {
            throw ProviderFailure(.malformed, "an identity has an unknown trait")
        }
        return IdentitySummary(
            label: label, serialNumber: serialNumber, notBefore: notBefore,
            facts: CertificateFacts(
                keyUsage: keyUsage.map(KeyUsage.init(rawValue:)),
                isEllipticCurve: traits.contains(.ellipticCurve), hasRFC822Name: traits.contains(.rfc822Name),
                hasUTF8OtherName: traits.contains(.utf8OtherName),
                hasOtherOtherName: traits.contains(.otherOtherName)),
            details: areDetailed
                ? try optional("the details") { (reader) throws(ProviderFailure) in try reader.details() }
                : nil)
    }

    private mutating func details() throws(ProviderFailure) -> IdentityDetails {
        let notAfter = try date("the end of the validity")
        let subject = try string("the subject")
        func name(_ field: StaticString) throws(ProviderFailure) -> String? {
            try optional(field) { (reader) throws(ProviderFailure) in try reader.string(field) }
        }
        return IdentityDetails(
            subject: subject, commonName: try name("the common name"), email: try name("the e-mail address"),
            edipi: try name("the EDIPI"), notAfter: notAfter)
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

    fileprivate mutating func write(_ page: IdentityFactsPage, isDetailed: Bool) throws(ProviderFailure) {
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
            guard isDetailed else { return }
            try bytes.writeOptional(identity.details) { (bytes, details) throws(ProviderFailure) in
                bytes.writeField(details.notAfter)
                try bytes.writeField(details.subject)
                for name in [details.commonName, details.email, details.edipi] {
                    try bytes.writeOptional(name) { (bytes, name) throws(ProviderFailure) in
                        try bytes.writeField(name)
                    }
                }
            }
        }
        try writeCursor(page.nextCursor)
    }
}

/// The boolean facts about an identity, as the bits of one byte.
private struct FactTraits: OptionSet {
    let rawValue: UInt8

    static let ellipticCurve = FactTraits(rawValue: 1 << 0)
    static let rfc822Name = FactTraits(rawValue: 1 << 1)
    static let utf8OtherName = FactTraits(rawValue: 1 << 2)
    static let otherOtherName = FactTraits(rawValue: 1 << 3)
    static let all: FactTraits = [.ellipticCurve, .rfc822Name, .utf8OtherName, .otherOtherName]
}
