import CommandSupport
import Glibc
import KeyShareProvider
import ServiceLifecycle

/// Announces that consumers can connect, once the service group handles signals.
struct ListeningAnnouncement: Service {
    let log: ServeLog
    let manager: ServiceManager
    let path: String
    /// The address of the test PKI's server; nil without `--pki`.
    let pki: String?
    /// The address of the metrics; nil without `--metrics`.
    let metrics: String?
    let store: ProviderStore

    func run() async throws {
        // Subscribed consumers have missed the changes made while no provider was running. The notification is
        // posted before the line, so that a process that waits for the line does not see it as a later change.
        store.announceChange()
        if log.console.isJSON {
            try log.console.document(
                ListeningDocument(listening: path, pki: pki, metrics: metrics), onOneLine: true)
        }
        if let pki { log.note("the test PKI is served at \(pki)") }
        if let metrics { log.note("metrics are served at \(metrics)") }
        log.note("listening on \(path)")
        manager.report(.ready)
        try await gracefulShutdown()
        manager.report(.stopping)
        // The first signal lets the provider finish; a second one ends the process immediately.
        for signal in [SIGTERM, SIGINT] { Glibc.signal(signal, SIG_DFL) }
    }
}
