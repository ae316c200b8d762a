internal import COpenSSL
internal import SecretMemory

/// An OpenSSL library context (`OSSL_LIB_CTX`): a set of providers, which are what implements algorithms.
///
/// There are several contexts, so that old algorithms can be reached only where they are asked for. They live as long
/// as the process. Several threads may use one context at once (openssl-threads(7)).
@safe package final class LibraryContext: Sendable {
    /// The context with the `default` provider alone, which everything uses except PKCS #12 files from elsewhere.
    package static let standard = LibraryContext(providers: ["default"])

    /// The context with the `default` and `legacy` providers (RC2, RC4, single DES, MD2 …), for reading PKCS #12 files
    /// and for writing files like those of the sample apps.
    package static let legacy = LibraryContext(providers: ["default", "legacy"])

    /// A context without any algorithm, for decoding certificates without loading their keys.
    ///
    /// OpenSSL 3 tries to load the public key of every certificate that it decodes, through whatever decoders the
    /// context's providers have, and that takes three quarters of the time. In this context there is nothing to try,
    /// and the rest of the certificate is decoded as usual. The `null` provider stands in because a context with no
    /// provider at all loads the default one on first use (OSSL_PROVIDER-null(7)).
    static let withoutProviders = LibraryContext(providers: ["null"])

    /// The names of the providers that were asked for and could not be loaded.
    ///
    /// Debian keeps `legacy` in a file of its own (`ossl-modules/legacy.so`), which may be missing.
    package let missingProviders: [String]

    private let context: Pointer

    /// Makes a context, which is never freed: providers must outlive every object that was fetched from them.
    ///
    /// - Parameters:
    ///   - providers: The names of the providers to load; those that cannot be loaded are in ``missingProviders``.
    ///   - generator: The kind of random generator by OpenSSL's name; nil for OpenSSL's choice.
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
    /// `@unchecked Sendable`: the pointer never changes, and an `OSSL_LIB_CTX` guards its contents with locks of its
    /// own (openssl-threads(7)).
    @unsafe private struct Pointer: @unchecked Sendable {
        let raw: OpaquePointer?
    }
}

extension LibraryContext {
    /// The context whose random numbers come from a seed, through OpenSSL's generator for known-answer tests
    /// (EVP_RAND-TEST-RAND(7)).
    private static let seeded = LibraryContext(providers: ["default"], generator: "TEST-RAND")

    /// The context in which to make a key or a signature: ``standard``, or with a seed one whose random numbers are
    /// those of the seed.
    ///
    /// OpenSSL keeps one generator for each thread. The calls that draw random numbers must therefore follow on the
    /// thread that called this function, without a suspension in between; the next call for a seed starts anew.
    ///
    /// - Parameters:
    ///   - seed: The seed; nil for OpenSSL's own random source.
    ///   - count: How many octets of the seed are made ready. Drawing more than that fails.
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

    /// The security strength in bits that the generator claims. Making a key fails if the key asks for more.
    private static let strength: UInt64 = 256
}
