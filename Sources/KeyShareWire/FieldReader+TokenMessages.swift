internal import KeyShareProtocol
internal import NIOCore
internal import PersistentToken
internal import SecretMemory

// The encodings of the feature `token`, which `Protocol.md` describes under "The persistent token".

/// The boolean properties of a token, as the bits of one byte.
private struct TokenTraits: OptionSet {
    let rawValue: UInt8

    static let canSign = TokenTraits(rawValue: 1 << 0)
    static let canDecrypt = TokenTraits(rawValue: 1 << 1)
    static let canDerive = TokenTraits(rawValue: 1 << 2)
    static let hasKey = TokenTraits(rawValue: 1 << 3)
    static let followsRFC5280 = TokenTraits(rawValue: 1 << 4)
    static let all: TokenTraits = [.canSign, .canDecrypt, .canDerive, .hasKey, .followsRFC5280]
}

/// The state of the device, as the bits of one byte.
private struct StateTraits: OptionSet {
    let rawValue: UInt8

    static let isUnlocked = StateTraits(rawValue: 1 << 0)
    static let hasPasscode = StateTraits(rawValue: 1 << 1)
    static let all: StateTraits = [.isUnlocked, .hasPasscode]
}

// MARK: - Key uses

extension FieldReader {
    /// Reads a key use. If `hasData` is true, the rest of the body is its data.
    mutating func use(hasData: Bool) throws(ProviderFailure) -> TokenUse {
        let objectID = try string("the object")
        guard let operation = TokenOperation(rawValue: try integer("the operation")) else {
            throw ProviderFailure(.malformed, "the operation is not in the range 1 to 3")
        }
        let algorithm = try string("the algorithm")
        let parameters = try parameters()
        return TokenUse(
            objectID: objectID, operation: operation, algorithm: algorithm, parameters: parameters,
            data: hasData ? Array(rest().readableBytesView) : [])
    }

    private mutating func parameters() throws(ProviderFailure) -> KeyOperationParameters {
        var parameters = KeyOperationParameters()
        var last: UInt8 = 0
        _ = try list("the parameters", smallest: 3) { (reader) throws(ProviderFailure) in
            let number = try reader.integer("the parameter", as: UInt8.self)
            guard number > last else {
                throw ProviderFailure(.malformed, "the parameters are not in ascending order")
            }
            last = number
            // A later version may define more parameters. This provider cannot carry out a request with an unknown one.
            guard let parameter = TokenParameter(rawValue: number) else {
                throw ProviderFailure(.unknownRequest, "unknown parameter \(number)")
            }
            let value = try reader.bytes("the parameter")
            var fields = FieldReader(ByteBuffer(bytes: value))
            switch parameter {
            case .requestedSize:
                parameters.requestedSize = Int(try fields.integer("the requested size", as: UInt32.self))
                try fields.end()
            case .sharedInfo: parameters.sharedInfo = value
            case .associatedData: parameters.associatedData = value
            case .saltLength:
                parameters.saltLength = Int(try fields.integer("the salt's length", as: UInt16.self))
                try fields.end()
            case .maskDigest:
                guard let digest = SecKeyDigest(rawValue: String(decoding: value, as: UTF8.self)) else {
                    throw ProviderFailure(.unknownRequest, "the mask's digest is unknown")
                }
                parameters.maskDigest = digest
            case .label: parameters.label = value
            case .signatureForm:
                parameters.isSignatureConcatenated = try fields.flag("the form of the signature")
                try fields.end()
            case .ticket:
                guard value.count == TokenLoginState.ticketLength else {
                    throw ProviderFailure(.malformed, "a ticket has \(value.count) bytes")
                }
                parameters.ticket = value
            }
        }
        return parameters
    }

    /// Reads a byte count (16 bits) and that many bytes.
    mutating func bytes(_ field: StaticString) throws(ProviderFailure) -> [UInt8] {
        let count = Int(try integer(field, as: UInt16.self))
        guard let bytes = octets(count) else {
            throw ProviderFailure(.malformed, "the message ends inside \(field)")
        }
        return bytes
    }
}

extension ByteBuffer {
    /// Writes a key use without its data.
    ///
    /// - Throws: `refused` if a string or a parameter does not fit its field.
    mutating func write(_ use: TokenUse) throws(ProviderFailure) {
        try writeField(use.objectID)
        writeInteger(use.operation.rawValue)
        try writeField(use.algorithm)
        var parameters: [(TokenParameter, [UInt8])] = []
        let asked = use.parameters
        if asked.requestedSize != 0 {
            var bytes = ByteBuffer()
            bytes.writeInteger(UInt32(clamping: asked.requestedSize))
            parameters.append((.requestedSize, Array(bytes.readableBytesView)))
        }
        if !asked.sharedInfo.isEmpty { parameters.append((.sharedInfo, asked.sharedInfo)) }
        if !asked.associatedData.isEmpty { parameters.append((.associatedData, asked.associatedData)) }
        if let salt = asked.saltLength {
            var bytes = ByteBuffer()
            bytes.writeInteger(UInt16(clamping: salt))
            parameters.append((.saltLength, Array(bytes.readableBytesView)))
        }
        if let mask = asked.maskDigest { parameters.append((.maskDigest, Array(mask.rawValue.utf8))) }
        if !asked.label.isEmpty { parameters.append((.label, asked.label)) }
        if asked.isSignatureConcatenated { parameters.append((.signatureForm, [1])) }
        if !asked.ticket.isEmpty { parameters.append((.ticket, asked.ticket)) }
        try writeList(parameters) { (bytes, parameter) throws(ProviderFailure) in
            bytes.writeInteger(parameter.0.rawValue)
            try bytes.writeField(octets: parameter.1)
        }
    }

    /// Writes a byte count (16 bits) and the bytes.
    ///
    /// - Throws: `refused` if there are more than 65,535 bytes.
    mutating func writeField(octets: [UInt8]) throws(ProviderFailure) {
        guard let count = UInt16(exactly: octets.count) else {
            throw ProviderFailure(.refused, "\(octets.count) bytes do not fit in their field")
        }
        writeInteger(count)
        writeBytes(octets)
    }

    /// Appends the result of a key use, as the last field of a body.
    mutating func write(_ secret: SecretBytes) {
        unsafe secret.withUnsafeBytes { bytes in
            _ = unsafe writeBytes(bytes)
        }
    }
}

// MARK: - Lists and status

extension FieldReader {
    mutating func tokenPage() throws(ProviderFailure) -> TokenPage {
        let changeCount = try integer("the change count", as: UInt64.self)
        let entries = try list("the tokens", smallest: 12) { (reader) throws(ProviderFailure) in
            try reader.tokenEntry()
        }
        return TokenPage(entries: entries, changeCount: changeCount, nextCursor: try cursor())
    }

    private mutating func tokenEntry() throws(ProviderFailure) -> TokenEntry {
        let tokenID = try string("the token")
        let objectID = try identifier("the object")
        let label = try string("the label")
        let certificate = try bytes("the certificate")
        let family: SecKeyAlgorithm.KeyFamily
        switch try integer("the kind of key", as: UInt8.self) {
        case 1: family = .rsa
        case 2: family = .ec
        case let other: throw ProviderFailure(.malformed, "the kind of key \(other) is unknown")
        }
        let bits = Int(try integer("the size of the key", as: UInt16.self))
        let traits = TokenTraits(rawValue: try integer("the properties"))
        guard TokenTraits.all.isSuperset(of: traits) else {
            throw ProviderFailure(.malformed, "a token has an unknown property")
        }
        return TokenEntry(
            tokenID: tokenID, objectID: objectID, label: label, certificate: certificate, keyFamily: family,
            keyBits: bits,
            properties: TokenKeyProperties(
                canSign: traits.contains(.canSign), canDecrypt: traits.contains(.canDecrypt),
                canPerformKeyExchange: traits.contains(.canDerive)),
            hasKey: traits.contains(.hasKey),
            rule: traits.contains(.followsRFC5280) ? .rfc5280 : .cryptoTokenKit)
    }

    mutating func tokenStatus() throws(ProviderFailure) -> TokenStatus {
        let changeCount = try integer("the change count", as: UInt64.self)
        let tokenCount = Int(try integer("the number of tokens", as: UInt32.self))
        let state = StateTraits(rawValue: try integer("the state"))
        guard StateTraits.all.isSuperset(of: state) else {
            throw ProviderFailure(.malformed, "the device has an unknown state")
        }
        return TokenStatus(
            changeCount: changeCount, tokenCount: tokenCount, isUnlocked: state.contains(.isUnlocked),
            hasPasscode: state.contains(.hasPasscode),
            lockCount: try integer("the number of locks"),
            openKeys: Int(try integer("the number of open keys", as: UInt32.self)),
            deviceSerial: try string("the device's serial number"))
    }

    /// Reads the token's part of a failure with the code `Wire.tokenFailureCode`, which follows the message.
    mutating func tokenError(_ message: String) throws(ProviderFailure) -> TokenError {
        let code = Int(try integer("the token's code", as: Int16.self))
        let obstacle = try string("the obstacle")
        // An unknown code or refusal reason comes from a later version and still means that the key use failed.
        return TokenError(
            TokenError.Code(rawValue: code) ?? .communicationError, message,
            obstacle: TokenRefusalReason(rawValue: obstacle))
    }
}

extension ByteBuffer {
    mutating func write(_ page: TokenPage) throws(ProviderFailure) {
        writeInteger(page.changeCount)
        try writeList(page.entries) { (bytes, entry) throws(ProviderFailure) in
            try bytes.writeField(entry.tokenID)
            try bytes.writeField(entry.objectID)
            try bytes.writeField(entry.label)
            try bytes.writeField(octets: entry.certificate)
            bytes.writeInteger(UInt8(entry.keyFamily == .rsa ? 1 : 2))
            bytes.writeInteger(UInt16(clamping: entry.keyBits))
            var traits: TokenTraits = []
            if entry.properties.canSign { traits.insert(.canSign) }
            if entry.properties.canDecrypt { traits.insert(.canDecrypt) }
            if entry.properties.canPerformKeyExchange { traits.insert(.canDerive) }
            if entry.hasKey { traits.insert(.hasKey) }
            if entry.rule == .rfc5280 { traits.insert(.followsRFC5280) }
            bytes.writeInteger(traits.rawValue)
        }
        try writeCursor(page.nextCursor)
    }

    mutating func write(_ status: TokenStatus) throws(ProviderFailure) {
        writeInteger(status.changeCount)
        writeInteger(UInt32(clamping: status.tokenCount))
        var state: StateTraits = []
        if status.isUnlocked { state.insert(.isUnlocked) }
        if status.hasPasscode { state.insert(.hasPasscode) }
        writeInteger(state.rawValue)
        writeInteger(status.lockCount)
        writeInteger(UInt32(clamping: status.openKeys))
        try writeField(status.deviceSerial)
    }

    /// Writes the body of a failure reply for a token error.
    mutating func write(_ error: TokenError) throws(ProviderFailure) {
        writeInteger(Wire.tokenFailureCode)
        try writeField(String(error.reason.prefix(512)))
        writeInteger(Int16(clamping: error.code.rawValue))
        try writeField(error.obstacle?.rawValue ?? "")
    }
}
