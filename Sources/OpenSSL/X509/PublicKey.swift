internal import COpenSSL

/// A public key as a certificate carries it: SubjectPublicKeyInfo (RFC 5280 4.1.2.7) and what it says.
///
/// Reading one does not load it, which takes OpenSSL longer than reading the whole certificate. Keys of any
/// algorithm, damaged ones too, are therefore kept; ``bits`` tells whether OpenSSL can load the key.
/// Equality is equality of the DER.
package struct PublicKey: Sendable, Hashable {
    /// The encoding of the whole SubjectPublicKeyInfo.
    package let spki: [UInt8]
    /// The kind of key, by the algorithm's object identifier and parameters.
    package let type: KeyType

    /// Whether OpenSSL is let load the key (see ``KeyLoadingPolicy``).
    let isLoadable: Bool
    private let keyCount: Int

    /// A key from the DER of its SubjectPublicKeyInfo.
    ///
    /// - Throws: `malformed`, `trailingBytes`; a key that OpenSSL does not know is no error.
    package init(spki: [UInt8]) throws(CertificateError) {
        let key = unsafe try OpenSSLASN1.decode(spki, as: "a public key") {
            unsafe OpenSSLASN1.decodeWithoutProviders(X509_PUBKEY_it(), $0, $1)
        } free: {
            unsafe X509_PUBKEY_free($0)
        }
        defer { unsafe X509_PUBKEY_free(key) }
        unsafe self.init(reading: key)
    }

    /// Copies what a C key (`X509_PUBKEY`) holds; it stays its owner's.
    init(reading key: OpaquePointer?) {
        spki = unsafe key.map { unsafe OpenSSLASN1.der($0) { unsafe i2d_X509_PUBKEY($0, $1) } } ?? []
        var octets: UnsafePointer<UInt8>?
        var count: CInt = 0
        var algorithm: UnsafeMutablePointer<X509_ALGOR>?
        unsafe X509_PUBKEY_get0_param(nil, &octets, &count, &algorithm, key)
        keyCount = Int(count)
        type = unsafe KeyType(reading: algorithm)
        isLoadable = unsafe KeyLoadingPolicy.isCheap(algorithm, spki.suffix(keyCount))
    }

    /// The key's size in bits: of the modulus, of the curve's order; 0 where OpenSSL cannot load the key
    /// or must not.
    ///
    /// Loads the key at each call, some 80 µs.
    package var bits: Int {
        unsafe withPointer { key in
            unsafe key.map { unsafe max(0, Int(EVP_PKEY_get_bits($0))) } ?? 0
        }
    }

    /// The curve of an elliptic-curve key, such as `P-256`; nil for other kinds.
    package var curve: String? {
        if case .ec(let curve) = type { curve } else { nil }
    }

    /// How many of the bits count; for every kind here the same as ``bits``. Keychains show both.
    package var effectiveBits: Int { bits }

    /// The octets of the key's BIT STRING: the part that key identifiers are made from.
    package var keyOctets: ArraySlice<UInt8> { spki.suffix(keyCount) }

    /// The SHA-1 of the BIT STRING, 20 octets (RFC 5280 4.2.1.2, method 1): the public key hash.
    package var keyIdentifier: [UInt8] { Digest.sha1(keyOctets) }

    /// A C key (`EVP_PKEY`) for the length of the call, or nil where OpenSSL cannot load it or must not.
    func withPointer<Result>(_ body: (OpaquePointer?) -> Result) -> Result {
        guard isLoadable else { return body(nil) }
        let key = unsafe spki.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var cursor = bytes.baseAddress
            return unsafe d2i_PUBKEY_ex(
                nil, &cursor, bytes.count, LibraryContext.standard.pointer, nil)
        }
        defer { unsafe EVP_PKEY_free(key) }
        if unsafe key == nil { OpenSSLError.discardQueue() }
        return unsafe body(key)
    }
}
