/// How a PKCS #12 file is written: which encryption, which MAC, how much work.
package struct PKCS12Profile: Sendable, Hashable {
    /// The profiles that there are, by the names that commands take.
    package enum Name: String, Sendable, CaseIterable {
        /// What OpenSSL 3 writes: AES-256, PBKDF2 and MAC with HMAC-SHA-256.
        case modern
        /// What every reader since the nineties takes: three-key Triple DES and a SHA-1 MAC.
        case compatible
    }

    /// Which profile it is.
    package let name: Name
    /// Iterations of each derivation of the encryption.
    package var iterations: Int
    /// Iterations of the MAC's derivation.
    package var macIterations: Int

    /// What OpenSSL 3 writes: AES-256, PBKDF2 and MAC with HMAC-SHA-256, 2,048 iterations.
    package static let modern = PKCS12Profile(.modern)
    /// Three-key Triple DES for key and certificates, SHA-1 MAC, 2,048 iterations.
    package static let compatible = PKCS12Profile(.compatible)

    /// A profile with its usual iterations.
    package init(_ name: Name) {
        self.name = name
        iterations = 2_048
        macIterations = 2_048
    }

    /// The same profile with another number of iterations throughout.
    package func iterations(_ count: Int) -> PKCS12Profile {
        var profile = self
        profile.iterations = count
        profile.macIterations = count
        return profile
    }
}
