/// The parameters for writing a PKCS #12 file: encryption, MAC, iterations, and whether to include the chain
/// (docs/rules.md R3.20).
package struct PKCS12Profile: Sendable, Hashable {
    /// The profiles, with the names that commands accept.
    package enum Name: String, Sendable, CaseIterable, Codable {
        /// The algorithms that OpenSSL 3 writes: AES-256, and HMAC-SHA-256 in PBKDF2 and MAC.
        case modern
        /// The algorithms that every reader since the nineties supports: three-key Triple DES and a SHA-1 MAC.
        case compatible
        /// The algorithms of the files that the public Purebred samples bundle: RC2-40 for the certificate, three-key
        /// Triple DES for the key, a SHA-1 MAC of one iteration, and no chain.
        case purebredSample = "purebred-sample"
        /// The layout of the files that the public Purebred sample apps serve: the certificate in the clear, three-key
        /// Triple DES for the key, a SHA-1 MAC, and no chain.
        case sampleServed = "sample-served"
        /// The profile `modern` with PBMAC1 (RFC 9579) as the MAC.
        case pbmac1
        /// The profile `modern` without a MAC.
        case noMAC = "no-mac"
        /// The profile `modern` under the empty password.
        case emptyPassword = "empty-password"
    }

    /// The profile's name, which determines the algorithms.
    package let name: Name
    /// The iterations of each key derivation of the encryption.
    package var iterations: Int
    /// The iterations of the MAC's key derivation; ignored if the profile has no MAC.
    package var macIterations: Int
    /// Whether `PKCS12.create` writes the given chain.
    package var includesChain: Bool

    /// The profile `modern` with 2,048 iterations.
    package static let modern = PKCS12Profile(.modern)
    /// The profile `compatible` with 2,048 iterations.
    package static let compatible = PKCS12Profile(.compatible)

    /// Creates a profile with the usual iterations: 2,048, and 1 for the MAC of `purebredSample`.
    package init(_ name: Name) {
        self.name = name
        iterations = 2_048
        macIterations = name == .purebredSample ? 1 : 2_048
        includesChain = name != .purebredSample && name != .sampleServed
    }

    /// Returns this profile with `count` iterations in encryption and MAC. The MAC of `purebredSample` keeps one
    /// iteration, which is characteristic of that profile.
    package func iterations(_ count: Int) -> PKCS12Profile {
        var profile = self
        profile.iterations = count
        if name != .purebredSample { profile.macIterations = count }
        return profile
    }

    /// Whether files are written under the empty password. If true, the given password is ignored.
    package var usesEmptyPassword: Bool { name == .emptyPassword }
}

// The algorithms of the profiles.
extension PKCS12Profile {
    /// The encryption of a layer.
    package enum Encryption: Sendable, Hashable {
        /// A scheme of RFC 7292, C, by its dotted identifier.
        case pbes1(String)
        /// PBES2 with PBKDF2. The cipher has blocks of 16 octets; `function` is the HMAC in PBKDF2.
        case pbes2(cipher: String = OID.aes256CBC, function: String = OID.hmacSHA256)
    }

    /// The kinds of MAC, which protects a file against change.
    enum MAC {
        /// HMAC with a key that is derived according to RFC 7292, B.2.
        case pkcs12(digest: String, oid: String, size: Int, saltLength: Int)
        /// PBMAC1 (RFC 9579), with HMAC-SHA-256 in PBKDF2 and as the MAC.
        case pbmac1
    }

    /// The encryption of the safe with the certificates; nil if the safe is in the clear.
    package var certificateEncryption: Encryption? {
        switch name {
        case .sampleServed: nil
        case .purebredSample: .pbes1(OID.pbeWithSHA1AndRC2With40Bits)
        default: keyEncryption
        }
    }

    /// The encryption of each key.
    package var keyEncryption: Encryption {
        switch name {
        case .compatible, .purebredSample, .sampleServed: .pbes1(OID.pbeWithSHA1AndTripleDES)
        case .modern, .pbmac1, .noMAC, .emptyPassword: .pbes2()
        }
    }

    /// The MAC; nil if the profile has no MAC.
    var mac: MAC? {
        switch name {
        case .compatible, .purebredSample, .sampleServed:
            .pkcs12(digest: "SHA1", oid: OID.sha1, size: 20, saltLength: 8)
        case .modern, .emptyPassword:
            .pkcs12(digest: "SHA256", oid: OID.sha256, size: 32, saltLength: 16)
        case .pbmac1: .pbmac1
        case .noMAC: nil
        }
    }
}
