import Diagnostics
import ArgumentParser
import CommandSupport
import SharingChannels
import DeviceSimulation
import Foundation
import UnixSignals

struct Channels: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract:
            "Try every channel by which a credential can get from one app to another, and what others can read of it.",
        discussion: """
            The channels are tried on a device that is made for it and removed afterwards. Without options the two \
            apps are of one team, share a keychain group and an application group, and the receiver may use tokens; \
            that device is in the state of this one. A channel that is closed is an answer, with exit code 0; a channel that fails gives \
            the exit code of the failure. SIGINT and SIGTERM end the trials, with 130 and 143.

            EXAMPLE:
              keyshare-device channels
              keyshare-device channels --to consumer --state locked
            """)

    @Option(help: "Who sends: \(AppName.allCases.map(\.rawValue).joined(separator: ", ")).")
    var from = AppName.provider

    @Option(
        help:
            "Who receives (default: another app of the sender's team with the sender's groups and com.apple.token)."
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
            "Unlocked, locked, before-first-unlock or no-passcode (default: as the device is).",
            valueName: "state"),
        completion: .list(DeviceState.all.map(\.description)), transform: Channels.state)
    var state: DeviceState?

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let console = output.console
        let options = device
        let device = try options.makeDevice(console)
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
        // The next run removes what cannot be removed now.
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

    /// Presents the reports. A channel that is closed is an answer; a channel that fails is a failure of the command.
    private func report(_ reports: [ChannelReport], to console: Console) throws {
        let failed = reports.filter { $0.failure?.code == .failed }
        let failures = failed.compactMap { report in
            report.failure.map { CommandFailure($0).about(report.name) }
        }
        try console.present(ChannelsDocument(reports), failure: failures.first, telling: failures) {
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
            throw ValidationError("\u{201C}\(text)\u{201D} is no state of a device")
        }
        return state
    }

    private static func entitlements(_ path: String) throws -> Entitlements {
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw CommandFailure(
                .noSuchItem, "cannot read \(path)", hint: "name a property list of an app's entitlements")
        }
        let bytes = try InputFile.read(path, limit: Entitlements.largestFile)
        do throws(DeviceError) {
            return try Entitlements(plist: bytes)
        } catch {
            throw CommandFailure(.malformed, "\(path): \(error.reason)", hint: error.hint)
        }
    }
}
