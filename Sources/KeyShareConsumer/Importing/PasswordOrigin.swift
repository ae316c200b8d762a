internal import Diagnostics
internal import KeySharing
internal import OpenSSL

/// The source of a password. The error for a wrong password contains it.
package enum PasswordOrigin: Sendable {
    /// The user entered it at a prompt or passed it with an option.
    case user
    /// The item's password service.
    case service
    /// The item's password service, which returned an empty password.
    case silentService
    /// The device's pasteboard.
    case pasteboard

    /// Converts the error for a wrong password to one that names the password's source, so that the user knows where to
    /// correct it (docs/rules.md R4.18, R6.12). Returns all other errors unchanged.
    func blamed(for error: any Error) -> any Error {
        guard let wrong = error as? PKCS12Error, wrong.code == .wrongPassword else { return error }
        return switch self {
        case .user: error
        case .service:
            ImportError(.servicePassword, "\(wrong.reason), although the password service returned it")
        case .silentService:
            // An empty password is correct for a file without a password. For any other file it counts as no answer.
            ImportError(.emptyAnswer, "the password service returned neither a password nor an error")
        case .pasteboard:
            ImportError(
                .pasteboardHoldsOther, "the pasteboard contains something other than this file's password")
        }
    }
}
