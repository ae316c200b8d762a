internal import COpenSSL

/// A number that names have in common which RFC 5280 7.1 takes for the same: without regard to the case of
/// letters, to spaces and to the type of string.
///
/// Names that differ rarely share it, and OpenSSL compares the names themselves wherever that matters.
package struct NameMatchingKey: Sendable, Hashable {
    fileprivate let hash: UInt
}

extension DistinguishedName {
    /// The number to look names up by (X509_NAME_hash_ex(3)); computed at each call, some 5 µs.
    package var matchingKey: NameMatchingKey {
        let hash = try? unsafe withPointer {
            unsafe X509_NAME_hash_ex($0, LibraryContext.standard.pointer, nil, nil)
        }
        OpenSSLError.discardQueue()
        return NameMatchingKey(hash: hash ?? 0)
    }
}
