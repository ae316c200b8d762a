internal import CommandSupport

/// The state that the page shows, except for picker and sequence.
struct PhoneDocument: Encodable {
    /// The app that presents questions to the user.
    struct Presence: Encodable {
        let answer: String
        let waiting: Int
    }

    /// The provider's process.
    struct Provider: Encodable {
        /// Whether it is running.
        let serving: Bool
        /// Its process, or nil if no provider is running.
        let process: Int32?
        /// Whether this page has started it.
        let isOwn: Bool
        /// The fault that it was started with; nil if there is none, and for a provider that this page did not start.
        let fault: String?
        /// Why its events are not available, or nil.
        let failure: FailureDocument.Body?
        /// The command that starts a provider.
        let command: String
    }

    /// One side of the keychain.
    struct Side: Encodable {
        /// The identities; empty if they cannot be read.
        let identities: [IdentityDocument]
        /// The number of all identities.
        let count: Int
        /// The reason why the identities cannot be read, or nil.
        let failure: FailureDocument.Body?
    }

    /// The item on the pasteboard.
    struct Paste: Encodable {
        /// The app that has copied it, or nil if the pasteboard is empty.
        let owner: String?
        /// Whether the last item has expired.
        let hasExpired: Bool
    }

    /// Changes whenever the provider's list may have changed.
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
    /// The parts of the device that cannot be read.
    let failures: [FailureDocument.Body]
}
