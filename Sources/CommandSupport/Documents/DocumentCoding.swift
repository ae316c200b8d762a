package import Foundation

/// The form of every JSON document that a command writes: sorted keys, and dates in ISO 8601 in UTC.
package enum DocumentCoding {
    /// The bytes of a document, without a newline at the end.
    ///
    /// - Parameters:
    ///   - document: the value that is encoded.
    ///   - onOneLine: whether the document stands on one line, as each of several documents does.
    /// - Throws: `EncodingError`.
    package static func encode(_ document: some Encodable, onOneLine: Bool = false) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if !onOneLine { encoder.outputFormatting.insert(.prettyPrinted) }
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.utcText)
        }
        return try encoder.encode(document)
    }

    /// Reads a document that a command wrote; tests hold it against what they expect.
    ///
    /// - Throws: `DecodingError` for other bytes.
    package static func decode<Document: Decodable>(_ type: Document.Type, from bytes: Data) throws
        -> Document
    {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(type, from: bytes)
    }
}
