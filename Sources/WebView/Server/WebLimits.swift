package import LoopbackHTTP

/// The limits of the device's page for stored data and for clients.
package enum WebLimits {
    /// The limits of the page's server for each client.
    package static let server = {
        var limits = LoopbackServer.Limits()
        limits.requestBytes = 256 << 10
        // Several requests may wait for the provider at the same time.
        limits.answersAtOnce = 16
        limits.time = .seconds(120)
        limits.isForOwnUserOnly = true
        return limits
    }()

    /// The number of events that are kept for later pages. When the journal holds more than twice as many, it drops the oldest.
    package static let events = 5_000
    /// The number of messages that are queued for a page that does not read.
    package static let waitingMessages = 1_024
    /// The number of imports that are kept.
    package static let imports = 20
    /// The number of an Android app's requests that are kept.
    package static let aliasRequests = 20
    /// The maximum number of an Android app's requests that wait for the provider or for the user.
    package static let pendingAliasRequests = 8
    /// The maximum number of texts in an Android app's request.
    package static let aliasTexts = 64
    /// The number of rows of a query that a page receives. The page also receives the total count.
    package static let shownRows = 50
    /// The maximum number of identities of a keychain that a page receives. The page also receives the total count.
    package static let identities = 300
    /// The maximum number of unlisted items that a page receives. The page also receives the total count.
    package static let absentItems = 200
    /// The time after which an unanswered question to the user counts as denied.
    package static let question: Duration = .seconds(120)
    /// The maximum size of a recording's file, in bytes.
    package static let recording = 64 << 20
    /// The maximum number of events in a recording.
    package static let recordedEvents = 100_000
}
