import CommandSupport
import Glibc
import KeyShareServer
import LocalSockets
import ServiceLifecycle
import UnixSignals

/// The service manager that started this process, and the messages to it (sd_notify(3)).
struct ServiceManager: Sendable {
    private let path: String?
    /// The time within which the manager expects a sign of life; nil if it expects none (sd_watchdog_enabled(3)).
    let watchdog: Duration?

    /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    init(environment: [String: String], processID: pid_t) {
        path = environment["NOTIFY_SOCKET"].flatMap { name in
            SocketPath.isUsable(name) && (name.hasPrefix("/") || name.hasPrefix("@")) ? name : nil
        }
        let isMeant = environment["WATCHDOG_PID"].map { pid_t($0) == processID } ?? true
        watchdog =
            isMeant
            ? environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 ? .microseconds($0) : nil }
            : nil
    }

    /// The states of the service.
    enum State {
        /// Clients can connect.
        case ready
        /// The service rereads its data; `ready` follows.
        case reloading
        /// The service is stopping.
        case stopping
        /// The service is alive.
        case alive

        fileprivate var text: String {
            switch self {
            case .ready: "READY=1"
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(Self.monotonicMicroseconds)"
            case .stopping: "STOPPING=1"
            case .alive: "WATCHDOG=1"
            }
        }

        /// The time of the reload, which `Type=notify-reload` requires.
        private static var monotonicMicroseconds: Int {
            var time = timespec()
            unsafe clock_gettime(CLOCK_MONOTONIC, &time)
            return time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
        }
    }

    /// Reports a state. Has no effect without a service manager, or if the manager does not read.
    func report(_ state: State) {
        guard let path else { return }
        let type = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let text = Array(state.text.utf8)
        _ = unsafe SocketPath.withAddress(of: path, isAbstract: path.hasPrefix("@")) { address, length in
            unsafe text.withUnsafeBytes { bytes in
                let flags = CInt(MSG_NOSIGNAL)
                return unsafe sendto(descriptor, bytes.baseAddress, bytes.count, flags, address, length) < 0
                    ? -1 : 0
            }
        }
    }
}

/// Reports that the service is alive, at half the interval that the service manager expects. Each report waits for the
/// server's event loop, so that a server that hangs is restarted.
struct Watchdog: Service {
    let manager: ServiceManager
    let interval: Duration
    let server: ProviderServer

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                _ = await server.figures()
                manager.report(.alive)
                try? await Task.sleep(for: interval / 2)
            }
        }
    }
}

/// Rereads the provider's data when the process receives SIGHUP, and keeps all connections.
struct Reload: Service {
    /// Whether SIGHUP means that the user's terminal is gone, so that the provider must stop.
    static var isTerminalSession: Bool {
        let terminal = unsafe open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }

    let manager: ServiceManager
    let log: ServeLog
    let reload: @Sendable () -> Void

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        for await _ in signals.cancelOnGracefulShutdown() {
            manager.report(.reloading)
            reload()
            log.note("reloaded")
            manager.report(.ready)
        }
    }
}
