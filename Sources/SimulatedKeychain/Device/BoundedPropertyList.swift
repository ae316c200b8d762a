internal import Diagnostics
package import Foundation

/// Property lists from untrusted sources, decoded within limits.
///
/// Foundation parses nested lists recursively. Its XML parser has no depth limit, and a hundred thousand levels crash
/// the process. Its parser for the binary format has a depth limit, but copies an object for each reference to it, so a
/// kilobyte of lists that contain each other several times occupies all memory.
package enum BoundedPropertyList {
    /// The maximum size of a property list, in bytes. For a binary one, this includes each repetition of an
    /// object.
    package static let largest = 64 << 10
    /// The maximum number of lists and mappings in a property list, and therefore its maximum depth. In a binary one,
    /// each repetition counts.
    package static let mostContainers = 64
    /// The maximum number of combining marks in XML. Comparing two strings of this length takes about 30 ms.
    package static let mostMarks = 8_192

    /// Decodes a binary property list, the format of this program's own files.
    ///
    /// - Throws: `DecodingError` for other bytes.
    package static func decodeBinary<Value: Decodable>(_ type: Value.Type, from bytes: Data) throws -> Value {
        guard bytes.starts(with: magic) else { throw corrupted("it is not a binary property list") }
        return try PropertyListDecoder().decode(type, from: bytes)
    }

    /// Decodes a property list within the limits.
    ///
    /// - Throws: `DecodingError`; the errors of the type.
    package static func decode<Value: Decodable>(_ type: Value.Type, from bytes: Data) throws -> Value {
        guard isBounded(bytes) else {
            throw corrupted("it is too large, or has too many lists and mappings")
        }
        return try PropertyListDecoder().decode(type, from: bytes)
    }

    /// Whether Foundation may parse a property list: it is binary or UTF-8 text, and within the limits.
    ///
    /// In text, every tag that opens a list or a mapping is counted, even inside a comment. Closing tags are not subtracted,
    /// because they could also be in a comment. Combining marks are counted even if they are not consecutive, because a
    /// comment between them does not become part of the string. A character reference counts as one.
    ///
    /// - Parameters:
    ///   - bytes: The property list.
    ///   - largest: The maximum size, in bytes.
    ///   - mostContainers: The maximum number of lists and mappings.
    package static func isBounded(
        _ bytes: Data, largest: Int = Self.largest, mostContainers: Int = Self.mostContainers
    ) -> Bool {
        if bytes.starts(with: magic) {
            return BinaryPropertyList([UInt8](bytes))?
                .isBounded(largest: largest, mostContainers: mostContainers) ?? false
        }
        guard bytes.count <= largest, let text = String(validating: bytes, as: UTF8.self),
            !text.utf8.contains(0)
        else { return false }
        // Characters would be compared after normalization, and together with what precedes or follows them.
        let occurrences = { (part: String) in text.utf8.ranges(of: part.utf8).count }
        guard occurrences("<array") + occurrences("<dict") <= mostContainers,
            text.unicodeScalars.count(where: CombiningMarks.isMark) + occurrences("&#") <= mostMarks
        else { return false }
        // In other encodings, tags could consist of different octets.
        let declared = text.firstMatch(of: /encoding\s*=\s*["']([^"']*)["']/)?.1
        return declared == nil || declared?.lowercased() == "utf-8"
    }

    private static let magic = Array("bplist00".utf8)

    private static func corrupted(_ reason: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: "the property list was rejected: \(reason)"))
    }
}
