internal import Diagnostics
package import OpenSSL
internal import PrivateFiles
package import SecureMail

/// The S/MIME parts of a mail message, as far as they can be read without a key. Nothing is verified.
package struct MessageInspection: Sendable {
    /// An encryption or signature of one S/MIME part.
    package struct Layer: Sendable {
        /// The path of the part; nil if the whole file is the S/MIME message.
        package let path: String?
        /// The media type of the part in lower case; nil for a layer inside another one of the same part.
        package let mediaType: String?
        /// The parameters of the part's Content-Type, keyed by name in lower case.
        package let parameters: [String: String]
        /// The algorithms, recipients and signers.
        package let description: CMSDescription
    }

    /// The header of the message; nil for bare CMS.
    package let header: MailHeader?
    /// The encryptions and signatures that can be read, in the order of the parts, outermost layer of a part first.
    package let layers: [Layer]
    /// The errors of parts and layers that cannot be read, in order.
    package let errors: [CMSError]
    /// The parts that nothing protects, in order.
    package let unprotected: [MessageContents.ContentPart]

    /// Whether the file begins with header fields, and its Content-Type is that of S/MIME or of a message with parts.
    static func isMail(_ bytes: [UInt8]) -> Bool {
        let lines = String(decoding: bytes.prefix(MailLimits.headers), as: UTF8.self).streamSafe
            .lowercased()
            .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let header = lines.prefix { !$0.isEmpty }
        guard !header.contains(where: { $0.hasPrefix("-----begin ") }),
            let field = header.firstIndex(where: { $0.hasPrefix("content-type:") })
        else { return false }
        let type = header[field].dropFirst("content-type:".count) + (header[(field + 1)...].first ?? "")
        return ["pkcs7", "multipart/", "message/", ".p7m"].contains { type.contains($0) }
    }

    /// Reads a mail message. Returns nil for any other file, and for a message without S/MIME parts.
    ///
    /// - Parameters:
    ///   - bytes: The contents of the file.
    ///   - scratch: A folder for temporary files without a name.
    init?(_ bytes: [UInt8], scratch: String) {
        // Other files, which may contain private keys, are never written to disk.
        guard Self.isMail(bytes), let file = try? UnnamedFile(in: scratch), (try? file.write(bytes)) != nil,
            let contents = try? withExtendedLifetime(
                file,
                {
                    try MessageReader(scratch: scratch) { _ in nil }.read(file.descriptor)
                }), contents.header != nil, !contents.parts.isEmpty
        else { return nil }
        header = contents.header
        unprotected = contents.unprotected
        var (layers, errors) = ([Layer](), [CMSError]())
        for part in contents.parts {
            for (index, structure) in part.structures.enumerated() {
                do {
                    layers.append(
                        Layer(
                            path: part.path, mediaType: index == 0 ? part.type : nil,
                            parameters: index == 0 ? part.parameters : [:],
                            description: try CMSDescription(structure)))
                } catch let error as CMSError {
                    errors.append(error)
                } catch {
                    errors.append(CMSError(.malformed, "the message cannot be read"))
                }
            }
            // Without its structure, a part is unreadable. A part that only lacks a key is described above.
            if let failure = part.failure as? CMSError, part.layers.count >= part.structures.count {
                errors.append(failure)
            }
        }
        self.layers = layers
        self.errors = errors
    }
}
