internal import CPKCS11
private import Glibc
internal import KeyShareProtocol
internal import SecretMemory
internal import TokenClient

/// The result of an attribute lookup.
enum AttributeAnswer: Equatable {
    case value([UInt8])
    /// The value of a secret that the caller may read. Copies are made only in the caller's memory.
    case secret(SecretBytes)
    /// The object has the attribute, but its value is never revealed.
    case sensitive
    /// The object does not have the attribute.
    case unknown

    static func flag(_ value: Bool) -> AttributeAnswer { .value([value ? 1 : 0]) }

    /// The length of the value in bytes; nil if the caller cannot read it.
    var count: Int? {
        switch self {
        case .value(let value): value.count
        case .secret(let value): value.count
        case .sensitive, .unknown: nil
        }
    }

    /// Whether the value is equal to the value in a search template.
    func matches(_ wanted: [UInt8]) -> Bool {
        if case .secret(let value) = self { return value == SecretBytes(wanted) }
        return self == .value(wanted)
    }

    /// Writes the value to `target`, which has room for `count` bytes.
    func write(to target: UnsafeMutableRawPointer) {
        switch self {
        case .value(let value): unsafe target.copyMemory(from: value, byteCount: value.count)
        case .secret(let value):
            unsafe value.withUnsafeBytes { bytes in
                if let start = bytes.baseAddress {
                    unsafe target.copyMemory(from: start, byteCount: bytes.count)
                }
            }
        case .sensitive, .unknown: break
        }
    }

    static func number(_ value: CK_ULONG) -> AttributeAnswer { .value(bytes(of: value)) }

    /// Returns the bytes of a number in native byte order.
    static func bytes(of value: CK_ULONG) -> [UInt8] {
        unsafe withUnsafeBytes(of: value) { unsafe Array($0) }
    }

    /// Returns a date in the format of `CK_DATE`: the digits of year, month and day.
    static func date(_ milliseconds: Int64) -> AttributeAnswer {
        var seconds = time_t(milliseconds / 1_000)
        var parts = unsafe tm()
        guard unsafe gmtime_r(&seconds, &parts) != nil, unsafe (0...8_099).contains(parts.tm_year) else {
            return .value([])
        }
        func digits(_ number: Int32, _ count: Int) -> [UInt8] {
            let text = Array(String(number).utf8)
            return [UInt8](repeating: 0x30, count: max(0, count - text.count)) + text.suffix(count)
        }
        return unsafe .value(
            digits(parts.tm_year + 1_900, 4) + digits(parts.tm_mon + 1, 2) + digits(parts.tm_mday, 2))
    }
}

/// An immutable object of the token: a certificate, half of a key pair, or the profile.
final class PKCS11Object: Sendable {
    /// The kinds of objects, by their class numbers.
    enum Kind: CK_OBJECT_CLASS, Sendable {
        case certificate = 1
        case publicKey = 2
        case privateKey = 3
        case profile = 9
    }

    let kind: Kind
    /// The identity of the object; nil for the profile.
    let identity: TokenCertificate?
    /// Whether the object is visible only after a login.
    let isPrivate: Bool

    init(_ kind: Kind, _ identity: TokenCertificate?, isPrivate: Bool) {
        self.isPrivate = isPrivate
        self.kind = kind
        self.identity = identity
    }

    /// A stable name that identifies the object after the list is read again.
    var name: String {
        let suffix: String =
            switch kind {
            case .certificate: "c"
            case .publicKey: "p"
            case .privateKey: "k"
            case .profile: "profile"
            }
        return (identity?.objectID ?? "") + suffix
    }

    /// Looks up an attribute of the object.
    func attribute(_ type: CK_ATTRIBUTE_TYPE) -> AttributeAnswer {
        if let answer = commonAttribute(type) { return answer }
        guard let identity else {
            return type == CKA_PROFILE_ID ? .number(CKP_PUBLIC_CERTIFICATES_TOKEN) : .unknown
        }
        switch type {
        case CKA_ID: return .value(identity.keyID)
        case CKA_SUBJECT: return .value(identity.subject)
        case CKA_START_DATE: return .date(identity.notBefore)
        case CKA_END_DATE: return .date(identity.notAfter)
        case CKA_PUBLIC_KEY_INFO: return .value(identity.publicKeyInfo)
        default: break
        }
        switch kind {
        case .certificate: return certificateAttribute(type, identity)
        case .publicKey: return publicKeyAttribute(type, identity) ?? keyAttribute(type, identity)
        case .privateKey: return privateKeyAttribute(type, identity) ?? keyAttribute(type, identity)
        case .profile: return .unknown
        }
    }

    private func commonAttribute(_ type: CK_ATTRIBUTE_TYPE) -> AttributeAnswer? {
        switch type {
        case CKA_CLASS: .number(kind.rawValue)
        case CKA_TOKEN: .flag(true)
        case CKA_PRIVATE: .flag(isPrivate)
        case CKA_MODIFIABLE, CKA_COPYABLE, CKA_DESTROYABLE: .flag(false)
        case CKA_LABEL: .value(Array((identity?.label ?? "public certificates token").utf8))
        case CKA_UNIQUE_ID: .value(Array(name.utf8))
        default: nil
        }
    }

    private func certificateAttribute(_ type: CK_ATTRIBUTE_TYPE, _ identity: TokenCertificate)
        -> AttributeAnswer
    {
        switch type {
        case CKA_CERTIFICATE_TYPE: .number(CKC_X_509)
        // 1 is a user certificate, 2 an authority certificate.
        case CKA_CERTIFICATE_CATEGORY: .number(identity.isAuthority ? 2 : 1)
        case CKA_TRUSTED: .flag(false)
        case CKA_CHECK_VALUE: .value(identity.checkValue)
        case CKA_ISSUER: .value(identity.issuer)
        case CKA_SERIAL_NUMBER: .value(identity.serialNumber)
        case CKA_VALUE: .value(identity.certificate)
        default: .unknown
        }
    }

    /// The attributes that both halves of a key pair have.
    private func keyAttribute(_ type: CK_ATTRIBUTE_TYPE, _ identity: TokenCertificate) -> AttributeAnswer {
        switch (type, identity.key) {
        case (CKA_KEY_TYPE, .rsa): .number(CKK_RSA)
        case (CKA_KEY_TYPE, .ec): .number(CKK_EC)
        case (CKA_LOCAL, _): .flag(false)
        case (CKA_KEY_GEN_MECHANISM, _): .number(CK_UNAVAILABLE_INFORMATION)
        case (CKA_MODULUS, .rsa(let modulus, _)): .value(modulus)
        case (CKA_PUBLIC_EXPONENT, .rsa(_, let exponent)): .value(exponent)
        case (CKA_EC_PARAMS, .ec(let parameters, _)): .value(parameters)
        default: .unknown
        }
    }

    private func publicKeyAttribute(_ type: CK_ATTRIBUTE_TYPE, _ identity: TokenCertificate)
        -> AttributeAnswer?
    {
        switch (type, identity.key) {
        case (CKA_VERIFY, _): .flag(identity.canSign)
        case (CKA_ENCRYPT, .rsa): .flag(identity.canDecrypt)
        case (CKA_ENCRYPT, .ec): .flag(false)
        // OpenSC's p11test requires the attribute on both halves of a key-agreement pair.
        case (CKA_DERIVE, _): .flag(canDerive)
        case (CKA_WRAP, _), (CKA_VERIFY_RECOVER, _), (CKA_TRUSTED, _): .flag(false)
        case (CKA_MODULUS_BITS, .rsa): .number(CK_ULONG(identity.keyBits))
        case (CKA_EC_POINT, .ec(_, let point)): .value(point)
        default: nil
        }
    }

    private func privateKeyAttribute(_ type: CK_ATTRIBUTE_TYPE, _ identity: TokenCertificate)
        -> AttributeAnswer?
    {
        switch type {
        case CKA_SIGN: return .flag(identity.canSign)
        case CKA_DECRYPT: return .flag(canDecrypt)
        case CKA_DERIVE: return .flag(canDerive)
        case CKA_SIGN_RECOVER, CKA_UNWRAP, CKA_WRAP_WITH_TRUSTED: return .flag(false)
        case CKA_ALWAYS_AUTHENTICATE: return .flag(asksAlways)
        // The key is sensitive now, but was not always: it was imported from a file, and copies of the file may still
        // exist.
        case CKA_SENSITIVE: return .flag(true)
        case CKA_EXTRACTABLE, CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE: return .flag(false)
        case CKA_ALLOWED_MECHANISMS:
            return .value(
                PKCS11Mechanism.all.filter { allows($0) }.flatMap { AttributeAnswer.bytes(of: $0.type) })
        default: break
        }
        // The secret components of a private key, which no protocol message contains.
        switch identity.key {
        case .rsa:
            let secrets = [
                CKA_PRIVATE_EXPONENT, CKA_PRIME_1, CKA_PRIME_2, CKA_EXPONENT_1, CKA_EXPONENT_2,
                CKA_COEFFICIENT,
            ]
            return secrets.contains(type) ? .sensitive : nil
        case .ec: return type == CKA_VALUE ? .sensitive : nil
        }
    }

    /// Whether each use of the key requires its own login. Always false in the login mode that requires no login.
    var asksAlways: Bool { isPrivate && identity?.asksAlways == true }

    private var isRSA: Bool {
        guard case .rsa? = identity?.key else { return false }
        return true
    }

    private var canDecrypt: Bool { isRSA && identity?.canDecrypt == true }
    private var canDerive: Bool { !isRSA && identity?.canDerive == true }

    /// Whether the key is of the right type for a mechanism.
    func fits(_ mechanism: PKCS11Mechanism) -> Bool { mechanism.isForRSA == isRSA }

    /// Whether the certificate permits an operation with the key.
    func allows(_ operation: TokenOperation) -> Bool {
        switch operation {
        case .sign: identity?.canSign == true
        case .decrypt: canDecrypt
        case .keyExchange: canDerive
        }
    }

    private func allows(_ mechanism: PKCS11Mechanism) -> Bool {
        fits(mechanism) && mechanism.operations.contains { allows($0) }
    }
}

/// The shared secret of a key agreement, a session object that is deleted when its session is closed. Its value is wiped
/// when the last reference to it is released.
struct SessionSecret: Sendable {
    let session: CK_SESSION_HANDLE
    let value: SecretBytes
    /// The attributes that the caller specified.
    let attributes: [CK_ATTRIBUTE_TYPE: [UInt8]]

    func attribute(_ type: CK_ATTRIBUTE_TYPE) -> AttributeAnswer {
        switch type {
        case CKA_CLASS: return .number(CKO_SECRET_KEY)
        case CKA_PRIVATE: return .flag(isPrivate)
        case CKA_TOKEN, CKA_LOCAL, CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE:
            return .flag(false)
        case CKA_VALUE: return isReadable ? .secret(value) : .sensitive
        case CKA_VALUE_LEN: return .number(CK_ULONG(value.count))
        case CKA_DESTROYABLE: return .flag(true)
        case CKA_MODIFIABLE, CKA_COPYABLE: return .flag(false)
        case CKA_KEY_GEN_MECHANISM: return .number(CK_UNAVAILABLE_INFORMATION)
        default: break
        }
        if let value = attributes[type] { return .value(value) }
        switch type {
        case CKA_KEY_TYPE: return .number(CKK_GENERIC_SECRET)
        case CKA_SENSITIVE: return .flag(false)
        case CKA_EXTRACTABLE: return .flag(true)
        case CKA_LABEL, CKA_ID: return .value([])
        default: return .unknown
        }
    }

    /// Whether the caller marked the secret as private, in which case it is deleted at the end of the login.
    var isPrivate: Bool { attributes[CKA_PRIVATE].map { $0 != [0] } ?? false }

    private var isReadable: Bool {
        attributes[CKA_SENSITIVE].map { $0 == [0] } ?? true
            && attributes[CKA_EXTRACTABLE].map { $0 != [0] } ?? true
    }
}
