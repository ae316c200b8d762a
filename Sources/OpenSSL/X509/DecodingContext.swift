internal import COpenSSL

/// Decoding without loading keys.
///
/// OpenSSL 3 tries to load the public key of every certificate it decodes, through whatever decoders its
/// providers have; that is three quarters of the time it takes. In a library context without any provider
/// there is nothing to try, and the rest of the certificate is decoded as ever.
enum DecodingContext {
    /// Runs the `d2i` function of an ASN.1 item; the object belongs to the caller and knows no provider.
    static func decode(
        _ item: OpaquePointer?, _ input: UnsafeMutablePointer<UnsafePointer<UInt8>?>, _ count: Int
    ) -> OpaquePointer? {
        unsafe ASN1_item_d2i_ex(nil, input, count, item, context.pointer, nil)
    }

    // Without a provider of its own a context would load the default one at first use.
    static let context = LibraryContext(providers: ["null"])
}
