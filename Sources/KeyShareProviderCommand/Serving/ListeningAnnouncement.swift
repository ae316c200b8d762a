import CommandSupport
import Glibc
import KeyShareProvider
import ServiceLifecycle

/// Announces that consumers can connect, once the service group handles signals.
struct ListeningAnnouncement: Service {
    let console: Console
    let log: LineWriter
    let path: String
    /// The address of the test PKI's server; nil without `--pki`.
    let pki: String?
    let store: ProviderStore

    func run() async throws {
        // Subscribed consumers have missed the changes made while no provider was running. The notification is
        // posted before the line, so that a process that waits for the line does not see it as a later change.
        store.tellOfChange()
        if console.isJSON {
            try console.document(ListeningDocument(listening: path, pki: pki), onOneLine: true)
        }
        if let pki { console.note("the test PKI is served at \(pki)", to: log) }
        console.note("listening on \(path)", to: log)
        try await gracefulShutdown()
        // The first signal lets the provider finish; a second one ends the process immediately.
        for signal in [SIGTERM, SIGINT] { Glibc.signal(signal, SIG_DFL) }
    }
}
