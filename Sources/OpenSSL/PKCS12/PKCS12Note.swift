/// An unusual property of a file that does not prevent reading it.
package enum PKCS12Note: Sendable, Hashable {
    /// The file's object is followed by this number of zero bytes.
    case trailingZeroes(Int)
    /// The file uses BER, not DER.
    case basicEncoding
    /// The file has no MAC, so a change would not be detected.
    case noMAC
    /// The password opened the named layer in a non-standard encoding.
    case passwordEncoding(layer: String, PasswordEncoding)
    /// A friendly name is not a BMPString, has an odd length, or was truncated.
    case oddFriendlyName(place: String)
    /// The safe, or the nested safe contents, at `place` contains no bag.
    case emptySafe(place: String)
    /// The file contains a certificate more than once.
    case duplicateCertificate(label: String)
    /// The key at `place` has the localKeyID of a certificate for another key.
    case mismatchedKey(place: String)
    /// The key at `place` has a different password or is damaged.
    case lockedKey(place: String)
    /// The password does not decrypt the key at `place`, although the MAC accepted the password: the file has two
    /// passwords.
    case ownPassword(place: String)
    /// At `place`, the cipher's identifier (`named`) and the key derivation specify different AES key sizes. The size
    /// in the key derivation was used (`used`). NSS wrote such files before 3.30.
    case keyLength(place: String, named: String, used: String)
    /// The decrypted octets at `place` are not a private key.
    case unreadableKey(place: String)
    /// The object at `place` is followed by this number of octets, although nothing should follow it.
    case trailingOctets(place: String, count: Int)
    /// The key at `place` was not loaded, because its parameters could make loading it arbitrarily slow.
    case refusedKey(place: String, reason: String)
}

extension PKCS12Note: CustomStringConvertible {
    /// The note as a sentence without a full stop.
    package var description: String {
        switch self {
        case .trailingZeroes(let count): "\(count) zero bytes follow the end of the file"
        case .basicEncoding: "the encoding is BER, not DER"
        case .noMAC: "the file has no MAC that would reveal changes"
        case .passwordEncoding(let layer, let encoding):
            "the password of \(layer) was encoded as \(encoding.words)"
        case .oddFriendlyName(let place): "the friendly name of \(place) is not a plain BMPString"
        case .emptySafe(let place): "\(place) is empty"
        case .duplicateCertificate(let label): "certificate \(label) occurs more than once"
        case .mismatchedKey(let place): "\(place) refers to a certificate that belongs to another key"
        case .lockedKey(let place): "\(place) is a key that is damaged or has a different password"
        case .ownPassword(let place):
            "the file has two passwords: this one matches the MAC, but the key \(place) is encrypted with the other"
        case .keyLength(let place, let named, let used):
            "\(place) claims \(named) encryption, but was decrypted with the key length of \(used), as in files from NSS before 3.30"
        case .unreadableKey(let place): "\(place) does not contain a private key"
        case .trailingOctets(let place, let count):
            "\(count) octet\(count == 1 ? " follows" : "s follow") the contents of \(place)"
        case .refusedKey(let place, let reason): "the key in \(place) was not loaded: \(reason)"
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
