internal import Diagnostics
internal import OpenSSL

/// The party that a password comes from, which a wrong password is blamed on.
package enum PasswordOrigin: Sendable {
    /// The user, by an option or at a prompt.
    case user
    /// The password service of the item.
    case service
    /// The password service of the item, which answered with an empty password.
    case silentService
    /// The pasteboard.
    case pasteboard

    /// The error that a file under a wrong password gives, in words for the party that can do something about
    /// it (docs/rules.md R4.18, R6.12). Every other error stays as it is.
    func blamed(for error: any Error) -> any Error {
        guard let wrong = error as? PKCS12Error, wrong.code == .wrongPassword else { return error }
        return switch self {
        case .user: error
        case .service:
            ImportError(.servicePassword, "\(wrong.reason), and it is the password service's")
        case .silentService:
            // An empty answer is the password of a file that is under none, and otherwise no answer at all.
            ImportError(.emptyAnswer, "the password service gives neither a password nor an error")
        case .pasteboard:
            ImportError(
                .pasteboardHoldsOther, "the pasteboard holds something else than this file's password")
        }
    }
}
