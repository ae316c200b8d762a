internal import COpenSSL

/// A value that is equal for names that match under RFC 5280 7.1, which ignores case, spaces and the string type, and
/// only for those.
///
/// It is the SHA-256 of the form in which OpenSSL compares names (X509_NAME_cmp(3)). OpenSSL publishes only 32 bits of
/// its own digest (X509_NAME_hash_ex(3)), and anyone can find another name with the same 32 bits.
package struct NameMatchingKey: Sendable, Hashable {
    private let digest: [UInt8]

    fileprivate init(form: [UInt8]) { digest = Digest.sha256(form) }
}

extension DistinguishedName {
    /// The key for looking up names. Each access computes it in several microseconds.
    package var matchingKey: NameMatchingKey {
        let form = try? unsafe withPointer { unsafe NameMatchingKey.form(of: $0) }
        OpenSSLError.discardQueue()
        return NameMatchingKey(form: form ?? der)
    }
}

extension NameMatchingKey {
    /// The relative names of a C name (`X509_NAME`), in order. Each is a set, so its attributes are sorted.
    fileprivate static func form(of name: OpaquePointer) -> [UInt8] {
        var sets: [[[UInt8]]] = []
        var lastSet: CInt = -1
        for index in unsafe 0..<max(0, X509_NAME_entry_count(name)) {
            guard let entry = unsafe X509_NAME_get_entry(name, index) else { continue }
            let set = unsafe X509_NAME_ENTRY_set(entry)
            if set != lastSet { sets.append([]) }
            lastSet = set
            unsafe sets[sets.count - 1].append(attribute(entry))
        }
        return sets.flatMap { set in
            counted(set.sorted { $0.lexicographicallyPrecedes($1) }.flatMap(counted))
        }
    }

    /// The type and the prepared value of an attribute (`X509_NAME_ENTRY`), or its DER if the value is not text.
    private static func attribute(_ entry: OpaquePointer) -> [UInt8] {
        let value = unsafe X509_NAME_ENTRY_get_data(entry)
        guard let value = unsafe value, unsafe textTypes.contains(ASN1_STRING_type(value)),
            let text = unsafe utf8(value), let type = unsafe X509_NAME_ENTRY_get_object(entry)
        else { return unsafe [0] + OpenSSLASN1.der(entry) { unsafe i2d_X509_NAME_ENTRY($0, $1) } }
        let octets = unsafe Array(UnsafeBufferPointer(start: OBJ_get0_data(type), count: OBJ_length(type)))
        return [1] + counted(octets) + prepared(text)
    }

    /// The types whose values OpenSSL prepares. It compares values of other types, such as NumericString, as they are.
    private static let textTypes: Set<CInt> = [
        V_ASN1_UTF8STRING, V_ASN1_PRINTABLESTRING, V_ASN1_T61STRING, V_ASN1_IA5STRING, V_ASN1_VISIBLESTRING,
        V_ASN1_UNIVERSALSTRING, V_ASN1_BMPSTRING,
    ]

    private static func utf8(_ string: UnsafePointer<ASN1_STRING>) -> [UInt8]? {
        var converted: UnsafeMutablePointer<UInt8>?
        let count = unsafe ASN1_STRING_to_UTF8(&converted, string)
        guard count >= 0, let start = unsafe converted else { return nil }
        defer { unsafe CRYPTO_free(start, #file, #line) }
        return unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// The text without spaces at its ends, with single spaces inside, and with the letters of ASCII in lower case.
    private static func prepared(_ text: [UInt8]) -> [UInt8] {
        var prepared: [UInt8] = []
        prepared.reserveCapacity(text.count)
        var isAfterSpace = false
        for octet in text {
            if octet == 0x20 || (0x09...0x0D).contains(octet) {
                isAfterSpace = true
                continue
            }
            if isAfterSpace, !prepared.isEmpty { prepared.append(0x20) }
            isAfterSpace = false
            prepared.append((0x41...0x5A).contains(octet) ? octet | 0x20 : octet)
        }
        return prepared
    }

    /// The octets after their count, so that different lists of them have different encodings.
    private static func counted(_ octets: [UInt8]) -> [UInt8] { Array("\(octets.count):".utf8) + octets }
}
