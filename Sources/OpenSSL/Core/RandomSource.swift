/// A source of random numbers: the system, or a seed for reproducible results.
package enum RandomSource: Sendable {
    /// The operating system's random numbers, for everything that must be secret.
    case system
    /// Pseudorandom numbers from a seed. They are not secret: anyone with the seed can reproduce every key.
    case seeded(Seed)

    /// Returns the random source for the part of the work called `name`.
    ///
    /// A seeded child's numbers depend only on the seed and the name. The parts may therefore be created in any order,
    /// concurrently, or in different processes.
    package func child(_ name: String) -> RandomSource {
        switch self {
        case .system: .system
        case .seeded(let seed): .seeded(seed.child(name))
        }
    }

    /// The seed to pass to functions that create a key or a signature with OpenSSL; nil for the system's numbers.
    package var seed: Seed? {
        switch self {
        case .system: nil
        case .seeded(let seed): seed
        }
    }

    /// Returns a generator at the beginning of the source's sequence. Generators of equal seeds return equal numbers.
    package func generator() -> Generator {
        switch self {
        case .system: Generator(seeded: nil)
        case .seeded(let seed): Generator(seeded: seed.generator())
        }
    }

    /// The numbers of a random source.
    ///
    /// Code that only needs the system's numbers also uses this type instead of `SystemRandomNumberGenerator`. The
    /// latter is a value of size zero, and the thread sanitizer crashes on the address that the compiler passes for it.
    package struct Generator: RandomNumberGenerator, Sendable {
        fileprivate var seeded: SeededGenerator?
        private var system = SystemRandomNumberGenerator()

        fileprivate init(seeded: SeededGenerator?) {
            self.seeded = seeded
        }

        /// Returns the next 64 random bits.
        package mutating func next() -> UInt64 {
            seeded?.next() ?? system.next()
        }

        /// Returns the next `count` random octets. Each octet consumes one number of the generator.
        package mutating func octets(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
        }
    }
}
