internal import COpenSSL

/// A set of OpenSSL providers of its own, so that old algorithms are reachable only where they are asked for.
///
/// The contexts live as long as the process. Creating, fetching and deriving in one context from several
/// threads is safe (openssl-threads(7)).
@safe package final class LibraryContext: Sendable {
    /// The default provider alone: what everything but reading foreign PKCS #12 files uses.
    package static let standard = LibraryContext(providers: ["default"])

    /// The default provider with `legacy` beside it (RC2, RC4, single DES, MD2 …), for reading PKCS #12 files
    /// and for writing those that imitate the old samples.
    package static let legacy = LibraryContext(providers: ["default", "legacy"])

    /// The providers that were asked for and could not be loaded; Debian ships `legacy` as a file of its own
    /// that may be missing.
    package let missingProviders: [String]

    private let context: Pointer

    /// Never freed: `standard` and `legacy` are process-wide, and providers must outlive every object
    /// fetched from them.
    /// - Parameter generator: the kind of random generator; nil for the usual one.
    init(providers: [String], generator: String? = nil) {
        unsafe context = Pointer(raw: OSSL_LIB_CTX_new())
        var missing: [String] = []
        for name in providers where unsafe OSSL_PROVIDER_load(context.raw, name) == nil {
            missing.append(name)
        }
        missingProviders = missing
        if let generator { unsafe RAND_set_DRBG_type(context.raw, generator, nil, nil, nil) }
        OpenSSLError.discardQueue()
    }

    /// The C context, for calls inside this module; owned by this object.
    var pointer: OpaquePointer? { unsafe context.raw }

    /// `@unchecked Sendable`: an `OSSL_LIB_CTX` locks inside; the pointer itself never changes.
    @unsafe private struct Pointer: @unchecked Sendable {
        let raw: OpaquePointer?
    }
}
