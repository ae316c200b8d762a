package import KeyShareProtocol
internal import KeySharing
internal import PersistentToken
package import NIOCore

extension ProviderRequest {
    /// Decodes the request in `frame`.
    ///
    /// - Parameters:
    ///   - frame: The frame.
    ///   - version: The protocol version of the connection.
    /// - Throws: `unknownRequest` if the type is not a request type of this version. `malformed` if a field ends early
    ///   or contains a forbidden value, or if bytes follow the last field.
    package init(
        _ frame: Frame, version: UInt16 = Wire.versions.upperBound
    ) throws(ProviderFailure) {
        let type = Wire.MessageType(rawValue: frame.type).flatMap { $0.firstVersion <= version ? $0 : nil }
        var reader = FieldReader(frame.body)
        switch type {
        case .hello:
            self = .hello(
                Hello(
                    minimumVersion: try reader.integer("the oldest version"),
                    maximumVersion: try reader.integer("the newest version"),
                    clientName: try reader.string("the client's name"),
                    services: try reader.strings("the services")))
            // Skip the fields that a later version may add, so that a newer hello is rejected because of its version.
            return
        case .enumerate:
            self = .enumerate(
                container: try reader.string("the container"), cursor: try reader.cursor(),
                limit: try reader.integer("the limit"))
        case .item:
            self = .item(identifier: try reader.string("the identifier"))
        case .services:
            self = .services(identifier: try reader.string("the identifier"))
        case .startAccessing:
            self = .startAccessing(identifier: try reader.string("the identifier"))
        case .read:
            self = .read(
                identifier: try reader.string("the identifier"), offset: try reader.integer("the offset"),
                length: try reader.integer("the length"))
        case .fetchPassword:
            self = .fetchPassword(
                service: try reader.string("the service"), identifier: try reader.string("the identifier"))
        case .stopAccessing:
            self = .stopAccessing(identifier: try reader.string("the identifier"))
        case .present:
            self = .present(
                types: try reader.strings("the types"), cursor: try reader.cursor(),
                limit: try reader.integer("the limit"))
        case .choose:
            self = .choose(row: try reader.string("the row"), types: try reader.strings("the types"))
        case .describe:
            self = .describe(cursor: try reader.cursor(), limit: try reader.integer("the limit"))
        case .identities:
            self = .identities(
                container: try reader.string("the container"), cursor: try reader.cursor(),
                limit: try reader.integer("the limit"))
        case .statistics:
            self = .statistics
        case .events:
            let after = try reader.optional("the event") { (reader) throws(ProviderFailure) in
                try reader.integer("the event", as: UInt64.self)
            }
            self = .events(after: after, wait: try reader.integer("the wait"))
        default: self = try Self.tokenRequest(type, frame, &reader)
        }
        try reader.end()
    }

    /// Decodes a request to the token.
    private static func tokenRequest(
        _ type: Wire.MessageType?, _ frame: Frame, _ reader: inout FieldReader
    ) throws(ProviderFailure) -> ProviderRequest {
        switch type {
        case .tokens:
            return .tokens(cursor: try reader.cursor(), limit: try reader.integer("the limit"))
        case .use: return .use(try reader.use(hasData: true))
        case .useBegin: return .useBegin(try reader.use(hasData: false))
        case .useUpdate:
            let handle: UInt32 = try reader.integer("the handle")
            return .useUpdate(handle: handle, data: Array(reader.rest().readableBytesView))
        case .useEnd: return .useEnd(handle: try reader.integer("the handle"))
        case .useCancel: return .useCancel(handle: try reader.integer("the handle"))
        case .tokenStatus: return .tokenStatus
        case .tokenObjects:
            return .tokenObjects(cursor: try reader.cursor(), limit: try reader.integer("the limit"))
        case .tokenLogin: return .tokenLogin(try reader.tokenLogin())
        case .aliasQuery: return .aliasQuery(try reader.aliasQuery())
        case .aliasChoose: return .aliasChoose(try reader.aliasChoiceRequest())
        default: throw ProviderFailure(.unknownRequest, "unknown request type \(frame.typeName)")
        }
    }

    /// Appends the frame of this request to `bytes`.
    ///
    /// - Parameters:
    ///   - id: The request ID. The reply repeats it.
    ///   - bytes: The buffer to append to.
    ///   - limit: The longest frame that the provider accepts, in bytes, including its length field.
    /// - Throws: `refused` if the request does not fit in a frame. Nothing is appended in that case.
    package func encode(
        id: UInt32, into bytes: inout ByteBuffer, limit: Int = Wire.requestLimit
    ) throws(ProviderFailure) {
        try Frame.append(messageType, requestID: id, to: &bytes, limit: limit) {
            (bytes) throws(ProviderFailure) in
            switch self {
            case .hello(let hello):
                bytes.writeInteger(hello.minimumVersion)
                bytes.writeInteger(hello.maximumVersion)
                try bytes.writeField(hello.clientName)
                try bytes.writeField(hello.services)
            case .enumerate(let container, let cursor, let limit),
                .identities(let container, let cursor, let limit):
                try bytes.writeField(container)
                try bytes.writeCursor(cursor)
                bytes.writeInteger(limit)
            case .item(let identifier), .services(let identifier), .startAccessing(let identifier),
                .stopAccessing(let identifier):
                try bytes.writeField(identifier)
            case .read(let identifier, let offset, let length):
                try bytes.writeField(identifier)
                bytes.writeInteger(offset)
                bytes.writeInteger(length)
            case .fetchPassword(let service, let identifier):
                try bytes.writeField(service)
                try bytes.writeField(identifier)
            case .present(let types, let cursor, let limit):
                try bytes.writeField(types)
                try bytes.writeCursor(cursor)
                bytes.writeInteger(limit)
            case .choose(let row, let types):
                try bytes.writeField(row)
                try bytes.writeField(types)
            case .describe(let cursor, let limit), .tokens(let cursor, let limit),
                .tokenObjects(let cursor, let limit):
                try bytes.writeCursor(cursor)
                bytes.writeInteger(limit)
            case .events(let after, let wait):
                try bytes.writeOptional(after) { (bytes, after) throws(ProviderFailure) in
                    bytes.writeInteger(after)
                }
                bytes.writeInteger(wait)
            case .use(let use):
                try bytes.write(use)
                bytes.writeBytes(use.data)
            case .useBegin(let use): try bytes.write(use)
            case .useUpdate(let handle, let data):
                bytes.writeInteger(handle)
                bytes.writeBytes(data)
            case .useEnd(let handle), .useCancel(let handle): bytes.writeInteger(handle)
            case .tokenLogin(let login): try bytes.write(login)
            case .aliasQuery(let query): try bytes.write(query)
            case .aliasChoose(let request): try bytes.write(request)
            case .statistics, .tokenStatus: break
            }
        }
    }

    /// The length of the longest identifier in this request, in bytes. It is 0 if the request has no identifier.
    package var longestIdentifier: Int {
        switch self {
        case .hello, .describe, .statistics, .events, .tokens, .useUpdate, .useEnd, .useCancel, .tokenStatus,
            .tokenObjects, .tokenLogin, .aliasQuery, .aliasChoose:
            0
        case .use(let use), .useBegin(let use):
            max((use.alias ?? use.objectID).utf8.count, use.algorithm.utf8.count)
        case .enumerate(let identifier, _, _), .item(let identifier), .services(let identifier),
            .startAccessing(let identifier), .read(let identifier, _, _), .stopAccessing(let identifier),
            .identities(let identifier, _, _):
            identifier.utf8.count
        case .fetchPassword(let service, let identifier): max(service.utf8.count, identifier.utf8.count)
        case .present(let types, _, _): types.map(\.utf8.count).max() ?? 0
        case .choose(let row, let types): max(row.utf8.count, types.map(\.utf8.count).max() ?? 0)
        }
    }

    /// The type of this request's frame.
    package var messageType: Wire.MessageType {
        switch self {
        case .hello: .hello
        case .enumerate: .enumerate
        case .item: .item
        case .services: .services
        case .startAccessing: .startAccessing
        case .read: .read
        case .fetchPassword: .fetchPassword
        case .stopAccessing: .stopAccessing
        case .present: .present
        case .choose: .choose
        case .describe: .describe
        case .identities: .identities
        case .statistics: .statistics
        case .events: .events
        case .tokens: .tokens
        case .use: .use
        case .useBegin: .useBegin
        case .useUpdate: .useUpdate
        case .useEnd: .useEnd
        case .useCancel: .useCancel
        case .tokenStatus: .tokenStatus
        case .tokenObjects: .tokenObjects
        case .tokenLogin: .tokenLogin
        case .aliasQuery: .aliasQuery
        case .aliasChoose: .aliasChoose
        }
    }
}
