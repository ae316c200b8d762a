internal import COpenSSL

/// A seed from which keys, signatures and other test material can be reproduced byte for byte.
///
/// Anyone with the seed can reproduce every key. Use it for test material only.
///
/// A seed has named children, each a seed of its own. Material created from a child does not depend on what was created
/// before, nor on the thread or process. RSA keys also depend on OpenSSL's search for primes, which has not changed
/// within OpenSSL 3.0.
package struct Seed: Sendable, Hashable {
    fileprivate let octets: [UInt8]

    /// Creates a seed from a string, such as a number that the user chose.
    package init(_ text: String) {
        octets = Digest.sha256(Array("keyshare seed: \(text)".utf8))
    }

    private init(octets: [UInt8]) {
        self.octets = octets
    }

    /// Returns the child seed for the part of the work called `name`. Equal names result in equal children.
    package func child(_ name: String) -> Seed {
        Seed(octets: Digest.sha256(octets + Array(name.utf8)))
    }

    /// Returns the first `count` octets of the SHAKE256 (FIPS 202) of the seed.
    ///
    /// - Throws: `OpenSSLError` if OpenSSL does not have SHAKE256.
    package func octets(_ count: Int) throws(OpenSSLError) -> [UInt8] {
        let context = unsafe EVP_MD_CTX_new()
        defer { unsafe EVP_MD_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: count)
        guard unsafe EVP_DigestInit_ex(context, EVP_shake256(), nil) == 1,
            unsafe EVP_DigestUpdate(context, octets, octets.count) == 1,
            unsafe EVP_DigestFinalXOF(context, &output, count) == 1
        else { throw .draining("stretching a seed") }
        return output
    }

    /// Returns a generator at the beginning of the seed's sequence of numbers.
    package func generator() -> SeededGenerator { SeededGenerator(self) }
}

/// A generator of pseudorandom numbers from a seed. Each SHA-256 of the seed and a block counter yields four numbers.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private let seed: Seed
    private var counter = 0
    private var pending: [UInt8] = []

    init(_ seed: Seed) {
        self.seed = seed
    }

    /// Returns the next 64 bits.
    package mutating func next() -> UInt64 {
        if pending.isEmpty {
            pending = seed.child("block \(counter)").octets
            counter += 1
        }
        defer { pending.removeFirst(8) }
        return pending.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
