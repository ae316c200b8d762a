internal import Diagnostics
package import Foundation

/// The format of every JSON document that a command writes: sorted keys, and dates in ISO 8601 in UTC. Characters that
/// could control a terminal are escaped, because documents are also printed on terminals.
package enum DocumentCoding {
    /// Returns the bytes of a document, without a trailing newline.
    ///
    /// - Parameters:
    ///   - document: The value to encode.
    ///   - onOneLine: Whether to write the document on one line, as each of several documents is.
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

    /// Escapes every character in a JSON text that could control a terminal.
    ///
    /// Outside ASCII, such characters occur only inside strings. Inside ASCII, the encoder already escapes all except
    /// DEL.
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

    /// Decodes a document that a command wrote. Tests compare it with the expected values.
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
