/// How a program that uses the token through PKCS #11 logs in (PKCS #11 3.0, 5.6).
package enum TokenLoginMode: UInt8, Sendable, Hashable, CaseIterable {
    /// It need not: the user is asked when a key is used, as an app of the device is served.
    case presence = 0
    /// The login asks for the user's presence on the device (`CKF_PROTECTED_AUTHENTICATION_PATH`).
    case path = 1
    /// The login takes the device's passcode as the PIN.
    case pin = 2

    /// The name on the command line.
    package var name: String {
        switch self {
        case .presence: "presence"
        case .path: "path"
        case .pin: "pin"
        }
    }
}

/// What a token says about logging in, and what a login gives.
package struct TokenLoginState: Sendable, Hashable {
    /// How a program logs in.
    package var mode: TokenLoginMode
    /// Whether keys of certificates for non-repudiation ask for a login of their own at each use
    /// (`CKA_ALWAYS_AUTHENTICATE`).
    package var asksAlways: Bool
    /// Whether the device has a passcode.
    package var hasPasscode: Bool
    /// How many wrong passcodes the token takes before it takes none any more.
    package var triesLeft: Int
    /// What a use carries to be done without asking the user again; empty where nobody has logged in.
    package var ticket: [UInt8]

    /// The length of a ticket in bytes.
    package static let ticketLength = 16
    /// How many wrong passcodes the token takes after a right one.
    package static let mostTries = 3

    /// Makes a state of its parts.
    package init(
        mode: TokenLoginMode, asksAlways: Bool = false, hasPasscode: Bool = true,
        triesLeft: Int = Self.mostTries, ticket: [UInt8] = []
    ) {
        self.mode = mode
        self.asksAlways = asksAlways
        self.hasPasscode = hasPasscode
        self.triesLeft = triesLeft
        self.ticket = ticket
    }
}
