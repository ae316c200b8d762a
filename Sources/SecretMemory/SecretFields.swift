/// Named secrets as one run of bytes, to be sealed together: for each its name's and its own length, name,
/// secret.
package enum SecretFields {
    private static let lengthCount = 4

    /// All of `fields`, ordered by name.
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

    /// The fields of what `encode` gave; nil for anything else.
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
