/// The bounds of what is read from a PKCS #12 file, and of the work that is done for it (docs/rules.md R7.12, R7.13).
///
/// The writer of a file chooses how much work a key derivation is, and 2 KiB can ask for hours. Every count is therefore
/// checked before its derivation begins.
package struct PKCS12Limits: Sendable {
    /// The size of the whole file, in bytes.
    package var fileSize = 1 << 20
    /// The number of zero bytes that may follow the file's object; Windows pads files with them.
    package var trailingZeroes = 16
    /// The number of safes in the file (ContentInfo in the AuthenticatedSafe).
    package var safes = 32
    /// The number of bags in the file, those of nested safe contents included.
    package var bags = 64
    /// The depth of safe contents inside safe contents.
    package var nesting = 2
    /// The iterations of one key derivation.
    package var iterations = 2_000_000
    /// The processor time of all key derivations of the file together, as it is reckoned before each begins.
    package var patience = Duration.seconds(2)
    /// The processor time of all key derivations of an archive's files together.
    package var archivePatience: Duration { patience * 10 }
    /// The memory that one scrypt derivation (RFC 7914) may take, in bytes.
    package var scryptMemory = 64 << 20
    /// The length of a friendly name in code points; a longer name is cut and noted.
    package var friendlyName = 256

    /// The limits for files from anywhere.
    package static let standard = PKCS12Limits()

    /// The standard limits, each of which may be changed.
    package init() {}
}

/// A limit that a file exceeds.
package enum PKCS12Limit: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// The file is too large.
    case fileSize
    /// There are too many safes.
    case safes
    /// There are too many bags.
    case bags
    /// Safe contents are nested too deep.
    case nesting
    /// One key derivation asks for no iteration, a negative number of them, or too many.
    case iterations
    /// All key derivations of the file, or of its archive, take too much processor time together.
    case work
    /// A scrypt derivation asks for too much memory or for impossible parameters.
    case scrypt
    /// Loading a private key would take work that its author chooses, as with DSA past 3,072 bits.
    case keyLoading
    /// The password has a zero byte inside, which programs that end strings there would cut.
    case passwordWithZeroByte

    /// The limit in words.
    package var description: String {
        switch self {
        case .fileSize: "the file is too large"
        case .safes: "there are too many safes in the file"
        case .bags: "there are too many bags in the file"
        case .nesting: "safe contents are nested too deep"
        case .iterations: "an iteration count is zero, negative or too large"
        case .work: "the key derivations take too much processor time"
        case .scrypt: "the scrypt parameters are out of bounds"
        case .keyLoading: "loading a private key takes too much work"
        case .passwordWithZeroByte: "the password has a zero byte inside"
        }
    }
}
