private import Glibc
package import KeyShareProtocol
package import SecretMemory

// The module's own encoding of the protocol's frames, which `KeyShareWire` describes under "The persistent token". It
// needs neither NIO nor Foundation, because a library for other programs must not load them. A test compares it with
// the golden frames of `KeyShareWire`.

/// A request as a frame with the request id 0. The connection sets the id.
package struct TokenRequest: Sendable {
    /// The message type of the request.
    package let type: Wire.MessageType
    /// The frame: length, type, request id, body.
    package private(set) var frame: [UInt8]

    private init(_ type: Wire.MessageType, capacity: Int = 64) {
        self.type = type
        frame = []
        frame.reserveCapacity(capacity + 9)
        frame.append(contentsOf: [0, 0, 0, 5, type.rawValue, 0, 0, 0, 0])
    }

    /// The first request of a connection.
    ///
    /// - Parameter clientName: The client's name for the provider's log.
    package static func hello(clientName: String) -> TokenRequest {
        var request = TokenRequest(.hello)
        request.append(Wire.tokenVersion)
        request.append(Wire.tokenVersion)
        request.append(text: clientName)
        request.append(UInt16(0))
        return request.ended()
    }

    /// Requests the token's changeable state.
    package static var tokenStatus: TokenRequest { TokenRequest(.tokenStatus).ended() }

    /// Requests a page of the token's objects.
    ///
    /// - Parameters:
    ///   - cursor: The cursor from the previous page; nil for the first page.
    ///   - limit: The maximum number of objects; 0 for the provider's default.
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

    /// Logs in, or requests the login state.
    package static func tokenLogin(_ login: LoginRequest) -> TokenRequest {
        var request = TokenRequest(.tokenLogin, capacity: Wire.longestPasscode + 3)
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

    /// Requests a key use.
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

    /// Requests the signature of a message.
    package static func useEnd(handle: UInt32) -> TokenRequest {
        var request = TokenRequest(.useEnd)
        request.append(handle)
        return request.ended()
    }

    /// Sets the request id.
    mutating func setID(_ id: UInt32) {
        for place in 0..<4 { frame[5 + place] = UInt8(truncatingIfNeeded: id >> (24 - 8 * place)) }
    }

    /// Overwrites the frame, which may contain a PIN.
    mutating func wipe() {
        unsafe frame.withUnsafeMutableBytes { bytes in
            if let start = bytes.baseAddress { unsafe explicit_bzero(start, bytes.count) }
        }
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

    /// Appends a count of 16 bits and the bytes. Longer values are truncated, but every caller limits the length.
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

/// The kind of a login request.
package enum LoginRequest: Sendable {
    /// Requests only the state, without a login.
    case state
    /// Prompts for the user's presence.
    case presence
    /// The device's passcode. At most `Wire.longestPasscode` bytes are sent.
    case passcode(SecretBytes)
}

/// A key use in a request.
package struct KeyUse: Sendable, Equatable {
    /// A parameter of the operation.
    package struct Parameter: Sendable, Equatable {
        /// The parameter's number.
        package let number: TokenParameter
        let value: [UInt8]

        /// Creates a parameter from its encoded value.
        package init(_ number: TokenParameter, _ value: [UInt8]) {
            self.number = number
            self.value = value
        }

        /// Creates a parameter from a 32-bit integer.
        package init(_ number: TokenParameter, _ value: UInt32) {
            self.init(number, [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) })
        }

        /// Creates a parameter from a 16-bit integer.
        package init(_ number: TokenParameter, _ value: UInt16) {
            self.init(number, [8, 0].map { UInt8(truncatingIfNeeded: value >> $0) })
        }
    }

    /// The identifier of the token's object.
    package var objectID: String
    /// The operation of the key.
    package var operation: TokenOperation
    /// The algorithm, by the Security framework's name without `kSecKeyAlgorithm`.
    package var algorithm: String
    /// The parameters of the operation.
    package var parameters: [Parameter]

    /// Creates a key use, by default without parameters.
    package init(objectID: String, operation: TokenOperation, algorithm: String, parameters: [Parameter] = [])
    {
        self.objectID = objectID
        self.operation = operation
        self.algorithm = algorithm
        self.parameters = parameters
    }
}
