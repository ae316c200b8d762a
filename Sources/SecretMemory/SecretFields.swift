/// Encodes several named secrets as one, so that they can be sealed together.
///
/// The fields are ordered by name. Each consists of the length of the name, the length of the secret (both four bytes,
/// little-endian), the name in UTF-8, and the secret.
package enum SecretFields {
    /// The number of bytes of each encoded length.
    private static let lengthCount = 4

    /// Encodes all of `fields`.
    package static func encode(_ fields: [String: SecretBytes]) -> SecretBytes {
        let fields = fields.sorted { $0.key < $1.key }
        let capacity = fields.reduce(0) { sum, field in
            sum + 2 * lengthCount + field.key.utf8.count + field.value.count
        }
        return unsafe SecretBytes(capacity: capacity) { buffer in
            var offset = 0
            func put(_ bytes: some Sequence<UInt8>) {
                for byte in bytes {
                    unsafe buffer[offset] = byte
                    offset += 1
                }
            }
            func put(length: Int) {
                put((0..<lengthCount).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) })
            }
            for (name, secret) in fields {
                put(length: name.utf8.count)
                put(length: secret.count)
                put(name.utf8)
                unsafe secret.withUnsafeBytes { unsafe put($0) }
            }
            return offset
        }
    }

    /// Decodes the result of ``encode(_:)``.
    ///
    /// - Returns: Nil if the bytes are truncated, if bytes follow the last field, if a name is not UTF-8, or
    ///   if two names are equal.
    package static func decode(_ bytes: SecretBytes) -> [String: SecretBytes]? {
        unsafe bytes.withUnsafeBytes { buffer in
            var fields: [String: SecretBytes] = [:]
            var rest = unsafe Slice(base: buffer, bounds: 0..<buffer.count)
            func length() -> Int {
                let bytes = unsafe rest.prefix(lengthCount)
                unsafe rest = rest.dropFirst(lengthCount)
                return unsafe bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
            }
            while unsafe !rest.isEmpty {
                guard unsafe rest.count >= 2 * lengthCount else { return nil }
                let nameCount = length()
                let count = length()
                guard unsafe nameCount <= rest.count, unsafe count <= rest.count - nameCount,
                    let name = unsafe String(validating: rest.prefix(nameCount), as: UTF8.self),
                    fields[name] == nil
                else { return nil }
                fields[name] = unsafe SecretBytes(rest.dropFirst(nameCount).prefix(count))
                unsafe rest = rest.dropFirst(nameCount + count)
            }
            return fields
        }
    }
}
