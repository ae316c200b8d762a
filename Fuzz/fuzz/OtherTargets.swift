import KeyShareProtocol
import KeyShareWire
import KeySharing
import NIOCore
import ZipBundles

/// The zip reader.
enum ZipTarget {
    static let limits: ZipLimits = {
        var limits = ZipLimits.standard
        limits.archiveSize = 1 << 20
        limits.entryCount = 64
        limits.entrySize = 1 << 18
        limits.contentsSize = 1 << 20
        return limits
    }()

    static func test(_ input: [UInt8]) {
        guard let contents = try? ZipBundle.read(input, limits: limits) else { return }
        precondition(contents.entries.count + contents.skipped.count <= limits.entryCount)
        var size = 0
        for entry in contents.entries {
            precondition(!entry.name.contains("/") && entry.name != ".." && !entry.name.contains("\0"))
            if case .success(let bytes) = entry.result { size += bytes.count }
        }
        precondition(size <= limits.contentsSize)
    }
}

/// The reader of type declarations.
enum TypesTarget {
    static func test(_ input: [UInt8]) {
        guard let registry = try? UniformTypeRegistry(propertyLists: [input]) else { return }
        _ = registry.types.keys.sorted()
    }
}

/// The decoder of data from the socket: frames, then requests and replies. Decoded messages can be encoded,
/// and encoded messages can be decoded.
enum WireTarget {
    static func test(_ input: [UInt8]) {
        var bytes = ByteBuffer(bytes: input)
        while let frame = try? Frame.next(from: &bytes, limit: Wire.replyLimit) {
            if let request = try? ProviderRequest(frame) {
                var written = ByteBuffer()
                if (try? request.encode(id: frame.requestID, into: &written, limit: Wire.longRequestLimit))
                    != nil
                {
                    precondition(again(&written).map { (try? ProviderRequest($0)) != nil } == true)
                }
            }
            if let reply = try? ProviderReply(frame) {
                var written = ByteBuffer()
                if (try? reply.encode(id: frame.requestID, into: &written)) != nil {
                    precondition(again(&written).map { (try? ProviderReply($0)) != nil } == true)
                }
            }
        }
    }

    private static func again(_ bytes: inout ByteBuffer) -> Frame? {
        try? Frame.next(from: &bytes, limit: Wire.replyLimit)
    }
}
