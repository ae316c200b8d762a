import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import Foundation
import SharingChannels
import SimulatedKeychain
import UnixSignals

struct Channels: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract:
            "Try every channel that transfers a credential between two apps, and report who else can read it.",
        discussion: """
            The channels are tried on a temporary device with the same lock state. By default both apps belong to one \
            team and share a keychain group and an application group, and the receiver may use tokens.

            A closed channel is a normal result with exit code 0. If a channel fails, the exit code is that of the \
            failure. SIGINT and SIGTERM end the command with 130 and 143.

            EXAMPLE:
              keyshare-device channels
              keyshare-device channels --to consumer --state locked
            """)

    @Option(help: "The sender: \(AppName.allCases.map(\.rawValue).joined(separator: ", ")).")
    var from = AppName.provider

    @Option(
        help:
            "The receiver (default: another app of the sender's team with the sender's groups and com.apple.token)."
    )
    var to: AppName?

    @Option(
        help: ArgumentHelp("The sender's entitlements, a property list.", valueName: "file"),
        completion: .file())
    var senderEntitlements: String?

    @Option(
        help: ArgumentHelp("The receiver's entitlements, a property list.", valueName: "file"),
        completion: .file())
    var receiverEntitlements: String?

    @Option(
        help: ArgumentHelp(
            "The state of the device: unlocked, locked, before-first-unlock or no-passcode (default: the current state).",
            valueName: "state"),
        completion: .list(DeviceState.all.map(\.description)), transform: Channels.state)
    var state: DeviceState?

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let console = output.console
        let options = device
        let device = try options.makeDevice(noting: console.note)
        var sender = from.app
        if let file = senderEntitlements { sender.entitlements = try Self.entitlements(file) }
        var companions = sender.entitlements
        if !companions.mayUseTokens { companions.keychainAccessGroups.append(Entitlements.tokenGroup) }
        var receiver =
            to?.app
            ?? App(
                bundleIdentifier: Identifier.companion, teamIdentifier: sender.teamIdentifier,
                entitlements: companions)
        if let file = receiverEntitlements { receiver.entitlements = try Self.entitlements(file) }
        (sender, receiver) = (sender.installed(with: receiver), receiver.installed(with: sender))

        let trial = ChannelExperiment(sender: sender, receiver: receiver, state: try state ?? device.state())
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let folder = try ScratchDevice(on: device, runtimeDirectory: options.runtimeDirectory)
        let candidates = ChannelFactory.all(runtimeDirectory: options.runtimeDirectory)
        let work = Task { try await Self.run(trial, of: candidates, in: folder.path, console) }
        let interrupt = Task { () -> UnixSignal? in
            for await signal in signals {
                work.cancel()
                return signal
            }
            return nil
        }
        let reports = await work.result
        interrupt.cancel()
        // The next run removes a folder that cannot be removed now.
        try? folder.end()
        if let signal = await interrupt.value { throw ExitCode(128 + signal.rawValue) }
        try report(try reports.get(), to: console)
    }

    private static func run(
        _ trial: ChannelExperiment, of candidates: [ChannelFactory], in folder: String, _ console: Console
    ) async throws -> [ChannelReport] {
        defer { console.progress(nil) }
        let now = Date()
        var reports: [ChannelReport] = []
        for candidate in candidates {
            console.progress("trying \(candidate.name)")
            reports.append(try await trial.run(candidate, folder: folder, now: now))
        }
        return reports
    }

    /// Prints the reports. A closed channel is a normal result; a channel that fails is a failure of the command.
    private func report(_ reports: [ChannelReport], to console: Console) throws {
        let failed = reports.filter { $0.failure?.code == .failed }
        let failures = failed.compactMap { report in
            report.failure.map { CommandFailure($0).about(report.name) }
        }
        try console.present(ChannelsDocument(reports), failure: failures.first, reporting: failures) {
            var table = Table(
                "CHANNEL", .init("WORKS", .wraps(12)), .init("OTHERS READ IT", .wraps(12)),
                .init("PLAIN FILE", .wraps(5)), "RESTART", "REINSTALL", "HAND-OVER")
            for report in reports { table.append(Self.row(report)) }
            try console.table(table)
            for report in reports {
                guard let failure = report.failure, failure.code != .failed else { continue }
                console.note("\(report.name): \(failure.reason)")
                if let hint = failure.hint { console.note("hint: \(hint)") }
            }
        }
    }

    private static func row(_ report: ChannelReport) -> [String] {
        guard let handOver = report.handOver else {
            return [report.name, "no: \(report.failure?.code.rawValue ?? "")", "-", "-", "-", "-", "-"]
        }
        return [
            report.name, "yes", report.attack.rawValue, report.isInPlainFile ? "yes" : "no",
            report.survivesRestart ? "survives" : "lost", report.survivesReinstall ? "survives" : "lost",
            handOver.formatted(.units(allowed: [.milliseconds], fractionalPart: .show(length: 1))),
        ]
    }

    private static func state(_ text: String) throws -> DeviceState {
        guard let state = DeviceState(text) else {
            throw ValidationError("\u{201C}\(text)\u{201D} is not a device state")
        }
        return state
    }

    private static func entitlements(_ path: String) throws -> Entitlements {
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw CommandFailure(
                .noSuchItem, "cannot read \(path)", hint: "specify a property list with an app's entitlements"
            )
        }
        let bytes = try InputFile.read(path, limit: Entitlements.largestFile)
        do throws(DeviceError) {
            return try Entitlements(plist: bytes)
        } catch {
            throw CommandFailure(.malformed, "\(path): \(error.reason)", hint: error.hint)
        }
    }
}
