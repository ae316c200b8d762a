import Foundation
import OpenSSL
import SwiftASN1
import Testing

/// Changes the fields of SignedData (RFC 5652, 5.1), for messages that OpenSSL does not write.
enum SignedFields {
    /// The field of revocation lists.
    static func lists(_ lists: [[UInt8]]) throws -> [UInt8] {
        var serializer = DER.Serializer()
        serializer.appendConstructedNode(identifier: context(1)) { serializer in
            for list in lists { serializer.serializeRawBytes(list) }
        }
        return serializer.serializedBytes
    }

    /// Returns a message with changed fields.
    static func change(
        _ message: [UInt8], _ change: (inout [[UInt8]]) throws -> Void
    ) throws -> [UInt8] {
        let info = try #require(DERElement(message)?.children)
        var fields = try #require(info.last?.children.first).children.map { Array($0.encoded) }
        try change(&fields)
        var serializer = DER.Serializer()
        serializer.appendConstructedNode(identifier: .sequence) { serializer in
            serializer.serializeRawBytes(info[0].encoded)
            serializer.appendConstructedNode(identifier: context(0)) { serializer in
                serializer.appendConstructedNode(identifier: .sequence) { serializer in
                    for field in fields { serializer.serializeRawBytes(field) }
                }
            }
        }
        return serializer.serializedBytes
    }

    private static func context(_ number: UInt) -> ASN1Identifier {
        ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific)
    }
}

/// Returns a multipart/signed mail whose SignedData has changed fields.
func changingSignature(of mail: [UInt8], _ change: (inout [[UInt8]]) throws -> Void) throws -> [UInt8] {
    let text = String(decoding: mail, as: UTF8.self)
    let start = try #require(text.range(of: "\r\n\r\n", options: .backwards)?.upperBound)
    let end = try #require(text.range(of: "--", range: start..<text.endIndex)?.lowerBound)
    let signature = try #require(
        Data(base64Encoded: String(text[start..<end]), options: .ignoreUnknownCharacters))
    let changed = try SignedFields.change([UInt8](signature), change)
    let base64 = Data(changed).base64EncodedString(options: [
        .lineLength64Characters, .endLineWithCarriageReturn, .endLineWithLineFeed,
    ])
    return Array((text[..<start] + base64 + "\r\n" + text[end...]).utf8)
}
