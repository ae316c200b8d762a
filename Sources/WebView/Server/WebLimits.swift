package import LoopbackHTTP

/// How much the page of a device keeps, and how much it does for those who ask.
package enum WebLimits {
    /// The limits of the page's server for its peers.
    package static let server = {
        var limits = LoopbackServer.Limits()
        limits.requestBytes = 256 << 10
        // A request may wait for the provider, and so may others meanwhile.
        limits.answersAtOnce = 16
        limits.time = .seconds(120)
        limits.isForOwnUserOnly = true
        return limits
    }()

    /// The number of events that are kept for pages that come later; up to as many again until they are dropped.
    package static let events = 5_000
    /// The number of messages that wait for a page that does not read.
    package static let waitingMessages = 1_024
    /// The number of imports that are kept.
    package static let imports = 20
    /// The number of identities of a keychain that a page gets; it is told how many there are.
    package static let identities = 300
    /// The number of items that are left out which a page gets; it is told how many there are.
    package static let absentItems = 200
    /// The time that a question to the user waits. Nobody who answers is a no.
    package static let question: Duration = .seconds(120)
    /// The bytes of a file with a recording.
    package static let recording = 64 << 20
    /// The number of events in a recording.
    package static let recordedEvents = 100_000
}
