/// Where provisioning gets its random numbers: from the system, or from a seed so that everything comes out
/// the same again.
package enum RandomSource: Sendable {
    case system
    /// Insecure by nature: whoever knows the seed knows the keys.
    case seeded(Seed)

    /// The source of one part of the work. What a child gives depends on its name alone, so parts may be made
    /// in any order, at the same time, or by different processes.
    package func child(_ name: String) -> RandomSource {
        switch self {
        case .system: .system
        case .seeded(let seed): .seeded(seed.child(name))
        }
    }

    /// The seed, for what OpenSSL makes; nil lets it use its own source.
    package var seed: Seed? {
        switch self {
        case .system: nil
        case .seeded(let seed): seed
        }
    }

    /// Numbers of this source; equal sources give equal ones.
    package func generator() -> Generator {
        switch self {
        case .system: Generator(seeded: nil)
        case .seeded(let seed): Generator(seeded: seed.generator())
        }
    }

    /// The numbers of a source.
    ///
    /// Also where the system's are wanted and nothing else: its own generator is a value without a size, and what
    /// the compiler passes for its address makes the thread sanitizer crash.
    package struct Generator: RandomNumberGenerator, Sendable {
        fileprivate var seeded: SeededGenerator?
        private var system = SystemRandomNumberGenerator()

        fileprivate init(seeded: SeededGenerator?) {
            self.seeded = seeded
        }

        package mutating func next() -> UInt64 {
            seeded?.next() ?? system.next()
        }

        /// So many octets.
        package mutating func octets(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
        }
    }
}
