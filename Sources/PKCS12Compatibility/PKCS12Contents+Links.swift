internal import OpenSSL
extension PKCS12Contents {
    /// Whether Java finds a private key of this file without its certificate. Keys whose certificate is not in the file do
    /// not count.
    var hasLostCertificate: Bool { linkedKeys.count { !$0 } > keys.count }

    /// Whether the file contains identities, and Java finds no private key with its certificate.
    var hasLostEveryCertificate: Bool {
        !identities.isEmpty && !linkedKeys.isEmpty && !linkedKeys.contains(true)
    }

    /// For each encrypted private key outside of nested safe contents, in the order of the file: whether Java finds a
    /// certificate for it (`PKCS12KeyStore.loadSafeContents` and `findMatchedCertificate` of JDK 17).
    ///
    /// Key and certificate must have the same localKeyID, or the same friendly name except for case. The first key
    /// without a localKeyID gets a substitute, and further ones are dropped. A certificate without a localKeyID gets
    /// the same substitute if it is the first bag of its safe and exactly one key precedes it. A file with the
    /// certificate before the key, without attributes, therefore has no identity for Java.
    private var linkedKeys: [Bool] {
        let substitute: [UInt8]? = Array("01".utf8)
        var keys: [(identifier: [UInt8]?, name: [UInt8]?)] = []
        var identifiers: Set<[UInt8]> = []
        var names: Set<[UInt8]> = []
        for bag in linkedBags where !bag.isNested {
            let name = bag.friendlyName.map { Array($0.lowercased().utf8) }
            switch bag.kind {
            case .plainKey, .certificate(isTrusted: true): break
            case .shroudedKey:
                keys.append((bag.localKeyID ?? (keys.isEmpty ? substitute : nil), name))
            case .certificate(isTrusted: false):
                let isSubstituted = keys.count == 1 && bag.isFirst
                if let identifier = bag.localKeyID ?? (isSubstituted ? substitute : nil) {
                    identifiers.insert(identifier)
                }
                if let name { names.insert(name) }
            }
        }
        return keys.map { identifier, name in
            guard let identifier else { return false }
            return identifiers.contains(identifier) || name.map(names.contains) ?? false
        }
    }
}

extension PKCS12LinkedBag {
    /// Whether the bag is the first one of its safe.
    fileprivate var isFirst: Bool { place.hasSuffix(", bag 1") }

    /// Whether the bag is in nested safe contents, such as `safe 1, bag 2, bag 1`.
    fileprivate var isNested: Bool { place.count { $0 == "," } > 1 }
}
