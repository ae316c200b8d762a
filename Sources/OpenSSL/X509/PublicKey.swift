internal import COpenSSL

/// A public key in a certificate, a SubjectPublicKeyInfo (RFC 5280, 4.1.2.7).
///
/// Reading a public key does not load it, because in OpenSSL, loading takes longer than reading the whole certificate.
/// The key can therefore have any algorithm, or even be damaged; ``bits`` is 0 if OpenSSL cannot load it. Two keys are
/// equal if their encodings are equal.
package struct PublicKey: Sendable, Hashable {
    /// The DER of the whole SubjectPublicKeyInfo.
    package let spki: [UInt8]
    /// The kind of key, which follows from the algorithm's object identifier and parameters.
    package let type: KeyType

    /// Whether `KeyLoadingPolicy` allows loading the key.
    let isLoadable: Bool
    /// The length in octets of the BIT STRING's contents, which are the last octets of ``spki``.
    private let keyCount: Int

    /// Reads a key from the DER of its SubjectPublicKeyInfo. An unknown algorithm is not an error.
    ///
    /// - Throws: `malformed` if the bytes are not a SubjectPublicKeyInfo, `trailingBytes` if data follows it.
    package init(spki: [UInt8]) throws(CertificateError) {
        let key = unsafe try OpenSSLASN1.decode(spki, as: "a public key") {
            unsafe OpenSSLASN1.decodeWithoutProviders(X509_PUBKEY_it(), $0, $1)
        } free: {
            unsafe X509_PUBKEY_free($0)
        }
        defer { unsafe X509_PUBKEY_free(key) }
        unsafe self.init(reading: key)
    }

    /// Copies a C key (`X509_PUBKEY`), which the caller still owns.
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

    /// The size of the key in bits: of the modulus for RSA, of the order for curves (EVP_PKEY_get_bits(3)).
    ///
    /// It is 0 if OpenSSL cannot load the key or if `KeyLoadingPolicy` does not allow it. Each call loads the key,
    /// which takes about 80 µs.
    package var bits: Int {
        unsafe withPointer { key in
            unsafe key.map { unsafe max(0, Int(EVP_PKEY_get_bits($0))) } ?? 0
        }
    }

    /// The name of an elliptic-curve key's curve, such as `P-256` (see ``KeyType/ec(curve:)``); nil for other kinds.
    package var curve: String? {
        if case .ec(let curve) = type { curve } else { nil }
    }

    /// The effective number of bits (`kSecAttrEffectiveKeySize`). For all supported types it equals ``bits``.
    package var effectiveBits: Int { bits }

    /// The contents of the BIT STRING `subjectPublicKey`, from which key identifiers are derived.
    package var keyOctets: ArraySlice<UInt8> { spki.suffix(keyCount) }

    /// The key identifier, which is the SHA-1 of ``keyOctets`` (RFC 5280, 4.2.1.2, method 1), 20 octets. Keychains call
    /// it the public key hash.
    package var keyIdentifier: [UInt8] { Digest.sha1(keyOctets) }

    /// Loads the key and calls `body` with the C key (`EVP_PKEY`), which is freed after the call.
    ///
    /// The pointer is nil if OpenSSL cannot load the key or if `KeyLoadingPolicy` does not allow it.
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
