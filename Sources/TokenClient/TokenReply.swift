/// What keeps a request from being answered.
package enum TokenClientError: Error, Equatable {
    /// No provider serves, or it has no token. The text says which.
    case absent(String)
    /// The connection broke, before or behind a part of the reply.
    case lost
    /// The provider did not answer in time.
    case timedOut
    /// The provider answered with something else than the protocol has.
    case malformed(String)
    /// The token did not do it: its code, what stands behind it, and a sentence for people.
    case token(code: Int, obstacle: String, reason: String)
    /// The provider did not do it: the failure's code, and a sentence for people.
    case provider(code: UInt16, reason: String)
}

/// Reads the body of a reply field by field. Every read is checked against the bytes that are left.
package struct ReplyReader {
    private let bytes: ArraySlice<UInt8>
    private var place: Int

    /// Reads from the first of `bytes`.
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
        for byte in try take(count) { value = (value << 8 as Value) | Value(truncatingIfNeeded: byte) }
        return value
    }

    /// Reads a count (16 bits) and that many bytes.
    package mutating func octets() throws(TokenClientError) -> [UInt8] {
        Array(try take(Int(try integer(as: UInt16.self))))
    }

    /// Reads a count of bytes (16 bits) and that many bytes of UTF-8; what is not UTF-8 becomes U+FFFD.
    package mutating func text() throws(TokenClientError) -> String {
        String(decoding: try take(Int(try integer(as: UInt16.self))), as: UTF8.self)
    }

    /// Reads a byte that is 0 or 1.
    package mutating func flag() throws(TokenClientError) -> Bool {
        switch try integer(as: UInt8.self) {
        case 0: return false
        case 1: return true
        default: throw .malformed("a flag is neither 0 nor 1")
        }
    }

    /// Reads milliseconds since 1970.
    package mutating func time() throws(TokenClientError) -> Int64 {
        Int64(bitPattern: try integer(as: UInt64.self))
    }

    /// Reads an optional text that asks for the next page.
    package mutating func cursor() throws(TokenClientError) -> String? { try flag() ? try text() : nil }

    /// Checks that every byte was read.
    package func end() throws(TokenClientError) {
        guard place == bytes.endIndex else { throw .malformed("bytes stand behind the last field") }
    }

    private mutating func take(_ count: Int) throws(TokenClientError) -> ArraySlice<UInt8> {
        guard count <= bytes.endIndex - place else { throw .malformed("the reply ends inside a field") }
        defer { place += count }
        return bytes[place..<place + count]
    }
}

/// What a provider says of its token.
package struct TokenState: Sendable, Equatable {
    /// A number that stays while the list of objects stays as it is.
    package var changeCount: UInt64
    /// How many tokens are registered.
    package var tokenCount: UInt32
    /// Whether keys can be used now.
    package var isUnlocked: Bool
    /// How often the device was locked or restarted.
    package var lockCount: UInt64
    /// Sixteen hexadecimal digits that tell this device from others.
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

/// What a provider says about logging in, and what a login gives.
package struct LoginState: Sendable, Equatable {
    /// How a program logs in.
    package enum Mode: UInt8, Sendable {
        /// It need not.
        case presence = 0
        /// The user is asked on the device.
        case path = 1
        /// The PIN is the device's passcode.
        case pin = 2
    }

    /// How a program logs in.
    package var mode: Mode
    /// Whether the device has a passcode.
    package var hasPasscode: Bool
    /// How many wrong PINs the token takes before it takes none any more.
    package var triesLeft: Int
    /// What a use carries to be done without asking the user again; empty where nobody has logged in.
    package var ticket: [UInt8]

    /// What a provider has that knows no logins.
    static let none = LoginState(mode: .presence, hasPasscode: true, triesLeft: 3, ticket: [])

    private init(mode: Mode, hasPasscode: Bool, triesLeft: Int, ticket: [UInt8]) {
        self.mode = mode
        self.hasPasscode = hasPasscode
        self.triesLeft = triesLeft
        self.ticket = ticket
    }

    init(_ reader: inout ReplyReader) throws(TokenClientError) {
        guard let mode = Mode(rawValue: try reader.integer()) else {
            throw .malformed("there is no such way to log in")
        }
        let traits: UInt8 = try reader.integer()
        let tries: UInt8 = try reader.integer()
        self.init(
            mode: mode, hasPasscode: traits & 2 != 0, triesLeft: Int(tries), ticket: try reader.octets())
        guard ticket.isEmpty || ticket.count == 16 else {
            throw .malformed("a ticket of \(ticket.count) bytes")
        }
    }
}

/// A certificate of the token with the parts that PKCS #11 shows, and what is known of its key.
package struct TokenIdentity: Sendable, Equatable {
    /// The public key.
    package enum Key: Sendable, Equatable {
        /// Modulus and exponent, most significant byte first.
        case rsa(modulus: [UInt8], exponent: [UInt8])
        /// The curve as `ECParameters` and the point as an `OCTET STRING`, both in DER.
        case ec(parameters: [UInt8], point: [UInt8])
    }

    /// What the properties of an identity are, as the bits of one byte.
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
    /// The name of the objects, which no other certificate has.
    package var label: String
    /// The SHA-1 of the public key, which certificate and keys have in common.
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
    /// When the certificate's validity begins, in milliseconds since 1970.
    package var notBefore: Int64
    /// When the certificate's validity ends, in milliseconds since 1970.
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
    /// Whether the key is there.
    package var hasKey: Bool
    /// Whether the certificate is an authority's.
    package var isAuthority: Bool
    /// Whether each use of the key wants a login of its own.
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
        default: throw .malformed("there is no such kind of key")
        }
        // Lengths of signatures and buffers follow from it.
        guard (1...16_384).contains(keyBits) else { throw .malformed("a key has \(keyBits) bits") }
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
    /// A number that is equal on all pages of one list.
    package var changeCount: UInt64
    /// Whose certificates the token has, in a few words; empty where they are several persons'.
    package var holder: String
    /// The identities, in the order in which they were registered.
    package var identities: [TokenIdentity]
    /// The cursor that asks for the next page; nil at the end.
    package var nextCursor: String?

    init(_ reader: inout ReplyReader) throws(TokenClientError) {
        changeCount = try reader.integer()
        holder = try reader.text()
        identities = []
        for _ in 0..<(try reader.integer(as: UInt16.self)) {
            identities.append(try TokenIdentity(&reader))
        }
        nextCursor = try reader.cursor()
    }
}
