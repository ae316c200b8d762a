internal import CommandSupport

/// The state of everything that the page shows beside picker and sequence.
struct PhoneDocument: Encodable {
    /// The app that answers users.
    struct Presence: Encodable {
        let answer: String
        let waiting: Int
    }

    /// The provider's process.
    struct Provider: Encodable {
        /// Whether one serves.
        let serving: Bool
        /// Its process; nil where none serves.
        let process: Int32?
        /// Whether this page has started it.
        let isOwn: Bool
        /// The fault that it serves with; nil where there is none, and where another has started it.
        let fault: String?
        /// Why its events cannot be seen; nil where they can.
        let failure: FailureDocument.Body?
        /// The command that starts one.
        let command: String
    }

    /// One side of the keychain.
    struct Side: Encodable {
        /// The identities; empty where they cannot be read.
        let identities: [IdentityDocument]
        /// How many there are.
        let count: Int
        /// Why they cannot be read; nil where they can.
        let failure: FailureDocument.Body?
    }

    /// The item on the pasteboard.
    struct Paste: Encodable {
        /// The app that has copied it; nil where there is none.
        let owner: String?
        /// Whether the last item is gone because it has expired.
        let hasExpired: Bool
    }

    /// Changes whenever the provider may list something else.
    let generation: Int
    let folder: String
    let state: String
    let hasPasscode: Bool
    let apps: [String]
    let presence: Presence
    let provider: Provider
    let published: Side
    let held: Side
    let pasteboard: Paste
    let questions: [Questions.Question]
    let imports: [ImportJob]
    /// What cannot be read of the device; empty where all can.
    let failures: [FailureDocument.Body]
}
