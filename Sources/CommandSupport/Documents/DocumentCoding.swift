internal import Diagnostics
package import Foundation

/// The form of every JSON document that a command writes: sorted keys, dates in ISO 8601 in UTC, and characters that
/// could steer a terminal as escapes, because documents are printed on terminals too.
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
        return safe(try encoder.encode(document))
    }

    /// A JSON text with every character escaped that could steer a terminal.
    ///
    /// Beyond ASCII such characters stand inside strings only, and the encoder escapes those of ASCII but DEL.
    private static func safe(_ json: Data) -> Data {
        guard json.contains(where: { $0 >= 0x7F }), let text = String(validating: json, as: UTF8.self) else {
            return json
        }
        let escaped = text.unicodeScalars.reduce(into: "") { text, scalar in
            if scalar.steersTerminal, scalar != "\n" {
                text += scalar.escapedInJSON
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return Data(escaped.utf8)
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
