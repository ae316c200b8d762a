/// Something unusual about a file that does not keep it from being read.
package enum PKCS12Note: Sendable, Hashable {
    /// So many zero bytes follow the file's object.
    case trailingZeroes(Int)
    /// The file uses BER, not DER.
    case basicEncoding
    /// The file has no MAC: nothing tells whether it was changed.
    case noMAC
    /// The password opened the named layer in an encoding that the standard does not name.
    case passwordEncoding(layer: String, PasswordEncoding)
    /// A friendly name is no BMPString, has an odd length, or was cut.
    case oddFriendlyName(place: String)
    /// A safe holds no bag.
    case emptySafe(place: String)
    /// A certificate stands in the file more than once.
    case duplicateCertificate(label: String)
    /// A certificate has the localKeyID of a key that is not its own.
    case mismatchedKey(place: String)
    /// A key is under a password of its own, or damaged.
    case lockedKey(place: String)
    /// The decrypted octets at `place` are no private key.
    case unreadableKey(place: String)
    /// So many octets follow the object that should be alone at `place`.
    case trailingOctets(place: String, count: Int)
    /// A key was not loaded, because its author chooses how much work loading is.
    case refusedKey(place: String, reason: String)
}

extension PKCS12Note: CustomStringConvertible {
    /// The note as a sentence without a full stop.
    package var description: String {
        switch self {
        case .trailingZeroes(let count): "\(count) zero bytes follow the file's end"
        case .basicEncoding: "the encoding is BER, not DER"
        case .noMAC: "no MAC protects the file against change"
        case .passwordEncoding(let layer, let encoding):
            "the password of \(layer) was taken as \(encoding.words)"
        case .oddFriendlyName(let place): "the friendly name of \(place) is no plain BMPString"
        case .emptySafe(let place): "\(place) is empty"
        case .duplicateCertificate(let label): "certificate \(label) is there more than once"
        case .mismatchedKey(let place): "the certificate that \(place) names is for another key"
        case .lockedKey(let place): "\(place) is a key that is damaged, or under a password of its own"
        case .unreadableKey(let place): "what \(place) holds is no private key"
        case .trailingOctets(let place, let count):
            "\(count) octet\(count == 1 ? " follows" : "s follow") what \(place) holds"
        case .refusedKey(let place, let reason): "the key of \(place) was not loaded: \(reason)"
        }
    }
}

extension PasswordEncoding {
    fileprivate var words: String {
        switch self {
        case .absent: "absent"
        case .empty: "empty"
        case .utf16: "UTF-16 with a terminator"
        case .widenedBytes: "bytes widened to 16 bits (OpenSSL 1.0.2)"
        case .bytes: "given (UTF-8)"
        case .latin1: "ISO-8859-1"
        }
    }
}
