import ArgumentParser
import CommandSupport
import DeviceSimulation
import Foundation
import Glibc
import KeyShareProvider
import KeyShareServer
import KeyShareWire
import KeySharing
import Logging
import LoopbackHTTP
import OpenSSL
import PrivateFiles
import ServiceLifecycle
import SimulatedKeychain
import TestCredentials
import UnixSignals

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve items and their password on the socket until SIGTERM or SIGINT.",
        discussion: """
            Consumers of both mechanisms are served at the same time. They can connect when the \
            line \u{201C}listening on PATH\u{201D} appears on standard error; with --json it is a document on standard \
            output.

            After provisioning with a scenario, the provider behaves as the scenario describes. --root, \
            --pasteboard-expiry, --fault and the options about files take precedence, and --ignore-scenario ignores \
            the scenario. --pki answers HTTP requests for the URLs of certificates that provision --pki created: \
            the authorities' certificates, revocation lists and OCSP. Every user of this machine can send requests.

            --fault injects one fault, to test consumers:
            \(Self.faults)

            The provider also signs and decrypts with the keys of the persistent token (keyshare-provider token) for \
            every app that requests it. --token-fault injects one fault there:
            \(TokenServiceOptions.faults)

            It also shares aliases as on Android (keyshare-provider alias). --alias-fault injects one fault there. \
            The fault also applies to renewals and resets, until the provider is started without it:
            \(AliasServiceOptions.faults)

            On SIGHUP, a provider without a terminal rereads its password, the device's state, the token's \
            registrations, and the scenario's settings except the fault. Under systemd, the provider reports its \
            state (Type=notify) and feeds the watchdog.

            EXAMPLE:
              keyshare-provider serve --verbose
              keyshare-provider serve --fault cut-read
              keyshare-provider serve --pki 127.0.0.1:8080
              keyshare-provider serve --token-login pin
            """)

    @Option(
        help: ArgumentHelp(
            "The single files in the root: all, or recent for only the most recent, as in the sample app. (default: all)",
            valueName: "contents"))
    var root: RootContents?

    @Option(
        help: ArgumentHelp(
            "The lifetime of a legacy password on the pasteboard, in seconds. (default: 60)",
            valueName: "seconds"))
    var pasteboardExpiry: Double?

    @Option(
        help: ArgumentHelp("Inject a fault; see the list above.", valueName: "name"))
    var fault: ServiceFault?

    @OptionGroup var token: TokenServiceOptions
    @OptionGroup var alias: AliasServiceOptions

    @Flag(help: "Ignore the last provisioned scenario.")
    var ignoreScenario = false

    @Option(
        help: ArgumentHelp(
            "Also serve the test PKI's files and OCSP at this address: 127.0.0.1 or [::1], and a port; 0 selects a free port.",
            valueName: "address:port"))
    var pki: String?

    @Option(
        help: ArgumentHelp(
            "Also serve metrics for Prometheus at this address: 127.0.0.1 or [::1], and a port. The path is /metrics.",
            valueName: "address:port"))
    var metrics: String?

    @OptionGroup var profile: ProfileOptions
    @OptionGroup(title: "Log") var logOptions: LogOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var socket: SocketOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (0...86_400).contains(pasteboardExpiry ?? 0) else {
            throw ValidationError("--pasteboard-expiry must be a number from 0 to 86400")
        }
    }

    func run() async throws {
        let console = output.console
        let address = try pki.map { try LoopbackAddress($0) }
        let metricsAddress = try metrics.map { try LoopbackAddress($0) }
        // Each connection needs a descriptor, and the usual limit is far below the server's maximum number of
        // connections.
        ProviderServer.raiseDescriptorLimit()
        let writer = logOptions.writer()
        // Before the command ends, write as much of the log as its reader accepts.
        defer { writer.flush(patience: Self.logPatience) }
        let log = ServeLog(
            console: console, writer: writer, logger: logOptions.logger(console.verbosity, writer),
            isJSON: logOptions.logFormat == .json)
        let device = try device.makeDevice { log.note($0) }
        // The shared lock prevents other processes from erasing the device while the provider is running.
        let use = try device.lockShared()
        defer { use.release() }
        let store = try openStore(on: device)
        let scenario = try FollowedScenario(of: device, isIgnored: ignoreScenario)
        if let note = scenario.behaviour?.note { log.note(note) }
        let requests = metricsAddress == nil ? nil : RequestMetrics()
        let components = try makeComponents(store, scenario, log, requests)
        let services = try await services(
            of: components, store, scenario, log, requests, pki: address, metrics: metricsAddress)
        // Below `.warning` ServiceGroup logs the Swift descriptions of its services, which are meaningless to users.
        var groupLogger = log.logger
        groupLogger.logLevel = max(groupLogger.logLevel, .warning)
        let group = ServiceGroup(
            configuration: .init(
                services: services,
                gracefulShutdownSignals: [.sigterm, .sigint] + (Reload.isTerminalSession ? [.sighup] : []),
                logger: groupLogger))
        try await group.run()
        log.note("stopped")
    }

    /// Returns everything that runs while the provider serves.
    private func services(
        of components: ProviderComponents, _ store: ProviderStore, _ scenario: FollowedScenario,
        _ log: ServeLog, _ requests: RequestMetrics?,
        pki: LoopbackAddress?, metrics: LoopbackAddress?
    ) async throws -> [ServiceGroupConfiguration.ServiceConfiguration] {
        let manager = ServiceManager(environment: ProcessInfo.processInfo.environment, processID: getpid())
        var services = try components.services(on: store.device)
        var website: LoopbackServer?
        if let pki {
            let responder = PKIResponder(store) { [clock] in clock.now }
            let server = try await LoopbackServer(pki, logger: log.logger) { responder.answer($0) }
            services.append(.init(service: server))
            website = server
        }
        var metricsServer: LoopbackServer?
        if let metrics, let requests {
            let responder = MetricsResponder(server: components.server, requests: requests)
            let server = try await LoopbackServer(metrics, logger: log.logger) { await responder.answer($0) }
            services.append(.init(service: server))
            metricsServer = server
        }
        if let interval = manager.watchdog {
            services.append(
                .init(service: Watchdog(manager: manager, interval: interval, server: components.server)))
        }
        if !Reload.isTerminalSession {
            let settings = settings
            services.append(
                .init(
                    service: Reload(manager: manager, log: log) {
                        Self.follow(scenario, settings, components.provider, log)
                        components.reload(store)
                    }))
        }
        services.append(
            .init(
                service: ListeningAnnouncement(
                    log: log, manager: manager, path: components.server.path,
                    pki: website.map { "http://\($0.address)" },
                    metrics: metricsServer.map { "http://\($0.address)/metrics" }, store: store)))
        return services
    }

    /// Opens the provider's keychain, and checks it.
    ///
    /// - Throws: `CommandFailure` if the keychain is damaged.
    private func openStore(on device: Device) throws -> ProviderStore {
        try device.clearUnfinished(now: Date())
        let store = try ProviderStore(device)
        let problems = try store.quickCheck()
        guard problems.isEmpty else {
            Console.problems(problems)
            throw CommandFailure(damage: problems)
        }
        return store
    }

    /// Creates the provider, its token and its server, as the options and the scenario specify.
    private func makeComponents(
        _ store: ProviderStore, _ scenario: FollowedScenario, _ log: ServeLog, _ requests: RequestMetrics?
    ) throws -> ProviderComponents {
        let fault = fault ?? scenario.behaviour?.fault
        let pasteboard = try Pasteboard(device: store.device)
        let settings = settings
        let initial = settings.over(scenario.behaviour)
        let deviceState = store.watchState()
        let tokenExtension = token.tokenExtension(of: store, deviceState)
        let provider = try Provider(
            store, root: initial.root, profile: initial.profile, friendlyName: initial.friendlyName,
            token: token.loginService(before: tokenExtension),
            aliases: try alias.service(of: store, token, clock), fixedPassword: fault?.password,
            deviceState: deviceState,
            now: { [clock] in clock.now },
            putOnPasteboard: {
                // The UI extension may use the pasteboard, the file provider extension may not (docs/rules.md R4.15).
                let lifetime = settings.over(scenario.behaviour).pasteboardExpiry
                try pasteboard.write($0, owner: .providerInterface, now: Date(), lifetime: lifetime)
            })
        var service: any ProviderService = provider
        if let fault {
            service = FaultyProvider(provider, fault: fault, sleep: { try await Task.sleep(for: $0) })
            log.note("deliberate fault: \(fault.explanation)")
        }
        for note in [token.note, alias.note].compactMap(\.self) { log.note(note) }
        let server = try ProviderServer(
            path: try socket.listeningPath(of: store.device), inherited: try SocketActivation.descriptor(),
            service: service, services: fault?.services ?? [PasswordService.name], fault: fault?.connection,
            logger: log.logger, observer: observer(log, requests))
        return ProviderComponents(
            provider: provider, tokenExtension: tokenExtension, pasteboard: pasteboard, server: server)
    }

    /// The options that take precedence over the scenario.
    private var settings: ServeSettings {
        ServeSettings(
            root: root, pasteboardExpiry: pasteboardExpiry, profile: profile,
            likeTheSample: token.likeTheSample, hasFault: fault != nil)
    }

    /// Applies the scenario that was provisioned since it was last read.
    private static func follow(
        _ scenario: FollowedScenario, _ settings: ServeSettings, _ provider: Provider, _ log: ServeLog
    ) {
        do {
            guard let (former, current) = try scenario.reread() else { return }
            let new = settings.over(current)
            provider.follow(root: new.root, profile: new.profile, friendlyName: new.friendlyName)
            log.note(current?.note ?? "using the default settings")
            if !settings.hasFault, former?.fault != current?.fault {
                log.note("the scenario's fault takes effect when the provider is restarted")
            }
        } catch {
            log.note("the scenario cannot be read, so its settings remain unchanged: \(error)")
        }
    }

    /// Returns the observer that counts and logs requests; nil if neither is wanted.
    private func observer(_ log: ServeLog, _ requests: RequestMetrics?) -> ProviderServer.Observer? {
        let logger = logOptions.logsRequests ? log.logger : nil
        guard logger != nil || requests != nil else { return nil }
        return { event, requestID in
            requests?.record(event)
            if let logger { event.log(to: logger, requestID: requestID) }
        }
    }

    /// The maximum time that a stopped provider waits for the reader of its log.
    private static let logPatience = Duration.milliseconds(500)

    private static let faults = ServiceFault.allCases.map { fault in
        "  " + fault.name.padded(to: 22) + fault.explanation
    }.joined(separator: "\n")
}

extension ServiceFault: ExpressibleByArgument {}
