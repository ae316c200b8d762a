package import DeviceSimulation
package import SecretMemory
package import Foundation
internal import OpenSSL

/// What a trial of a channel showed. Everything in it was tried, nothing is assumed.
package struct ChannelReport: Sendable {
    /// How somebody else fared who tried to get at the credential.
    package enum Attack: String, Sendable, Hashable {
        /// Nothing was to be had, whatever the user said.
        case failed = "no"
        /// The user agreed, and it was handed out.
        case withConsent = "with consent"
        /// It was handed out without a question.
        case succeeded = "yes"
    }

    /// What the channel is called.
    package let name: String
    /// Why nothing came through; nil when the receiver got the credential.
    package let failure: SharingChannelError?
    /// How an app of another team fared, which has no group.
    package let attack: Attack
    /// Whether the credential stands in a plain file, where any program of the same user finds it.
    package let isInPlainFile: Bool
    /// Whether the receiver got it two minutes later, after the device was restarted and unlocked.
    package let survivesRestart: Bool
    /// Whether the receiver got it after both apps were removed and installed again.
    package let survivesReinstall: Bool
    /// The median time from sending to having received.
    package let handOver: Duration?
}

extension ChannelReport {
    /// Of a channel on which nothing came through, nothing else was tried.
    fileprivate init(_ name: String, failure: SharingChannelError) {
        self.init(
            name: name, failure: failure, attack: .failed, isInPlainFile: false, survivesRestart: false,
            survivesReinstall: false, handOver: nil)
    }
}

/// Tries channels on a device made for it, of which nothing is left.
package struct ChannelExperiment: Sendable {
    /// An app of nobody's team that has no group, and would like to read what it should not.
    package static let attacker = App(
        bundleIdentifier: "example.attacker", teamIdentifier: "ATCK000001", entitlements: Entitlements())

    private static let rounds = 9
    private let sender: App
    private let receiver: App
    private let state: DeviceState

    /// A trial of the way from `sender` to `receiver` on a device in `state`.
    package init(sender: App, receiver: App, state: DeviceState) {
        self.sender = sender
        self.receiver = receiver
        self.state = state
    }

    /// Tries `candidate` on a new device in `folder`, which is removed afterwards. What goes wrong on the way is
    /// the answer.
    ///
    /// - Throws: `DeviceError` when the device cannot be made; `CancellationError` where the task is cancelled.
    package func run(_ candidate: ChannelFactory, folder: String, now: Date) async throws -> ChannelReport {
        let device = try Device(folder: folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let ends = ChannelEndpoints(device: device, sender: sender, receiver: receiver)
        let channel: any SharingChannel
        do {
            try candidate.prepare(ends)
            channel = try candidate.make(ends)
        } catch {
            return ChannelReport(candidate.name, failure: SharingChannelError(error))
        }
        let report: ChannelReport
        do {
            report = try await run(channel, candidate.name, ends, now)
        } catch {
            report = ChannelReport(candidate.name, failure: SharingChannelError(error))
        }
        await channel.stop()
        try Task.checkCancellation()
        return report
    }

    private func run(_ channel: any SharingChannel, _ name: String, _ ends: ChannelEndpoints, _ now: Date)
        async throws
        -> ChannelReport
    {
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
                    throw SharingChannelError(.failed, "what came was not what was sent")
                }
                durations.append(ContinuousClock.now - start)
            }
        } catch {
            return ChannelReport(name, failure: SharingChannelError(error))
        }
        func gets(_ app: App, at date: Date, consent: Bool = true) async -> Bool {
            (try? await channel.receive(by: app, now: date) { _ in consent }) == credential
        }
        // Sent anew before each, for what is good for one look.
        try await channel.send(credential, now: now)
        let isTaken = await gets(Self.attacker, at: now, consent: false)
        let isTakenWithConsent = await gets(Self.attacker, at: now)
        let isInPlainFile = try Self.isFound(secret, in: device.folder)

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

    /// Whether any file below `folder` holds `secret`.
    package static func isFound(_ secret: SecretBytes, in folder: String) throws -> Bool {
        let needle = unsafe secret.withUnsafeBytes { unsafe Data($0) }
        guard let names = FileManager.default.enumerator(atPath: folder) else { return false }
        for case let name as String in names {
            let url = URL(fileURLWithPath: folder + "/" + name)
            // Folders and sockets have no contents.
            guard let data = try? Data(contentsOf: url) else { continue }
            if data.firstRange(of: needle) != nil { return true }
        }
        return false
    }
}

extension Device {
    /// Leads a device that is unlocked and has a passcode into `state`.
    ///
    /// - Throws: `DeviceError`, or `KeychainError` where removing the passcode fails.
    package func enter(_ state: DeviceState) throws {
        guard state.hasPasscode else { return try removePasscode() }
        switch state.lock {
        case .unlocked: break
        case .locked: try lock()
        case .beforeFirstUnlock: try restart()
        }
    }
}
