internal import COpenSSL

/// A hash that is equal for names that match under RFC 5280 7.1, which ignores case, spaces and the string type.
///
/// Names that do not match rarely have the same hash. If a collision would matter, OpenSSL compares the names
/// themselves.
package struct NameMatchingKey: Sendable, Hashable {
    fileprivate let hash: UInt
}

extension DistinguishedName {
    /// The key for looking up names (X509_NAME_hash_ex(3)). Each access computes it in about 5 µs.
    package var matchingKey: NameMatchingKey {
        let hash = try? unsafe withPointer {
            unsafe X509_NAME_hash_ex($0, LibraryContext.standard.pointer, nil, nil)
        }
        OpenSSLError.discardQueue()
        return NameMatchingKey(hash: hash ?? 0)
    }
}
