/// The limits on the contents of a PKCS #12 file and on the work for it (docs/rules.md R7.12, R7.13).
///
/// The writer of a file determines the work of its key derivations, so a file of 2 KiB can require hours. Every
/// iteration count is therefore checked before its derivation begins.
package struct PKCS12Limits: Sendable {
    /// The maximum size of the whole file, in bytes.
    package var fileSize = 1 << 20
    /// The maximum number of zero bytes after the file's object. Windows pads files with them.
    package var trailingZeroes = 16
    /// The maximum number of safes in the file (ContentInfo in the AuthenticatedSafe).
    package var safes = 32
    /// The maximum number of bags in the file, including those in nested safe contents.
    package var bags = 64
    /// The maximum number of ASN.1 objects that are parsed together: those of a file, or those of a safe's contents.
    package static let objects = 20_000
    /// The maximum number of ASN.1 objects of all certificates of the file in total, with those inside extensions.
    /// Certificates in practice have about 100 objects each.
    package var certificateObjects: Int { max(Self.objects, 300 * bags) }
    /// The maximum number of attributes of all bags of the file in total.
    package var attributes = 1_000
    /// The maximum depth of safe contents that are nested in other safe contents.
    package var nesting = 2
    /// The maximum number of iterations of one key derivation.
    package var iterations = 2_000_000
    /// The maximum processor time of all key derivations and key checks of the file in total, estimated before each
    /// begins.
    package var patience = Duration.seconds(2)
    /// The maximum processor time of the key derivations and key checks of all files in an archive in total.
    package var archivePatience: Duration { patience * 10 }
    /// The maximum memory of one scrypt derivation (RFC 7914), in bytes.
    package var scryptMemory = 64 << 20
    /// The maximum length of a friendly name in Unicode scalars. A longer name is truncated, and a note is added.
    package var friendlyName = 256

    /// The limits for files of any origin.
    package static let standard = PKCS12Limits()

    /// Limits for describing an encryption without deriving a key, which costs nothing.
    static let unlimitedWork: PKCS12Limits = {
        var limits = PKCS12Limits()
        limits.iterations = .max
        limits.scryptMemory = .max
        return limits
    }()

    /// Creates the standard limits, which can be changed.
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
    /// The file, the contents of a safe, or the certificates consist of too many ASN.1 objects.
    case objects
    /// The bags have too many attributes.
    case attributes
    /// Safe contents are nested too deep.
    case nesting
    /// The iteration count of a key derivation is zero, negative or too large.
    case iterations
    /// All key derivations and key checks of the file, or of its archive, require too much processor time in total.
    case work
    /// A scrypt derivation requires too much memory or has impossible parameters.
    case scrypt
    /// Loading a private key could require unlimited work, which the key's author determines, as with DSA above 3,072
    /// bits.
    case keyLoading
    /// The password contains a zero byte. Programs that use C strings would cut it there.
    case passwordWithZeroByte

    /// The limit in readable form.
    package var description: String {
        switch self {
        case .fileSize: "the file is too large"
        case .safes: "the file has too many safes"
        case .bags: "the file has too many bags"
        case .objects: "the file consists of too many ASN.1 objects"
        case .attributes: "the bags have too many attributes"
        case .nesting: "the safes are nested too deeply"
        case .iterations: "an iteration count is zero, negative or too large"
        case .work: "the key derivations and checks of keys require too much processor time"
        case .scrypt: "the scrypt parameters are out of bounds"
        case .keyLoading: "loading a private key requires too much work"
        case .passwordWithZeroByte: "the password contains a zero byte"
        }
    }
}
