/// The login mode for programs that use the token through PKCS #11 (PKCS #11 3.0, 5.6).
package enum TokenLoginMode: UInt8, Sendable, Hashable, CaseIterable {
    /// No login is necessary: the user is prompted when a key is used, as for apps on the device.
    case presence = 0
    /// The login prompts for the user's presence on the device (`CKF_PROTECTED_AUTHENTICATION_PATH`).
    case path = 1
    /// The login requires a PIN, which is the device's passcode.
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

/// The login state of a token, and the result of a login.
package struct TokenLoginState: Sendable, Hashable {
    /// The mode in which the provider serves.
    package var mode: TokenLoginMode
    /// Whether keys of certificates for non-repudiation require a separate login for each use
    /// (`CKA_ALWAYS_AUTHENTICATE`).
    package var asksAlways: Bool
    /// Whether the device has a passcode.
    package var hasPasscode: Bool
    /// The number of wrong passcodes that are accepted before the passcode is locked.
    package var triesLeft: Int
    /// The ticket that permits key uses without a prompt; empty without a login.
    package var ticket: [UInt8]

    /// The length of a ticket in bytes.
    package static let ticketLength = 16
    /// The number of wrong passcodes that are accepted after a correct one.
    package static let mostTries = 3

    /// Creates a state; by default, without a ticket and with all attempts left.
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
