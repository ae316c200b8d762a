internal import COpenSSL
internal import SecretMemory

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

    /// A context without any algorithm, for decoding certificates without loading their keys.
    ///
    /// OpenSSL 3 tries to load the public key of every certificate that it decodes, through whatever decoders the
    /// context's providers have, and that takes three quarters of the time. In this context there is nothing to try,
    /// and the rest of the certificate is decoded as usual. The `null` provider stands in because a context with no
    /// provider at all loads the default one on first use (OSSL_PROVIDER-null(7)).
    static let withoutProviders = LibraryContext(providers: ["null"])

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

extension LibraryContext {
    /// A context whose random source gives what a seed says: OpenSSL's own generator for known-answer tests.
    private static let seeded = LibraryContext(providers: ["default"], generator: "TEST-RAND")

    /// Where to make keys and signatures: the standard context without a seed; with one a context whose
    /// random numbers are the seed's, for this thread, until it is called again.
    ///
    /// The calls that draw from it must follow on the same thread, without a suspension between.
    ///
    /// - Parameter count: how many octets are laid ready; drawing more fails.
    /// - Throws: `OpenSSLError` where the library has no such generator.
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

    /// As strong as the keys that are made ask for, in bits; a claim that only a test generator makes.
    private static let strength: UInt64 = 256
}
