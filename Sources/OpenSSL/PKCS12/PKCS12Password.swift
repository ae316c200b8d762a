package import SecretMemory

/// The password of a PKCS #12 file.
///
/// An absent password differs from an empty one (RFC 7292, B.1; docs/rules.md R7.11). An absent password is encoded as
/// zero bytes, and an empty one as only the terminating character.
package enum PKCS12Password: Sendable {
    /// No password.
    case absent
    /// The bytes as entered, normally UTF-8. They may be empty.
    case text(SecretBytes)
}

/// The encoding of a password for a key derivation.
///
/// The standards define one encoding for each kind of derivation. Programs differ for characters outside ASCII.
package enum PasswordEncoding: String, Hashable, Sendable {
    /// No password, encoded as no bytes.
    case absent
    /// The empty password, encoded as only the terminator (RFC 7292) or as no bytes (RFC 8018).
    case empty
    /// UTF-16 big-endian with a terminating zero character: the standard for RFC 7292 derivations. Old versions of NSS
    /// also used it for PBES2.
    case utf16
    /// Each byte of the password as a 16-bit character. OpenSSL 1.0.2 used this encoding. It is the only 16-bit
    /// encoding for a password that is not UTF-8.
    case widenedBytes
    /// The bytes of the password, unchanged. PBES2 and PBMAC1 use this encoding, and expect UTF-8.
    case bytes
    /// ISO-8859-1, which RSA's JSafe used for PBES2.
    case latin1
}

/// The two kinds of password encoding: key derivations require one or the other.
enum PasswordFamily: Hashable {
    /// 16-bit characters with a terminator (BMPString), for the derivation of RFC 7292 (B.1).
    case wide
    /// Octets, for the derivations of RFC 8018.
    case octets

    /// The standard encoding, for which no note is added.
    var standard: PasswordEncoding { self == .wide ? .utf16 : .bytes }
}

/// A password in every encoding that programs use, in the order of attempts.
struct PasswordForms {
    /// An encoding, and the password in that encoding.
    typealias Form = (encoding: PasswordEncoding, bytes: SecretBytes)

    private let wide: [Form]
    private let octets: [Form]
    /// Whether the password is all ASCII.
    let isASCII: Bool
    /// The encoding that worked last, for each family. It is tried first on the next layer.
    private var proven: [PasswordFamily: PasswordEncoding] = [:]

    /// Encodes a password in every form to try.
    ///
    /// - Parameter password: The password; nil tries an absent password, then the empty one (docs/rules.md R7.11).
    /// - Throws: `refused` for a password that contains a zero byte.
    init(_ password: PKCS12Password?) throws(PKCS12Error) {
        let absent: Form = (.absent, SecretBytes([]))
        let empty: Form = (.empty, SecretBytes([0, 0]))
        switch password {
        case nil:
            isASCII = true
            wide = [absent, empty]
            octets = [(.empty, SecretBytes([]))]
        case .absent:
            isASCII = true
            wide = [absent]
            octets = [absent]
        case .text(let text) where text.isEmpty:
            isASCII = true
            wide = [empty]
            octets = [(.empty, text)]
        case .text(let text):
            guard !text.hasZeroByte else { throw .refused(.passwordWithZeroByte) }
            isASCII = text.isASCII
            let utf16 = text.transcodedToUTF16()
            wide = Self.distinct([(.utf16, utf16), (.widenedBytes, text.widened())])
            octets = Self.distinct([
                (.bytes, text), (.latin1, text.transcodedToLatin1()), (.utf16, utf16 ?? text.widened()),
            ])
        }
    }

    /// The forms to try, beginning with the one that worked last.
    func forms(_ family: PasswordFamily) -> [Form] {
        let forms = family == .wide ? wide : octets
        guard let first = proven[family], let index = forms.firstIndex(where: { $0.encoding == first }) else {
            return forms
        }
        return [forms[index]] + forms[..<index] + forms[(index + 1)...]
    }

    /// Remembers the encoding that worked.
    ///
    /// - Returns: Whether `encoding` is new: no encoding worked before in this family, or a different one did.
    mutating func prove(_ encoding: PasswordEncoding, _ family: PasswordFamily) -> Bool {
        proven.updateValue(encoding, forKey: family) != encoding
    }

    private static func distinct(_ forms: [(PasswordEncoding, SecretBytes?)]) -> [Form] {
        var kept: [Form] = []
        for case (let encoding, let bytes?) in forms where !kept.contains(where: { $0.bytes == bytes }) {
            kept.append((encoding, bytes))
        }
        return kept
    }
}
