internal import KeySharing
package import NIOCore

extension ProviderRequest {
    /// Decodes the request in `frame`.
    ///
    /// - Throws: `unknownRequest` for a type that is no request; `malformed` for fields that end early, hold a
    ///   forbidden value, or are followed by more bytes.
    package init(_ frame: Frame) throws(ProviderFailure) {
        var reader = FieldReader(frame.body)
        switch Wire.MessageType(rawValue: frame.type) {
        case .hello:
            self = .hello(
                Hello(
                    minimumVersion: try reader.integer("the oldest version"),
                    maximumVersion: try reader.integer("the newest version"),
                    clientName: try reader.string("the client's name"),
                    services: try reader.strings("the services")))
            // A later version may add fields here; they are skipped, so that it can be refused by its version.
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
        default:
            throw ProviderFailure(.unknownRequest, "there is no request of type \(frame.type)")
        }
        try reader.end()
    }

    /// Appends the frame of this request to `bytes`.
    ///
    /// - Parameters:
    ///   - id: The id of the request, which its reply repeats.
    ///   - bytes: The buffer that gets the frame.
    /// - Throws: `refused` where the request does not fit a frame; nothing is appended then.
    package func encode(id: UInt32, into bytes: inout ByteBuffer) throws(ProviderFailure) {
        try Frame.append(messageType, requestID: id, to: &bytes, limit: Wire.requestLimit) {
            (bytes) throws(ProviderFailure) in
            switch self {
            case .hello(let hello):
                bytes.writeInteger(hello.minimumVersion)
                bytes.writeInteger(hello.maximumVersion)
                try bytes.writeField(hello.clientName)
                try bytes.writeField(hello.services)
            case .enumerate(let container, let cursor, let limit):
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
            case .describe(let cursor, let limit):
                try bytes.writeCursor(cursor)
                bytes.writeInteger(limit)
            }
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
        }
    }
}
