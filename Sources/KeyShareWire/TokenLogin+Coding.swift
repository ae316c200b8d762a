internal import KeyShareProtocol
internal import NIOCore
internal import PersistentToken
package import SecretMemory

// The encodings of the feature `token-login`, which `Protocol.md` describes under "Logging in".

/// A request of the feature `token-login`.
package enum TokenLogin: Sendable, Hashable {
    /// Requests the login state without logging in.
    case state
    /// Logs in by the user's presence.
    case presence
    /// Logs in with the device's passcode.
    case passcode(Passcode)

    /// A passcode as entered by the user.
    package struct Passcode: Sendable, Hashable {
        /// The bytes as received from the program, usually ASCII digits.
        package let bytes: SecretBytes

        /// Stores the bytes. The caller must wipe its own copy.
        package init(_ bytes: SecretBytes) {
            self.bytes = bytes
        }

        /// Hashes only the length, so that no digest of the bytes exists in memory.
        package func hash(into hasher: inout Hasher) {
            hasher.combine(bytes.count)
        }
    }

    /// The maximum length of a passcode, in bytes.
    package static let longestPasscode = Wire.longestPasscode
}

extension FieldReader {
    mutating func tokenLogin() throws(ProviderFailure) -> TokenLogin {
        let kind = try integer("the kind of login", as: UInt8.self)
        let count = Int(try integer("the passcode", as: UInt16.self))
        guard remaining == count else {
            throw ProviderFailure(.malformed, "the passcode does not have the announced length")
        }
        guard count == 0 || (kind == 2 && count <= TokenLogin.longestPasscode) else {
            throw ProviderFailure(.malformed, "a passcode is too long, or this kind of login has no passcode")
        }
        let bytes = rest()
        switch kind {
        case 0: return .state
        case 1: return .presence
        case 2:
            let passcode = SecretBytes(bytes.readableBytesView)
            bytes.overwrite()
            return .passcode(TokenLogin.Passcode(passcode))
        default: throw ProviderFailure(.malformed, "the kind of login \(kind) is unknown")
        }
    }

    mutating func tokenLoginState() throws(ProviderFailure) -> TokenLoginState {
        guard let mode = TokenLoginMode(rawValue: try integer("the login's mode")) else {
            throw ProviderFailure(.malformed, "the login's mode is unknown")
        }
        let traits = LoginTraits(rawValue: try integer("the login's properties"))
        guard LoginTraits.all.isSuperset(of: traits) else {
            throw ProviderFailure(.malformed, "the login has an unknown property")
        }
        let triesLeft = Int(try integer("the number of tries", as: UInt8.self))
        let ticket = try bytes("the ticket")
        guard [0, TokenLoginState.ticketLength].contains(ticket.count) else {
            throw ProviderFailure(.malformed, "a ticket has \(ticket.count) bytes")
        }
        return TokenLoginState(
            mode: mode, asksAlways: traits.contains(.asksAlways), hasPasscode: traits.contains(.hasPasscode),
            triesLeft: triesLeft, ticket: ticket)
    }
}

extension ByteBuffer {
    mutating func write(_ login: TokenLogin) throws(ProviderFailure) {
        switch login {
        case .state:
            writeInteger(UInt8(0))
            writeInteger(UInt16(0))
        case .presence:
            writeInteger(UInt8(1))
            writeInteger(UInt16(0))
        case .passcode(let passcode):
            guard passcode.bytes.count <= TokenLogin.longestPasscode else {
                throw ProviderFailure(
                    .refused, "a passcode has at most \(TokenLogin.longestPasscode) bytes")
            }
            writeInteger(UInt8(2))
            writeInteger(UInt16(passcode.bytes.count))
            write(passcode.bytes)
        }
    }

    mutating func write(_ state: TokenLoginState) throws(ProviderFailure) {
        writeInteger(state.mode.rawValue)
        var traits: LoginTraits = []
        if state.asksAlways { traits.insert(.asksAlways) }
        if state.hasPasscode { traits.insert(.hasPasscode) }
        writeInteger(traits.rawValue)
        writeInteger(UInt8(clamping: state.triesLeft))
        try writeField(octets: state.ticket)
    }
}

/// The boolean properties of a login, as the bits of one byte.
private struct LoginTraits: OptionSet {
    let rawValue: UInt8

    static let asksAlways = LoginTraits(rawValue: 1 << 0)
    static let hasPasscode = LoginTraits(rawValue: 1 << 1)
    static let all: LoginTraits = [.asksAlways, .hasPasscode]
}
