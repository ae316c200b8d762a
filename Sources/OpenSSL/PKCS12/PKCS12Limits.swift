/// How much of a PKCS #12 file is looked at and how much work is done for it.
///
/// The work of a key derivation is chosen by whoever wrote the file, and a file of 2 KiB can ask for hours of
/// it. Every count is therefore read and checked before the derivation it belongs to.
package struct PKCS12Limits: Sendable {
    /// Bytes of the whole file.
    package var fileSize = 1 << 20
    /// Zero bytes that may follow the file's one object; Windows pads with them.
    package var trailingZeroes = 16
    /// Safes (ContentInfo) in the file.
    package var safes = 32
    /// Bags in the file, those inside nested safe contents included.
    package var bags = 64
    /// Safe contents inside safe contents.
    package var nesting = 2
    /// Iterations of one key derivation.
    package var iterations = 2_000_000
    /// Iterations of all key derivations of the file together.
    package var totalIterations = 5_000_000
    /// Bytes of memory that one scrypt derivation (RFC 7914) may take.
    package var scryptMemory = 64 << 20
    /// Code points of a friendly name; a longer one is cut and noted.
    package var friendlyName = 256

    /// The defaults above.
    package static let standard = PKCS12Limits()

    /// The defaults, to be changed one by one.
    package init() {}
}

/// The limit that a file passed.
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
    /// All key derivations together ask for too many iterations.
    case totalIterations
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
        case .totalIterations: "the iteration counts add up to too much work"
        case .scrypt: "the scrypt parameters are out of bounds"
        case .keyLoading: "loading a private key takes too much work"
        case .passwordWithZeroByte: "the password has a zero byte inside"
        }
    }
}

/// The work that one file has asked for and been given.
///
/// What the file declares is counted once, against the total. Trying a password in a further encoding is our
/// own doing: it is paid from what the total leaves, so that the work stays below twice the total whatever
/// the file says.
struct IterationBudget {
    private let limits: PKCS12Limits
    private var declared = 0
    private var spent = 0

    init(limits: PKCS12Limits) {
        self.limits = limits
    }

    /// Counts a derivation that the file asks for, before it is done.
    mutating func declare(_ iterations: Int) throws(PKCS12Error) {
        declared += iterations
        guard declared <= limits.totalIterations else {
            throw .refused(
                .totalIterations,
                reason: "refused: the file asks for more than \(limits.totalIterations) iterations in all")
        }
    }

    /// Whether a derivation may be done: the first always, a further one while the total lasts.
    mutating func spend(_ iterations: Int, isFirst: Bool) -> Bool {
        guard isFirst || spent + iterations <= limits.totalIterations else { return false }
        spent += iterations
        return true
    }
}
