internal import DeviceSimulation
internal import Diagnostics
package import Foundation
internal import OpenSSL
package import SecretMemory
package import SimulatedKeychain

/// Tries channels and measures their properties. Each channel uses a new device, which is deleted afterwards.
package struct ChannelExperiment: Sendable {
    /// The attacker: an app of a third team, without any group.
    package static let attacker = App(
        bundleIdentifier: "example.attacker", teamIdentifier: "ATCK000001", entitlements: Entitlements())

    /// The number of transfers that are timed.
    private static let rounds = 9
    private let sender: App
    private let receiver: App
    private let state: DeviceState

    /// Creates an experiment with a sender and a receiver on a device in `state`.
    package init(sender: App, receiver: App, state: DeviceState) {
        self.sender = sender
        self.receiver = receiver
        self.state = state
    }

    /// Tries the channel that `factory` creates. A failure of the channel is reported in the result and not thrown.
    ///
    /// - Parameters:
    ///   - factory: Creates the channel.
    ///   - folder: The folder of the new device. It is deleted afterwards.
    ///   - now: The time of the trial.
    /// - Throws: `DeviceError` if the device cannot be created, or `CancellationError` if the task is cancelled.
    package func run(_ factory: ChannelFactory, folder: String, now: Date) async throws -> ChannelReport {
        let device = try Device(folder: folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let ends = ChannelEndpoints(device: device, sender: sender, receiver: receiver)
        let channel: any SharingChannel
        do {
            try factory.prepare(ends)
            channel = try factory.make(ends)
        } catch {
            return ChannelReport(factory.name, failure: SharingChannelError(error))
        }
        let report: ChannelReport
        do {
            report = try await run(channel, factory.name, ends, now)
        } catch {
            report = ChannelReport(factory.name, failure: SharingChannelError(error))
        }
        await channel.stop()
        try Task.checkCancellation()
        return report
    }

    private func run(
        _ channel: any SharingChannel, _ name: String, _ ends: ChannelEndpoints, _ now: Date
    ) async throws -> ChannelReport {
        let device = ends.device
        let secret = SecretBytes(Array("canary \(UInt64.random(in: .min ... .max))".utf8))
        let credential = Credential(account: "somebody", secret: secret, expires: now + 3_600)
        var durations: [Duration] = []
        do {
            try device.enter(state)
            for _ in 0..<Self.rounds {
                try Task.checkCancellation()
                let start = ContinuousClock.now
                try await channel.send(credential, now: now)
                guard try await channel.receive(by: receiver, now: now, consent: { _ in true }) == credential
                else {
                    throw SharingChannelError(.failed, "the received credential differs from the sent one")
                }
                durations.append(ContinuousClock.now - start)
            }
        } catch {
            return ChannelReport(name, failure: SharingChannelError(error))
        }
        func gets(_ app: App, at date: Date, consent: Bool = true) async -> Bool {
            (try? await channel.receive(by: app, now: date) { _ in consent }) == credential
        }
        // Send again before each attempt, because a one-time channel returns a credential only once.
        try await channel.send(credential, now: now)
        let isTaken = await gets(Self.attacker, at: now, consent: false)
        let isTakenWithConsent = await gets(Self.attacker, at: now)
        let isInPlainFile = Self.isFound(secret, in: device.folder)

        try await channel.send(credential, now: now)
        try device.restart()
        await channel.stop()
        try device.unlock()
        let survivesRestart = await gets(receiver, at: now + 120)

        try await channel.send(credential, now: now)
        try device.uninstall(sender, remaining: [])
        try device.uninstall(receiver, remaining: [])
        await channel.stop()
        return ChannelReport(
            name: name, failure: nil,
            attack: isTaken ? .succeeded : isTakenWithConsent ? .withConsent : .failed,
            isInPlainFile: isInPlainFile, survivesRestart: survivesRestart,
            survivesReinstall: await gets(receiver, at: now + 120),
            handOver: durations.sorted()[Self.rounds / 2])
    }

    /// Returns whether any file in `folder` or below contains `secret`.
    package static func isFound(_ secret: SecretBytes, in folder: String) -> Bool {
        let needle = unsafe secret.withUnsafeBytes { unsafe Data($0) }
        guard let names = FileManager.default.enumerator(atPath: folder) else { return false }
        for case let name as String in names {
            let url = URL(fileURLWithPath: folder + "/" + name)
            // Skip folders and sockets, which cannot be read.
            guard let data = try? Data(contentsOf: url) else { continue }
            if data.firstRange(of: needle) != nil { return true }
        }
        return false
    }
}
