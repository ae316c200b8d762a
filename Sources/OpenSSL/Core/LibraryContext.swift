internal import COpenSSL
internal import SecretMemory

/// An OpenSSL library context (`OSSL_LIB_CTX`): a set of providers, which implement the algorithms.
///
/// There are several contexts, so that most code has no access to obsolete algorithms. Contexts are never freed.
/// Several threads may use one context concurrently (openssl-threads(7)).
@safe package final class LibraryContext: Sendable {
    /// The context with only the `default` provider, for everything except PKCS #12 files of other programs.
    package static let standard = LibraryContext(providers: ["default"])

    /// The context with the `default` and `legacy` providers (RC2, RC4, single DES, MD2 …), for reading PKCS #12 files
    /// and for writing files like those of the sample apps.
    package static let legacy = LibraryContext(providers: ["default", "legacy"])

    /// A context without any algorithm, for decoding certificates without loading their keys.
    ///
    /// When OpenSSL 3 decodes a certificate, it also tries to load the public key with every decoder of the context's
    /// providers. Loading the key takes three quarters of the decoding time. This context has no decoder to try, and
    /// the rest of the certificate is decoded as usual. The `null` provider is needed because a context without
    /// providers loads the default one on first use (OSSL_PROVIDER-null(7)).
    static let withoutProviders = LibraryContext(providers: ["null"])

    /// The names of the requested providers that could not be loaded.
    ///
    /// Debian installs `legacy` as a separate file (`ossl-modules/legacy.so`), which may be missing.
    package let missingProviders: [String]

    private let context: Pointer

    /// Creates a context. It is never freed, because providers must outlive every object that was fetched from them.
    ///
    /// - Parameters:
    ///   - providers: The names of the providers to load. Names that fail to load are added to ``missingProviders``.
    ///   - generator: OpenSSL's name of the random generator; nil for OpenSSL's default.
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

    /// The C context (`OSSL_LIB_CTX`), which this object owns.
    var pointer: OpaquePointer? { unsafe context.raw }

    /// The C context as a value that may cross threads.
    ///
    /// `@unchecked Sendable`: the pointer never changes, and an `OSSL_LIB_CTX` protects its contents with its own locks
    /// (openssl-threads(7)).
    @unsafe private struct Pointer: @unchecked Sendable {
        let raw: OpaquePointer?
    }
}

extension LibraryContext {
    /// The context that ``drawing(from:octets:)`` returns for a seed. Its generator is OpenSSL's generator for
    /// known-answer tests, which returns preset numbers (EVP_RAND-TEST-RAND(7)).
    private static let seeded = LibraryContext(providers: ["default"], generator: "TEST-RAND")

    /// Returns the context for creating a key or a signature: ``standard``, or a context whose random numbers come from
    /// a seed.
    ///
    /// OpenSSL has one generator for each thread. Use the context on the thread that called this function, without a
    /// suspension in between. The next call with a seed restarts the generator.
    ///
    /// - Parameters:
    ///   - seed: The seed; nil for OpenSSL's own random source.
    ///   - count: The number of random octets that OpenSSL can draw. Drawing more fails.
    /// - Throws: `OpenSSLError` if the library does not have the generator.
    static func drawing(from seed: Seed?, octets count: Int = 4096) throws(OpenSSLError) -> LibraryContext {
        guard let seed else { return standard }
        let parameters = ParameterList()
        parameters.append(OSSL_RAND_PARAM_STRENGTH, strength)
        parameters.append(OSSL_RAND_PARAM_TEST_ENTROPY, SecretBytes(try seed.octets(count)))
        let generators = unsafe [RAND_get0_public(seeded.pointer), RAND_get0_private(seeded.pointer)]
        let isSet = unsafe generators.allSatisfy { generator in
            unsafe generator != nil
                && parameters.withUnsafeParameters { unsafe EVP_RAND_CTX_set_params(generator, $0) } == 1
        }
        guard isSet else { throw .draining("seeding the random source") }
        return seeded
    }

    /// The security strength of the generator in bits. Creating a key fails if the key requires more.
    private static let strength: UInt64 = 256
}
