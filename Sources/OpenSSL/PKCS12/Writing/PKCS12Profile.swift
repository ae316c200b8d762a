/// How a PKCS #12 file is written: which encryption, which MAC, how much work, whether with the chain.
package struct PKCS12Profile: Sendable, Hashable {
    /// The profiles that there are, by the names that commands take.
    package enum Name: String, Sendable, CaseIterable, Codable {
        /// What OpenSSL 3 writes: AES-256, PBKDF2 and MAC with HMAC-SHA-256.
        case modern
        /// What every reader since the nineties takes: three-key Triple DES and a SHA-1 MAC.
        case compatible
        /// The parameters of the public Purebred samples: the certificate under RC2-40, the key under
        /// three-key Triple DES, a SHA-1 MAC whose one iteration is left unsaid, no chain.
        case purebredSample = "purebred-sample"
        /// As `modern`, with a MAC of RFC 9579: PBMAC1 with PBKDF2 and HMAC-SHA-256.
        case pbmac1
        /// As `modern`, with no MAC at all.
        case noMAC = "no-mac"
        /// As `modern`, under the empty password.
        case emptyPassword = "empty-password"
    }

    /// Which profile it is.
    package let name: Name
    /// Iterations of each derivation of the encryption.
    package var iterations: Int
    /// Iterations of the MAC's derivation; without meaning where there is no MAC.
    package var macIterations: Int
    /// Whether the further certificates handed to `PKCS12.create` are written.
    package var includesChain: Bool

    /// What OpenSSL 3 writes: AES-256, PBKDF2 and MAC with HMAC-SHA-256, 2,048 iterations.
    package static let modern = PKCS12Profile(.modern)
    /// Three-key Triple DES for key and certificates, SHA-1 MAC, 2,048 iterations.
    package static let compatible = PKCS12Profile(.compatible)

    /// A profile with its usual iterations: 2,048, and 1 for the MAC of `purebredSample`.
    package init(_ name: Name) {
        self.name = name
        iterations = 2_048
        macIterations = name == .purebredSample ? 1 : 2_048
        includesChain = name != .purebredSample
    }

    /// The same profile with another number of iterations throughout; the MAC of `purebredSample` keeps its
    /// one, which is what marks that profile.
    package func iterations(_ count: Int) -> PKCS12Profile {
        var profile = self
        profile.iterations = count
        if name != .purebredSample { profile.macIterations = count }
        return profile
    }

    /// Whether files are written under the empty password, whichever password is given.
    package var usesEmptyPassword: Bool { name == .emptyPassword }
}

/// What the names of profiles stand for.
extension PKCS12Profile {
    /// How a layer is encrypted.
    enum Encryption {
        /// A scheme of RFC 7292, C, by its identifier.
        case pbes1(String)
        /// PBES2 with PBKDF2, HMAC-SHA-256 and AES-256-CBC.
        case pbes2
    }

    /// How a file is protected against change.
    enum MAC {
        /// HMAC under a key of RFC 7292, B.
        case pkcs12(digest: String, oid: String, size: Int, saltLength: Int)
        /// RFC 9579 with HMAC-SHA-256 throughout.
        case pbmac1
    }

    var certificateEncryption: Encryption {
        switch name {
        case .purebredSample: .pbes1("1.2.840.113549.1.12.1.6")
        default: keyEncryption
        }
    }

    var keyEncryption: Encryption {
        switch name {
        case .compatible, .purebredSample: .pbes1("1.2.840.113549.1.12.1.3")
        case .modern, .pbmac1, .noMAC, .emptyPassword: .pbes2
        }
    }

    /// nil where the file has none.
    var mac: MAC? {
        switch name {
        case .compatible, .purebredSample:
            .pkcs12(digest: "SHA1", oid: "1.3.14.3.2.26", size: 20, saltLength: 8)
        case .modern, .emptyPassword:
            .pkcs12(digest: "SHA256", oid: "2.16.840.1.101.3.4.2.1", size: 32, saltLength: 16)
        case .pbmac1: .pbmac1
        case .noMAC: nil
        }
    }
}
