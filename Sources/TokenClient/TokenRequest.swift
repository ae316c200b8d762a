package import SecretMemory

// The module's own coding of the protocol's frames, which `KeyShareWire` describes under "The persistent token". It needs
// neither NIO nor Foundation, which a library for other people's processes must not bring along. A test holds it against
// the golden frames of `KeyShareWire`.

/// The numbers of the protocol that this client uses.
package enum TokenWire {
    /// The version of the protocol that has the token.
    package static let version: UInt16 = 2
    /// The feature of a provider that has a token with objects for PKCS #11.
    package static let feature = "token-objects"
    /// The feature of a provider to which a program can log in.
    package static let loginFeature = "token-login"
    /// The longest PIN that a request takes, in bytes.
    package static let longestPIN = 64
    /// The longest frame of a reply, in bytes, its length field included.
    package static let replyLimit = 65_536
    /// The longest data of one request, in bytes.
    package static let dataLimit = 61_440
    /// The type of a failure.
    static let failure: UInt8 = 0xFF
    /// The code of a failure that has a code of the token behind its message.
    static let tokenFailureCode: UInt16 = 11
}

/// The kinds of request that this client sends, by their types. The type of the reply has the highest bit set.
package enum TokenRequestKind: UInt8, Sendable {
    case hello = 0x01
    case use = 0x0F
    case useBegin = 0x10
    case useUpdate = 0x11
    case useEnd = 0x12
    case tokenStatus = 0x14
    case tokenObjects = 0x15
    case tokenLogin = 0x16

    /// The type of the reply.
    var replyType: UInt8 { rawValue | 0x80 }
}

/// A request as a frame with the request id 0, which the connection sets.
package struct TokenRequest: Sendable {
    /// The kind of the request.
    package let kind: TokenRequestKind
    /// The frame: length, type, request id, body.
    package private(set) var frame: [UInt8]

    private init(_ kind: TokenRequestKind, capacity: Int = 64) {
        self.kind = kind
        frame = []
        frame.reserveCapacity(capacity + 9)
        frame.append(contentsOf: [0, 0, 0, 5, kind.rawValue, 0, 0, 0, 0])
    }

    /// The first request of a connection.
    ///
    /// - Parameter clientName: the client's name for the provider's log.
    package static func hello(clientName: String) -> TokenRequest {
        var request = TokenRequest(.hello)
        request.append(TokenWire.version)
        request.append(TokenWire.version)
        request.append(text: clientName)
        request.append(UInt16(0))
        return request.ended()
    }

    /// Asks for what changes about the token.
    package static var tokenStatus: TokenRequest { TokenRequest(.tokenStatus).ended() }

    /// Asks for a page of the token's objects.
    ///
    /// - Parameters:
    ///   - cursor: what the page before gave; nil for the first page.
    ///   - limit: the most objects; 0 leaves the number to the provider.
    package static func tokenObjects(cursor: String?, limit: UInt16 = 0) -> TokenRequest {
        var request = TokenRequest(.tokenObjects)
        if let cursor {
            request.frame.append(1)
            request.append(text: cursor)
        } else {
            request.frame.append(0)
        }
        request.append(limit)
        return request.ended()
    }

    /// Logs in, or asks how.
    package static func tokenLogin(_ login: LoginRequest) -> TokenRequest {
        var request = TokenRequest(.tokenLogin, capacity: TokenWire.longestPIN + 3)
        switch login {
        case .state: request.frame.append(contentsOf: [0, 0, 0])
        case .presence: request.frame.append(contentsOf: [1, 0, 0])
        case .passcode(let passcode):
            request.frame.append(2)
            request.append(UInt16(clamping: passcode.count))
            unsafe passcode.withUnsafeBytes { bytes in
                unsafe request.frame.append(contentsOf: bytes)
            }
        }
        return request.ended()
    }

    /// Asks for the use of a key.
    package static func use(_ use: KeyUse, data: [UInt8]) -> TokenRequest {
        var request = TokenRequest(.use, capacity: data.count + 256)
        request.append(use)
        request.frame.append(contentsOf: data)
        return request.ended()
    }

    /// Begins a signature over a message that follows in parts.
    package static func useBegin(_ use: KeyUse) -> TokenRequest {
        var request = TokenRequest(.useBegin, capacity: 256)
        request.append(use)
        return request.ended()
    }

    /// Sends a part of a message.
    package static func useUpdate(handle: UInt32, data: some Collection<UInt8>) -> TokenRequest {
        var request = TokenRequest(.useUpdate, capacity: data.count + 4)
        request.append(handle)
        request.frame.append(contentsOf: data)
        return request.ended()
    }

    /// Has a message signed.
    package static func useEnd(handle: UInt32) -> TokenRequest {
        var request = TokenRequest(.useEnd)
        request.append(handle)
        return request.ended()
    }

    /// Sets the request id.
    mutating func setID(_ id: UInt32) {
        for place in 0..<4 { frame[5 + place] = UInt8(truncatingIfNeeded: id >> (24 - 8 * place)) }
    }

    /// Overwrites the frame, which may hold what nobody else may see.
    mutating func wipe() {
        for place in frame.indices { frame[place] = 0 }
    }

    private mutating func append(_ use: KeyUse) {
        append(text: use.objectID)
        frame.append(use.operation.rawValue)
        append(text: use.algorithm)
        append(UInt16(truncatingIfNeeded: use.parameters.count))
        for parameter in use.parameters.sorted(by: { $0.number.rawValue < $1.number.rawValue }) {
            frame.append(parameter.number.rawValue)
            append(octets: parameter.value)
        }
    }

    private mutating func append<Value: FixedWidthInteger & UnsignedInteger>(_ value: Value) {
        for shift in stride(from: Value.bitWidth - 8, through: 0, by: -8) {
            frame.append(UInt8(truncatingIfNeeded: value >> Value(shift)))
        }
    }

    private mutating func append(text: String) { append(octets: Array(text.utf8)) }

    /// Appends a count of 16 bits and the bytes. What does not fit is cut: every caller has bounded it.
    private mutating func append(octets: [UInt8]) {
        let count = UInt16(clamping: octets.count)
        append(count)
        frame.append(contentsOf: octets.prefix(Int(count)))
    }

    private consuming func ended() -> TokenRequest {
        let length = UInt32(clamping: frame.count - 4)
        for place in 0..<4 { frame[place] = UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32(place))) }
        return self
    }
}

/// What a login asks for.
package enum LoginRequest: Sendable {
    /// How a program logs in; nobody is logged in.
    case state
    /// The user's presence.
    case presence
    /// The device's passcode, at most `TokenWire.longestPIN` bytes of it.
    case passcode(SecretBytes)
}

/// A use of a key, as this client asks for it.
package struct KeyUse: Sendable, Equatable {
    /// What the key shall do, by the numbers of CryptoTokenKit's operations.
    package enum Operation: UInt8, Sendable { case sign = 1, decrypt, keyExchange }

    /// What the operation takes besides its data.
    package struct Parameter: Sendable, Equatable {
        /// The numbers of the parameters.
        package enum Number: UInt8, Sendable {
            case requestedSize = 1
            case sharedInfo = 2
            case saltLength = 4
            case maskDigest = 5
            case label = 6
            case signatureForm = 7
            case ticket = 8
        }
        /// Which parameter it is.
        package let number: Number
        let value: [UInt8]

        /// A parameter and its encoded value.
        package init(_ number: Number, _ value: [UInt8]) {
            self.number = number
            self.value = value
        }

        /// A parameter that is an integer of 32 bits.
        package init(_ number: Number, _ value: UInt32) {
            self.init(number, [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) })
        }

        /// A parameter that is an integer of 16 bits.
        package init(_ number: Number, _ value: UInt16) {
            self.init(number, [8, 0].map { UInt8(truncatingIfNeeded: value >> $0) })
        }
    }

    /// The identifier of the token's object.
    package var objectID: String
    /// What the key shall do.
    package var operation: Operation
    /// The algorithm, by the Security framework's name without `kSecKeyAlgorithm`.
    package var algorithm: String
    /// What the operation takes besides its data.
    package var parameters: [Parameter]

    /// Describes a use of a key.
    package init(objectID: String, operation: Operation, algorithm: String, parameters: [Parameter] = []) {
        self.objectID = objectID
        self.operation = operation
        self.algorithm = algorithm
        self.parameters = parameters
    }
}
