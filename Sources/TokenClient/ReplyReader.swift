/// The reason that a request failed.
package enum TokenClientError: Error, Equatable {
    /// No provider is running, or it has no token, as the text explains.
    case absent(String)
    /// The connection was lost before the reply was complete.
    case lost
    /// The provider did not reply in time.
    case timedOut
    /// The provider violated the protocol.
    case malformed(String)
    /// The token rejected the request: its error code, the specific refusal reason, and an explanation.
    case token(code: Int, obstacle: String, reason: String)
    /// The provider rejected the request: its failure code, and an explanation.
    case provider(code: UInt16, reason: String)
}

/// Reads the body of a reply field by field. Every read is checked against the number of remaining bytes.
package struct ReplyReader {
    private let bytes: ArraySlice<UInt8>
    private var place: Int

    /// Creates a reader at the beginning of `bytes`.
    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        place = bytes.startIndex
    }

    /// Reads a big-endian integer.
    package mutating func integer<Value: FixedWidthInteger & UnsignedInteger>(
        as type: Value.Type = Value.self
    ) throws(TokenClientError) -> Value {
        let count = Value.bitWidth / 8
        var value: Value = 0
        for byte in try takeBytes(count) { value = (value << 8 as Value) | Value(truncatingIfNeeded: byte) }
        return value
    }

    /// Reads a count (16 bits) and that many bytes.
    package mutating func octets() throws(TokenClientError) -> [UInt8] {
        Array(try takeBytes(Int(try integer(as: UInt16.self))))
    }

    /// Reads a count of bytes (16 bits) and that many bytes of UTF-8. Invalid UTF-8 becomes U+FFFD.
    package mutating func text() throws(TokenClientError) -> String {
        String(decoding: try takeBytes(Int(try integer(as: UInt16.self))), as: UTF8.self)
    }

    /// Reads a byte that is 0 or 1.
    package mutating func flag() throws(TokenClientError) -> Bool {
        switch try integer(as: UInt8.self) {
        case 0: return false
        case 1: return true
        default: throw .malformed("a flag is neither 0 nor 1")
        }
    }

    /// Reads a time in milliseconds since 1970.
    package mutating func time() throws(TokenClientError) -> Int64 {
        Int64(bitPattern: try integer(as: UInt64.self))
    }

    /// Reads an optional cursor for the next page.
    package mutating func cursor() throws(TokenClientError) -> String? { try flag() ? try text() : nil }

    /// Checks that all bytes were read.
    package func end() throws(TokenClientError) {
        guard place == bytes.endIndex else { throw .malformed("bytes follow the last field") }
    }

    private mutating func takeBytes(_ count: Int) throws(TokenClientError) -> ArraySlice<UInt8> {
        guard count <= bytes.endIndex - place else { throw .malformed("the reply ends inside a field") }
        defer { place += count }
        return bytes[place..<place + count]
    }
}

/// The state of the provider's token.
package struct TokenState: Sendable, Equatable {
    /// A number that changes whenever the list of objects changes.
    package var changeCount: UInt64
    /// The number of registered tokens.
    package var tokenCount: UInt32
    /// Whether the device is unlocked, so that keys can be used.
    package var isUnlocked: Bool
    /// How many times the device was locked or restarted.
    package var lockCount: UInt64
    /// Sixteen hexadecimal digits that identify the device.
    package var deviceSerial: String

    init(_ reader: inout ReplyReader) throws(TokenClientError) {
        changeCount = try reader.integer()
        tokenCount = try reader.integer()
        isUnlocked = try reader.integer(as: UInt8.self) & 1 == 1
        lockCount = try reader.integer()
        _ = try reader.integer(as: UInt32.self)
        deviceSerial = try reader.text()
    }
}

/// The login state of the token, and the result of a login.
package struct LoginState: Sendable, Equatable {
    /// The login modes.
    package enum Mode: UInt8, Sendable {
        /// Programs need not log in.
        case presence = 0
        /// A login prompts the user on the device.
        case path = 1
        /// A login requires the device's passcode as the PIN.
        case pin = 2
    }

    /// The login mode.
    package var mode: Mode
    /// Whether the device has a passcode.
    package var hasPasscode: Bool
    /// The number of remaining PIN attempts before the PIN is locked.
    package var triesLeft: Int
    /// The ticket for key uses without a prompt; empty if there is no login.
    package var ticket: [UInt8]

    /// The state of a provider that does not support logins.
    static let none = LoginState(mode: .presence, hasPasscode: true, triesLeft: 3, ticket: [])

    private init(mode: Mode, hasPasscode: Bool, triesLeft: Int, ticket: [UInt8]) {
        self.mode = mode
        self.hasPasscode = hasPasscode
        self.triesLeft = triesLeft
        self.ticket = ticket
    }

    init(_ reader: inout ReplyReader) throws(TokenClientError) {
        guard let mode = Mode(rawValue: try reader.integer()) else {
            throw .malformed("unknown login mode")
        }
        let traits: UInt8 = try reader.integer()
        let tries: UInt8 = try reader.integer()
        self.init(
            mode: mode, hasPasscode: traits & 2 != 0, triesLeft: Int(tries), ticket: try reader.octets())
        guard ticket.isEmpty || ticket.count == 16 else {
            throw .malformed("a ticket has an invalid length of \(ticket.count) bytes")
        }
    }
}

/// A certificate of the token, with its PKCS #11 attributes and the properties of its key.
package struct TokenCertificate: Sendable, Equatable {
    /// The public key.
    package enum Key: Sendable, Equatable {
        /// Modulus and exponent, most significant byte first.
        case rsa(modulus: [UInt8], exponent: [UInt8])
        /// The curve as `ECParameters` and the point as an `OCTET STRING`, both in DER.
        case ec(parameters: [UInt8], point: [UInt8])
    }

    /// The flags of an identity, as the bits of one byte.
    struct Traits: OptionSet {
        let rawValue: UInt8
        static let canSign = Traits(rawValue: 1 << 0)
        static let canDecrypt = Traits(rawValue: 1 << 1)
        static let canDerive = Traits(rawValue: 1 << 2)
        static let hasKey = Traits(rawValue: 1 << 3)
        static let isAuthority = Traits(rawValue: 1 << 4)
        static let asksAlways = Traits(rawValue: 1 << 5)
    }

    /// The identifier of the token's object: the SHA-256 of the certificate in hexadecimal digits.
    package var objectID: String
    /// The unique name of the objects.
    package var label: String
    /// The SHA-1 of the public key, which links the certificate and its keys.
    package var keyID: [UInt8]
    /// The certificate in DER.
    package var certificate: [UInt8]
    /// The subject's name in DER.
    package var subject: [UInt8]
    /// The issuer's name in DER.
    package var issuer: [UInt8]
    /// The serial number as an `INTEGER` in DER.
    package var serialNumber: [UInt8]
    /// The `SubjectPublicKeyInfo` in DER.
    package var publicKeyInfo: [UInt8]
    /// The first bytes of the SHA-1 of the certificate.
    package var checkValue: [UInt8]
    /// When the certificate's validity period begins, in milliseconds since 1970.
    package var notBefore: Int64
    /// When the certificate's validity period ends, in milliseconds since 1970.
    package var notAfter: Int64
    /// The public key.
    package var key: Key
    /// The size of the key in bits.
    package var keyBits: Int
    /// Whether the key signs.
    package var canSign: Bool
    /// Whether the key decrypts.
    package var canDecrypt: Bool
    /// Whether the key agrees on secrets.
    package var canDerive: Bool
    /// Whether the key exists.
    package var hasKey: Bool
    /// Whether the certificate belongs to an authority.
    package var isAuthority: Bool
    /// Whether each use of the key requires its own login.
    package var asksAlways: Bool

    init(_ reader: inout ReplyReader) throws(TokenClientError) {
        objectID = try reader.text()
        label = try reader.text()
        keyID = try reader.octets()
        certificate = try reader.octets()
        subject = try reader.octets()
        issuer = try reader.octets()
        serialNumber = try reader.octets()
        publicKeyInfo = try reader.octets()
        checkValue = try reader.octets()
        notBefore = try reader.time()
        notAfter = try reader.time()
        let kind = try reader.integer(as: UInt8.self)
        keyBits = Int(try reader.integer(as: UInt16.self))
        let (first, second) = (try reader.octets(), try reader.octets())
        switch kind {
        case 1: key = .rsa(modulus: first, exponent: second)
        case 2: key = .ec(parameters: first, point: second)
        default: throw .malformed("unknown kind of key")
        }
        // The lengths of signatures and buffers depend on it.
        guard (1...16_384).contains(keyBits) else {
            throw .malformed("a key has an invalid size of \(keyBits) bits")
        }
        let traits = Traits(rawValue: try reader.integer())
        canSign = traits.contains(.canSign)
        canDecrypt = traits.contains(.canDecrypt)
        canDerive = traits.contains(.canDerive)
        hasKey = traits.contains(.hasKey)
        isAuthority = traits.contains(.isAuthority)
        asksAlways = traits.contains(.asksAlways)
    }
}

/// A page of the token's objects.
package struct TokenIdentityPage: Sendable, Equatable {
    /// The change count of the list. Pages with different counts are not from the same list.
    package var changeCount: UInt64
    /// The person that all certificates belong to; empty if they belong to several persons.
    package var holder: String
    /// The identities, in the order of registration.
    package var identities: [TokenCertificate]
    /// The cursor for the next page; nil on the last page.
    package var nextCursor: String?

    init(_ reader: inout ReplyReader) throws(TokenClientError) {
        changeCount = try reader.integer()
        holder = try reader.text()
        identities = []
        for _ in 0..<(try reader.integer(as: UInt16.self)) {
            identities.append(try TokenCertificate(&reader))
        }
        nextCursor = try reader.cursor()
    }
}
