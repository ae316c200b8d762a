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
    /// modulus, or an exponent that reverses the public one (RFC 8017, 3.2); it takes microseconds, because it does not
    /// test whether the factors are prime.
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

    private static func isConsistentRSA(_ key: OpaquePointer?) -> Bool {
        let names = ["n", "e", "d", "rsa-factor1", "rsa-factor2"]
        let numbers = unsafe names.map { name -> OpaquePointer? in
            var number: OpaquePointer?
            return unsafe EVP_PKEY_get_bn_param(key, name, &number) == 1 ? number : nil
        }
        let context = unsafe BN_CTX_secure_new()
        defer {
            unsafe numbers.forEach { unsafe BN_clear_free($0) }
            unsafe BN_CTX_free(context)
        }
        guard let n = unsafe numbers[0], let e = unsafe numbers[1], let d = unsafe numbers[2],
            unsafe BN_num_bits(n) <= mostModulusBits, unsafe BN_num_bits(e) <= mostModulusBits,
            unsafe BN_num_bits(d) <= mostModulusBits
        else { return false }
        let scratch = unsafe BN_CTX_get(context)
        if let p = unsafe numbers[3], let q = unsafe numbers[4],
            unsafe BN_num_bits(p) <= mostModulusBits, unsafe BN_num_bits(q) <= mostModulusBits,
            unsafe BN_num_bits(p) > 1, unsafe BN_num_bits(q) > 1,
            unsafe BN_mul(scratch, p, q, context) == 1, unsafe BN_cmp(scratch, n) == 0
        {
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
