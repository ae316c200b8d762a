internal import CommandSupport

/// The state that the page shows, except for picker and sequence.
struct PhoneDocument: Encodable {
    /// The user's configured answer to prompts, and the pending question about the user's presence.
    struct Presence: Encodable {
        let answer: String
        /// The number of the oldest pending question about the user's presence, or nil. Dialogs are in `android`.
        let question: Int?
    }

    /// The state of the provider's process.
    struct Provider: Encodable {
        /// Whether a provider is running.
        let serving: Bool
        /// The ID of the provider's process, or nil if no provider is running.
        let process: Int32?
        /// Whether this page started the provider.
        let isOwn: Bool
        /// The fault that this page started the provider with; nil if there is no fault, or if another program started
        /// the provider.
        let fault: String?
        /// The reason why the provider's events are not available, or nil.
        let failure: FailureDocument.Body?
        /// The command that starts a provider.
        let command: String
    }

    /// The identities of the provider or of the consumer in the keychain.
    struct Side: Encodable {
        /// The identities; empty if they cannot be read.
        let identities: [IdentityDocument]
        /// The total number of identities, which may be more than `identities` contains.
        let count: Int
        /// The reason why the identities cannot be read, or nil.
        let failure: FailureDocument.Body?
    }

    /// The state of the pasteboard.
    struct Paste: Encodable {
        /// The app that copied the item, or nil if the pasteboard is empty.
        let owner: String?
        /// Whether the last item on the pasteboard has expired.
        let hasExpired: Bool
    }

    /// A number that changes whenever the provider's list may have changed.
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
    let android: AndroidDocument
    let questions: [Questions.Question]
    let imports: [ImportJob]
    /// The parts of the device that cannot be read.
    let failures: [FailureDocument.Body]
}
