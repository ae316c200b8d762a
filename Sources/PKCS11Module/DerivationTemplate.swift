internal import CPKCS11

/// The caller's template for a secret that `C_DeriveKey` creates.
struct DerivationTemplate {
    /// The attributes that the caller specified.
    private(set) var attributes: [CK_ATTRIBUTE_TYPE: [UInt8]] = [:]
    /// The requested length of the secret in bytes; nil if the caller did not specify it.
    private(set) var length: Int?

    /// The maximum length of a secret, in bytes.
    private static let longest: CK_ULONG = 4_096

    private static let flags: Set = [
        CKA_TOKEN, CKA_PRIVATE, CKA_SENSITIVE, CKA_EXTRACTABLE, CKA_ENCRYPT, CKA_DECRYPT, CKA_SIGN,
        CKA_VERIFY, CKA_WRAP,
        CKA_UNWRAP, CKA_DERIVE, CKA_TRUSTED, CKA_WRAP_WITH_TRUSTED, CKA_MODIFIABLE, CKA_COPYABLE,
        CKA_DESTROYABLE,
    ]
    private static let numbers: Set = [CKA_CLASS, CKA_KEY_TYPE, CKA_VALUE_LEN]
    /// Attributes whose values are stored without a check.
    private static let others: Set = [
        CKA_LABEL, CKA_ID, CKA_START_DATE, CKA_END_DATE, CKA_CHECK_VALUE, CKA_ALLOWED_MECHANISMS,
    ]

    /// Reads a template.
    ///
    /// - Throws: CKR_ATTRIBUTE_READ_ONLY, CKR_ATTRIBUTE_TYPE_INVALID, CKR_ATTRIBUTE_VALUE_INVALID,
    ///   CKR_TEMPLATE_INCONSISTENT.
    init(_ passed: [(type: CK_ATTRIBUTE_TYPE, value: [UInt8])]) throws(Refusal) {
        var seen: Set<CK_ATTRIBUTE_TYPE> = []
        for (type, value) in passed {
            let name = "attribute 0x" + String(type, radix: 16)
            guard seen.insert(type).inserted else {
                throw Refusal(CKR_TEMPLATE_INCONSISTENT, name + " occurs twice")
            }
            if Self.flags.contains(type), value != [0], value != [1] {
                throw Refusal(CKR_ATTRIBUTE_VALUE_INVALID, name + " is neither true nor false")
            }
            if Self.numbers.contains(type), value.count != MemoryLayout<CK_ULONG>.size {
                throw Refusal(CKR_ATTRIBUTE_VALUE_INVALID, name + " is not a number")
            }
            try take(type, value, name)
        }
    }

    private mutating func take(
        _ type: CK_ATTRIBUTE_TYPE, _ value: [UInt8], _ name: String
    ) throws(Refusal) {
        switch type {
        case CKA_CLASS where Self.number(value) != CKO_SECRET_KEY:
            throw Refusal(CKR_TEMPLATE_INCONSISTENT, "a derivation produces only secret keys")
        case CKA_CLASS: break
        case CKA_KEY_TYPE where Self.number(value) < CKK_GENERIC_SECRET:
            throw Refusal(CKR_TEMPLATE_INCONSISTENT, "a derivation cannot produce a public or private key")
        case CKA_TOKEN where value == [1]:
            throw Refusal(CKR_TEMPLATE_INCONSISTENT, "the token does not store secrets")
        case CKA_LOCAL, CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE, CKA_KEY_GEN_MECHANISM, CKA_UNIQUE_ID:
            throw Refusal(CKR_ATTRIBUTE_READ_ONLY, name)
        case CKA_VALUE:
            throw Refusal(CKR_TEMPLATE_INCONSISTENT, "CKA_VALUE cannot be set: the value is derived")
        case CKA_VALUE_LEN:
            let length = Self.number(value)
            guard (1...Self.longest).contains(length) else {
                throw Refusal(
                    CKR_ATTRIBUTE_VALUE_INVALID,
                    "the length of the secret is \(length) bytes, outside the range 1 to \(Self.longest)")
            }
            self.length = Int(length)
        case CKA_KEY_TYPE: attributes[type] = value
        default:
            guard Self.flags.contains(type) || Self.others.contains(type) else {
                throw Refusal(CKR_ATTRIBUTE_TYPE_INVALID, name + " is not an attribute of a secret key")
            }
            attributes[type] = value
        }
    }

    /// Checks whether the key type permits a secret of `count` bytes.
    ///
    /// - Throws: CKR_TEMPLATE_INCONSISTENT.
    func checkLength(_ count: Int) throws(Refusal) {
        guard let type = attributes[CKA_KEY_TYPE], Self.number(type) == CKK_AES else { return }
        guard [16, 24, 32].contains(count) else {
            throw Refusal(CKR_TEMPLATE_INCONSISTENT, "an AES key cannot have \(count) bytes")
        }
    }

    private static func number(_ value: [UInt8]) -> CK_ULONG {
        value.reversed().reduce(0) { $0 << 8 | CK_ULONG($1) }
    }
}
