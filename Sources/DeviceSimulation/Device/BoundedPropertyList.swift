internal import Foundation

/// Property lists whose author is not known to be well-disposed, decoded within bounds.
///
/// Foundation reads lists inside lists by calling itself, in XML without a limit: a hundred thousand of them end the
/// process. Its reader of the binary form has a limit of its own.
enum BoundedPropertyList {
    /// The greatest size of a property list in XML, in bytes.
    static let largest = 64 << 10
    /// The most lists and mappings in one in XML, and so the greatest depth.
    static let mostContainers = 64

    /// Decodes a property list in binary form, as this program writes its own files.
    ///
    /// - Throws: `DecodingError` for other bytes.
    static func decodeBinary<Value: Decodable>(_ type: Value.Type, from bytes: Data) throws -> Value {
        guard bytes.starts(with: magic) else { throw corrupted("it is in no binary form") }
        return try PropertyListDecoder().decode(type, from: bytes)
    }

    /// Decodes a property list in binary form, or one in XML within the bounds.
    ///
    /// - Throws: `DecodingError`; what the type throws.
    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: Data) throws -> Value {
        guard isBounded(bytes) else { throw corrupted("it has too many parts, or is in another encoding") }
        return try PropertyListDecoder().decode(type, from: bytes)
    }

    /// Whether a property list may be given to Foundation: it is in binary form, or in UTF-8 within the bounds.
    ///
    /// What opens a list or a mapping is counted wherever it stands. Counting what closes one too would take closing
    /// tags inside comments for real ones.
    static func isBounded(_ bytes: Data) -> Bool {
        if bytes.starts(with: magic) { return true }
        guard bytes.count <= largest, let text = String(validating: bytes, as: UTF8.self),
            !text.utf8.contains(0)
        else { return false }
        let opened = ["<array", "<dict"].reduce(0) { $0 + text.ranges(of: $1).count }
        // Another encoding could spell the tags in other octets.
        let declared = text.firstMatch(of: /encoding\s*=\s*["']([^"']*)["']/)?.1
        return opened <= mostContainers && (declared == nil || declared?.lowercased() == "utf-8")
    }

    private static let magic = Array("bplist00".utf8)

    private static func corrupted(_ reason: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: "the property list is not read: \(reason)"))
    }
}
