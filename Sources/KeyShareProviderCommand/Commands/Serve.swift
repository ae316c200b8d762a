import KeyShareServer
import LoopbackHTTP
import TestCredentials
import ArgumentParser
import CommandSupport
import DeviceSimulation
import Foundation
import Glibc
import KeyShareProvider
import KeyShareWire
import KeySharing
import Logging
import OpenSSL
import PrivateFiles
import ServiceLifecycle
import UnixSignals

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve files and password on the socket until SIGTERM or SIGINT.",
        discussion: """
            Consumers of both mechanisms are served at the same time. The line \u{201C}listening on PATH\u{201D} on standard error says that consumers can connect; with --json it is a document on standard output.

            If a scenario was provisioned last, the provider serves as the scenario says. --root, \
            --pasteboard-expiry, --fault and the options about files take precedence, and --ignore-scenario ignores \
            the scenario.

            --fault does one thing wrong on purpose, so that a consumer can be tested against it:
            \(Self.faults)

            The keys of the persistent token (keyshare-provider token) are used here, for every app that asks. --token-fault does one thing wrong there:
            \(TokenServiceOptions.faults)

            --pki answers over HTTP at the URLs of certificates that were made with provision --pki: the \
            authorities' certificates, revocation lists, and OCSP. Everybody on this machine may ask.

            EXAMPLE:
              keyshare-provider serve --verbose
              keyshare-provider serve --fault cut-read
              keyshare-provider serve --pki 127.0.0.1:8080
              keyshare-provider serve --token-login pin
            """)

    @Option(
        help: ArgumentHelp(
            "Which single files the root shows: all, or the recent ones, as the sample app does. (default: all)",
            valueName: "contents"))
    var root: RootContents?

    @Option(
        help: ArgumentHelp(
            "How long a legacy password stays on the pasteboard, in seconds. (default: 60)",
            valueName: "seconds"))
    var pasteboardExpiry: Double?

    @Option(
        help: ArgumentHelp("Do one thing wrong on purpose; the list is above.", valueName: "name"))
    var fault: ServiceFault?

    @OptionGroup var token: TokenServiceOptions

    @Flag(help: "Ignore the scenario that was provisioned last.")
    var ignoreScenario = false

    @Option(
        help: ArgumentHelp(
            "Serve the test PKI's files and OCSP here too: 127.0.0.1 or [::1], and a port, 0 for any.",
            valueName: "address:port"))
    var pki: String?

    @OptionGroup var profile: ProfileOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var socket: SocketOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (0...86_400).contains(pasteboardExpiry ?? 0) else {
            throw ValidationError("--pasteboard-expiry takes a number from 0 to 86400")
        }
    }

    func run() async throws {
        let console = output.console
        let address = try pki.map { try LoopbackAddress($0) }
        // Each connection takes a descriptor, and the usual limit is far below the connections that the server takes.
        ProviderServer.raiseDescriptorLimit()
        let device = try device.makeDevice(console)
        // The shared lock keeps others from erasing the device while it is served.
        let use = try device.lockShared()
        defer { use.release() }
        try device.clearUnfinished(now: Date())
        let store = try ProviderStore(device)
        let problems = try store.quickCheck()
        guard problems.isEmpty else {
            Console.problems(problems)
            throw CommandFailure(damage: problems)
        }
        let clock = clock
        let behaviour = ignoreScenario ? nil : try ServiceBehaviour.stored(on: device)
        if let behaviour, let summary = behaviour.summary {
            console.note("serving as the scenario \(behaviour.scenario) says, but for options: \(summary)")
        }
        let fault = fault ?? behaviour?.fault
        let pasteboard = try Pasteboard(device: device)
        let lifetime = pasteboardExpiry ?? behaviour?.pasteboardExpiry ?? Pasteboard.standardLifetime
        let deviceState = store.watchState()
        let tokenKeys = token.keys(of: store, deviceState)
        let provider = try Provider(
            store, root: root ?? behaviour?.root ?? .all, profile: profile.selected(over: behaviour),
            friendlyName: profile.friendlyName ?? behaviour?.friendlyName,
            token: token.gate(before: tokenKeys), fixedPassword: fault?.password, deviceState: deviceState,
            now: { clock.now },
            putOnPasteboard: {
                // The UI extension may use the pasteboard, the file provider extension may not (docs/rules.md R4.15).
                try pasteboard.write($0, owner: .providerInterface, now: Date(), lifetime: lifetime)
            })
        // Nothing of a running provider waits for whoever reads the log.
        let log = LineWriter()
        let logger = Self.logger(console.verbosity, log)
        var service: any ProviderService = provider
        if let fault {
            service = FaultyProvider(provider, fault: fault, sleep: { try await Task.sleep(for: $0) })
            console.note("at fault on purpose: \(fault.explanation)")
        }
        if let note = token.note { console.note(note) }
        let server = try ProviderServer(
            path: try socket.path(of: device), inherited: try SocketActivation.descriptor(),
            service: service, services: fault?.services ?? [PasswordService.name], fault: fault?.connection,
            logger: logger)
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = [
            .init(service: server),
            .init(
                service: try Watch(device, .passwordChanged) {
                    // If the password cannot be read now, the next request tries again and reports the error.
                    try? provider.refresh()
                    server.endOldGrants()
                    tokenKeys.forget()
                }),
            .init(service: PasteboardSweep(pasteboard: pasteboard)),
            .init(
                service: try Watch(device, .deviceStateChanged) {
                    server.endOldGrants()
                    provider.followDeviceState()
                    tokenKeys.forgetStale()
                }),
            .init(service: try Watch(device, .tokensChanged) { tokenKeys.forgetStale() }),
            .init(service: OpenKeySweep(keys: tokenKeys)),
        ]
        var website: LoopbackServer?
        if let address {
            let responder = PKIResponder(store) { clock.now }
            let server = try await LoopbackServer(address, logger: logger) { responder.answer($0) }
            services.append(.init(service: server))
            website = server
        }
        services.append(
            .init(
                service: Announcement(
                    console: console, log: log, path: server.path,
                    pki: website.map { "http://\($0.address)" },
                    store: store)))
        // Below `.warning` ServiceGroup logs the Swift descriptions of its services, which mean nothing to users.
        var groupLogger = logger
        groupLogger.logLevel = max(logger.logLevel, .warning)
        let group = ServiceGroup(
            configuration: .init(
                services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: groupLogger))
        // However it ends, the log is written as far as somebody reads it.
        defer { log.flush(patience: Self.logPatience) }
        try await group.run()
        console.note("stopped", to: log)
    }

    /// How long a provider that has stopped waits for whoever reads its log.
    private static let logPatience = Duration.milliseconds(500)

    private static let faults = ServiceFault.allCases.map { fault in
        "  " + fault.name.padded(to: 22) + fault.explanation
    }.joined(separator: "\n")

    /// Announces that consumers can connect, once the service group handles signals.
    private struct Announcement: Service {
        let console: Console
        let log: LineWriter
        let path: String
        /// The address at which the test PKI answers; nil without `--pki`.
        let pki: String?
        let store: ProviderStore

        func run() async throws {
            // Consumers that watch have missed the changes of the time without a provider. The notification comes
            // before the line, so that a process that waits for the line does not see it as a later change.
            store.tellOfChange()
            if console.isJSON {
                try console.document(ListeningDocument(listening: path, pki: pki), onOneLine: true)
            }
            if let pki { console.note("the test PKI answers at \(pki)", to: log) }
            console.note("listening on \(path)", to: log)
            try await gracefulShutdown()
            // The first signal lets the provider finish; a second one ends the process at once.
            for signal in [SIGTERM, SIGINT] { Glibc.signal(signal, SIG_DFL) }
        }
    }

    /// Runs `act` whenever another process posts a notification.
    private struct Watch: Service {
        private let device: Device
        private let changes: Observations
        private let act: @Sendable () -> Void

        init(_ device: Device, _ name: NotificationName, act: @escaping @Sendable () -> Void) throws {
            self.device = device
            self.act = act
            changes = try Notifications(device: device).observe(name)
        }

        func run() async throws {
            for await _ in changes.cancelOnGracefulShutdown() {
                act()
            }
            // No notification of passwords, locks and restarts can arrive any more, so that the provider must not go on.
            if !Task.isShuttingDownGracefully && !Task.isCancelled { throw device.gone }
        }
    }

    /// Wipes what was copied to the pasteboard when it expires, whoever put it there.
    private struct PasteboardSweep: Service {
        let pasteboard: Pasteboard

        func run() async throws {
            await cancelWhenGracefulShutdown {
                while !Task.isCancelled {
                    // A pasteboard that cannot be read is reported to those who use it.
                    let expiry = try? pasteboard.wipeExpired(now: Date())
                    let wait = min(max(expiry?.timeIntervalSinceNow ?? Self.interval, 0.01), Self.interval)
                    try? await Task.sleep(for: .seconds(wait))
                }
            }
        }

        /// How often the sweep looks for items that others put there, in seconds.
        private static let interval = 5.0
    }

    /// Closes keys when their time is over, whether or not anybody asks for one.
    private struct OpenKeySweep: Service {
        let keys: TokenKeys

        func run() async throws {
            await cancelWhenGracefulShutdown {
                while !Task.isCancelled {
                    let wait = min(max(keys.forgetStale() ?? Self.interval, .milliseconds(10)), Self.interval)
                    try? await Task.sleep(for: wait)
                }
            }
            keys.forget()
        }

        /// How often the sweep looks for keys that were opened meanwhile.
        private static let interval = Duration.seconds(5)
    }

    private static func logger(_ verbosity: Console.Verbosity, _ log: LineWriter) -> Logger {
        var logger = Logger(label: "keyshare-provider") { StreamLogHandler(label: $0, stream: log) }
        logger.logLevel =
            switch verbosity {
            case .quiet: .error
            case .normal: .warning
            case .verbose: .debug
            }
        return logger
    }
}

extension ServiceFault: ExpressibleByArgument {}

extension ProfileOptions {
    /// The profile of these options; what they leave out is as the scenario says.
    func selected(over behaviour: ServiceBehaviour?) -> PKCS12Profile {
        selected(
            usual: behaviour?.profile ?? .modern, iterations: behaviour?.iterations,
            chain: behaviour?.chain ?? false)
    }
}
