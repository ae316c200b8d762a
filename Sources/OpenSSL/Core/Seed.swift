internal import COpenSSL

/// A number that keys, signatures and everything else can be made from again, byte for byte.
///
/// Whoever knows the seed knows every key: for test material that must be repeatable, never for anything else.
/// A seed has children by name, so that what is made from one does not depend on what was made before it, by
/// which thread, or in which process. Keys also depend on how the library searches for primes, which has stayed
/// the same throughout OpenSSL 3.0.
package struct Seed: Sendable, Hashable {
    private let octets: [UInt8]

    /// The seed of a text, such as the number that a user gave.
    package init(_ text: String) {
        octets = Digest.sha256(Array("keyshare seed: \(text)".utf8))
    }

    private init(octets: [UInt8]) {
        self.octets = octets
    }

    /// The seed of one part of the work; equal names give equal children.
    package func child(_ name: String) -> Seed {
        Seed(octets: Digest.sha256(octets + Array(name.utf8)))
    }

    /// So many octets; more of them start with the same ones.
    ///
    /// - Throws: `OpenSSLError` where SHAKE256 is not to be had.
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

    /// Numbers drawn from the seed.
    package func generator() -> SeededGenerator { SeededGenerator(self) }
}

/// The numbers of a seed, in order: SHA-256 of the seed and a counter.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private let seed: Seed
    private var counter = 0
    private var pending: [UInt8] = []

    init(_ seed: Seed) {
        self.seed = seed
    }

    package mutating func next() -> UInt64 {
        if pending.isEmpty {
            pending = seed.child("block \(counter)").block
            counter += 1
        }
        defer { pending.removeFirst(8) }
        return pending.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension Seed {
    fileprivate var block: [UInt8] { octets }
}
