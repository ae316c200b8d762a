package import Foundation
internal import OpenSSL

/// What a trial of a road showed. Everything in it was tried, nothing is assumed.
package struct RoadReport: Sendable {
    /// How somebody else fared who tried to get at the credential.
    package enum Attack: String, Sendable, Hashable {
        /// Nothing was to be had, whatever the user said.
        case failed = "no"
        /// The user agreed, and it was handed out.
        case withConsent = "with consent"
        /// It was handed out without a question.
        case succeeded = "yes"
    }

    /// What the road is called.
    package let name: String
    /// Why nothing came through; nil when the receiver got the credential.
    package let failure: RoadError?
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

/// Tries roads on a device made for it, of which nothing is left.
package struct RoadTrial: Sendable {
    /// A road to try: makes it, and gives both ends what they need to agree on beforehand.
    package struct Candidate: Sendable {
        /// What the road is called.
        package let name: String
        let make: @Sendable (RoadEnds) throws -> any Road

        /// A road that `make` makes.
        package init(_ name: String, make: @escaping @Sendable (RoadEnds) throws -> any Road) {
            self.name = name
            self.make = make
        }
    }

    /// Every road of this module, in the order in which an app should prefer them.
    package static let candidates = [
        Candidate("key-chain") { KeychainRoad($0) }, Candidate("app-group") { GroupRoad($0) },
        Candidate("database") { DatabaseRoad($0) },
        Candidate("file") { ends in
            let road = FileRoad(ends)
            try road.pair()
            return road
        },
        Candidate("url-pasteboard") { PasteboardRoad($0) },
    ]

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

    /// Tries `candidate` on a new device in `folder`, which is removed afterwards.
    ///
    /// - Throws: `DeviceError` when the device cannot be made.
    package func run(_ candidate: Candidate, folder: String, now: Date) throws -> RoadReport {
        let device = try Device(folder: folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let ends = RoadEnds(device: device, sender: sender, receiver: receiver)
        let secret = SecretBytes(Array("canary \(UInt64.random(in: .min ... .max))".utf8))
        let credential = Credential(account: "somebody", secret: secret, expires: now + 3_600)

        let road: any Road
        var durations: [Duration] = []
        do {
            road = try candidate.make(ends)
            try device.enter(state)
            for _ in 0..<Self.rounds {
                let start = ContinuousClock.now
                try road.send(credential, now: now)
                guard try road.receive(by: receiver, now: now, consent: { _ in true }) == credential else {
                    throw RoadError(.failed, "what came was not what was sent")
                }
                durations.append(ContinuousClock.now - start)
            }
        } catch {
            return RoadReport(
                name: candidate.name, failure: RoadError(error), attack: .failed, isInPlainFile: false,
                survivesRestart: false, survivesReinstall: false, handOver: nil)
        }
        func gets(_ app: App, at date: Date, consent: Bool = true) -> Bool {
            (try? road.receive(by: app, now: date) { _ in consent }) == credential
        }
        let isTaken = gets(Self.attacker, at: now, consent: false)
        let isTakenWithConsent = gets(Self.attacker, at: now)
        let isInPlainFile = try Self.isFound(secret, in: device.folder)
        try device.restart()
        try device.unlock()
        let survivesRestart = gets(receiver, at: now + 120)
        try device.uninstall(sender, remaining: [])
        try device.uninstall(receiver, remaining: [])
        return RoadReport(
            name: candidate.name, failure: nil,
            attack: isTaken ? .succeeded : isTakenWithConsent ? .withConsent : .failed,
            isInPlainFile: isInPlainFile, survivesRestart: survivesRestart,
            survivesReinstall: gets(receiver, at: now + 120), handOver: durations.sorted()[Self.rounds / 2])
    }

    /// Whether any file below `folder` holds `secret`.
    static func isFound(_ secret: SecretBytes, in folder: String) throws -> Bool {
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
    func enter(_ state: DeviceState) throws {
        guard state.hasPasscode else { return try removePasscode() }
        switch state.lock {
        case .unlocked: break
        case .locked: try lock()
        case .beforeFirstUnlock: try restart()
        }
    }
}
