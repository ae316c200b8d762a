internal import COpenSSL

extension PrivateKey {
    /// The maximum size of an RSA modulus, in bits. OpenSSL does not use larger keys (OPENSSL_RSA_MAX_MODULUS_BITS).
    private static let mostModulusBits = 16_384
    /// The maximum size of the modulus of a key without two primes, in bits. Its check takes as long as a signature.
    private static let mostSlowModulusBits = 4_096

    /// Whether the private half of the key belongs to its public half.
    ///
    /// An encoded key contains both halves, and OpenSSL loads a key whose halves belong to different keys. The public
    /// half can be copied from anyone's certificate. For RSA, the check proves that the key contains the factors of the
    /// modulus, or an exponent that reverses the public one (RFC 8017, 3.2). With factors, it takes microseconds, because
    /// it does not test whether they are prime. ``consistencyWork`` estimates the time of other checks.
    package var isConsistent: Bool {
        defer { OpenSSLError.discardQueue() }
        return switch type {
        case .rsa, .other(OID.rsaPSS): unsafe withPointer { unsafe Self.isConsistentRSA($0) }
        default:
            unsafe withPointer { key in
                let context = unsafe EVP_PKEY_CTX_new_from_pkey(LibraryContext.standard.pointer, key, nil)
                defer { unsafe EVP_PKEY_CTX_free(context) }
                return unsafe EVP_PKEY_pairwise_check(context) == 1
            }
        }
    }

    /// The estimated processor time of ``isConsistent``, in nanoseconds; 0 if the check takes less than a millisecond.
    ///
    /// An exponentiation takes about 80 ns for each product of two 64-bit words. A check on a curve takes at most 3.5 ms
    /// (571 bits).
    var consistencyWork: Int {
        let words = (bits + 63) / 64
        let work =
            switch type {
            case .rsa, .other(OID.rsaPSS):
                unsafe withPointer { unsafe Self.hasFactors($0) } || bits > Self.mostSlowModulusBits
                    ? 0 : 80 * words * words * (words + 4)
            // The exponent has at most 256 bits (KeyLoadingPolicy).
            case .dsa: 80 * words * words * 4
            default: 4_500 * min(words, 11) * min(words, 11) * min(words, 11)
            }
        return work < 1_000_000 ? 0 : work
    }

    /// Whether an RSA key contains two factors of its modulus.
    private static func hasFactors(_ key: OpaquePointer) -> Bool {
        defer { OpenSSLError.discardQueue() }
        return unsafe withNumbers(["n", "rsa-factor1", "rsa-factor2"], of: key) { numbers, context in
            guard let n = unsafe numbers[0] else { return false }
            return unsafe areFactors(numbers[1], numbers[2], of: n, context)
        }
    }

    private static func isConsistentRSA(_ key: OpaquePointer?) -> Bool {
        let names = ["n", "e", "d", "rsa-factor1", "rsa-factor2"]
        return unsafe withNumbers(names, of: key) { numbers, context in
            guard let n = unsafe numbers[0], let e = unsafe numbers[1], let d = unsafe numbers[2],
                unsafe BN_num_bits(n) <= mostModulusBits, unsafe BN_num_bits(e) <= mostModulusBits,
                unsafe BN_num_bits(d) <= mostModulusBits
            else { return false }
            let scratch = unsafe BN_CTX_get(context)
            if let p = unsafe numbers[3], let q = unsafe numbers[4], unsafe areFactors(p, q, of: n, context) {
                return unsafe [p, q].allSatisfy { prime in
                    let order = unsafe BN_CTX_get(context)
                    return unsafe BN_sub(order, prime, BN_value_one()) == 1
                        && BN_mod_mul(scratch, e, d, order, context) == 1 && BN_is_one(scratch) == 1
                }
            }
            // A key with more than two primes, or without any: 2 to the power of e·d must be 2 again.
            guard unsafe BN_num_bits(n) <= mostSlowModulusBits, unsafe BN_num_bits(e) <= 256,
                unsafe BN_num_bits(d) <= BN_num_bits(n)
            else { return false }
            let power = unsafe BN_CTX_get(context)
            return unsafe BN_set_word(scratch, 2) == 1 && BN_mod_exp(power, scratch, e, n, context) == 1
                && BN_mod_exp(power, power, d, n, context) == 1 && BN_cmp(power, scratch) == 0
        }
    }

    /// Calls a function with copies of numbers of a key (nil for each that it lacks) and with memory for computations.
    private static func withNumbers(
        _ names: [String], of key: OpaquePointer?, _ body: ([OpaquePointer?], OpaquePointer?) -> Bool
    ) -> Bool {
        let numbers = unsafe names.map { name -> OpaquePointer? in
            var number: OpaquePointer?
            return unsafe EVP_PKEY_get_bn_param(key, name, &number) == 1 ? number : nil
        }
        let context = unsafe BN_CTX_secure_new()
        defer {
            unsafe numbers.forEach { unsafe BN_clear_free($0) }
            unsafe BN_CTX_free(context)
        }
        return unsafe body(numbers, context)
    }

    /// Whether the product of two numbers above 1 is `n`.
    private static func areFactors(
        _ p: OpaquePointer?, _ q: OpaquePointer?, of n: OpaquePointer, _ context: OpaquePointer?
    ) -> Bool {
        guard let p = unsafe p, let q = unsafe q,
            unsafe BN_num_bits(p) <= mostModulusBits, unsafe BN_num_bits(q) <= mostModulusBits,
            unsafe BN_num_bits(p) > 1, unsafe BN_num_bits(q) > 1
        else { return false }
        let product = unsafe BN_CTX_get(context)
        return unsafe BN_mul(product, p, q, context) == 1 && BN_cmp(product, n) == 0
    }
}
