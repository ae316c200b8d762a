import Foundation
import OpenSSL
import Testing

@testable import DeviceSimulation

/// Two apps of one team that share a key-chain group and an application group.
enum Pair {
    static let groups = Entitlements(
        keychainAccessGroups: ["TEAM000001.shared"], applicationGroups: ["group.example.shared"])
    static let sender = App(
        bundleIdentifier: "example.sender", teamIdentifier: "TEAM000001", entitlements: groups)
    static let receiver = App(
        bundleIdentifier: "example.receiver", teamIdentifier: "TEAM000001", entitlements: groups)
}

/// Every road must do the same; the manager over all of them is one more.
private let roads =
    RoadTrial.candidates + [
        RoadTrial.Candidate("manager") { ends in
            RoadManager(try RoadTrial.candidates.map { try $0.make(ends) })
        }
    ]

extension RoadTrial.Candidate: CustomTestStringConvertible {
    package var testDescription: String { name }
}

@Suite("What every road does")
struct RoadConformanceTests {
    private let scratch: Scratch
    private let device: Device
    private let ends: RoadEnds
    /// Not a whole second: the end of a credential must come through to the last bit.
    private let now = Date(timeIntervalSince1970: 1_800_000_000.123456)

    init() throws {
        scratch = try Scratch()
        device = try scratch.device()
        ends = RoadEnds(device: device, sender: Pair.sender, receiver: Pair.receiver)
    }

    private func credential(_ text: String, lasting seconds: TimeInterval = 30) -> Credential {
        Credential(account: "ü \(text)", secret: SecretBytes(utf8: "canary " + text), expires: now + seconds)
    }

    private func received(
        _ road: any Road, by app: App = Pair.receiver, after seconds: TimeInterval = 0, consent: Bool = true
    ) throws(RoadError) -> Credential? {
        try road.receive(by: app, now: now + seconds) { _ in consent }
    }

    @Test("What is sent is received whole, as often as asked for", arguments: roads)
    func handOver(candidate: RoadTrial.Candidate) throws {
        let road = try candidate.make(ends)
        #expect(try received(road) == nil)
        for _ in 0..<2 {
            let sent = credential("one")
            try road.send(sent, now: now)
            for _ in 0..<2 { #expect(try received(road) == sent) }
        }
    }

    @Test("Secrets of any bytes come through", arguments: roads)
    func bytes(candidate: RoadTrial.Candidate) throws {
        let road = try candidate.make(ends)
        for secret in [[], [0], [UInt8](0...255), [UInt8](repeating: 0xFF, count: 100_000)] as [[UInt8]] {
            let sent = Credential(account: "", secret: SecretBytes(secret), expires: now + 30)
            try road.send(sent, now: now)
            #expect(try received(road) == sent)
        }
    }

    @Test("A new value takes the old one's place", arguments: roads)
    func rotation(candidate: RoadTrial.Candidate) throws {
        let road = try candidate.make(ends)
        for text in ["one", "two", "three"] {
            try road.send(credential(text), now: now)
            #expect(try received(road) == credential(text))
        }
    }

    @Test("On log-out it is taken away, and taking nothing away is no error", arguments: roads)
    func remove(candidate: RoadTrial.Candidate) throws {
        let road = try candidate.make(ends)
        try road.remove()
        try road.send(credential("one"), now: now)
        try road.remove()
        #expect(try received(road) == nil)
        try road.remove()
        try road.send(credential("two"), now: now)
        #expect(try received(road) == credential("two"))
    }

    @Test("What is expired is not handed out", arguments: roads)
    func expired(candidate: RoadTrial.Candidate) throws {
        let road = try candidate.make(ends)
        try road.send(credential("one", lasting: 10), now: now)
        #expect(try received(road, after: 9) == credential("one", lasting: 10))
        #expect(throws: RoadError(.expired, "")) { try received(road, after: 10) }
    }

    @Test("An app of another team gets nothing unless the user agrees", arguments: roads)
    func attacker(candidate: RoadTrial.Candidate) throws {
        let road = try candidate.make(ends)
        try road.send(credential("one"), now: now)
        #expect((try? received(road, by: RoadTrial.attacker, consent: false)) == nil)
        if candidate.name == "url-pasteboard" {
            // This is what the road is worth: one tap of the user.
            #expect(try received(road, by: RoadTrial.attacker) == credential("one"))
        } else {
            #expect((try? received(road, by: RoadTrial.attacker)) == nil)
        }
        #expect(try received(road) == credential("one"))
    }

    @Test("No secret is found in any file of the device", arguments: roads)
    func noPlainFile(candidate: RoadTrial.Candidate) throws {
        let road = try candidate.make(ends)
        try road.send(credential("one"), now: now)
        _ = try received(road)
        #expect(try !RoadTrial.isFound(SecretBytes(utf8: "canary"), in: device.folder))
        try Data("a canary".utf8).write(to: URL(fileURLWithPath: device.folder + "/public.txt"))
        #expect(try RoadTrial.isFound(SecretBytes(utf8: "canary"), in: device.folder))
    }

    @Test("Another process receives what was sent", arguments: RoadTrial.candidates.indices)
    func acrossProcesses(index: Int) async throws {
        let road = try RoadTrial.candidates[index].make(ends)
        try road.send(credential("one"), now: now)
        let folder = device.folder
        await #expect(processExitsWith: .success) { [folder = folder as String, index = index as Int] in
            let ends = RoadEnds(
                device: try Device(folder: folder), sender: Pair.sender, receiver: Pair.receiver)
            // Not by the candidate, which would pair the two anew.
            let road: any Road =
                index == 3 ? FileRoad(ends) : try RoadTrial.candidates[index].make(ends)
            let found = try road.receive(
                by: Pair.receiver, now: Date(timeIntervalSince1970: 1_800_000_000), consent: { _ in true })
            try #require(found?.secret == SecretBytes(utf8: "canary one"))
        }
    }

    @Test(
        "The receiver is told that something is on its way",
        arguments: RoadTrial.candidates.filter { $0.name != "url-pasteboard" })
    func notified(candidate: RoadTrial.Candidate) async throws {
        let road = try candidate.make(ends)
        var observer = try Notifications(device: device).observe(RoadEnds.notification).makeAsyncIterator()
        try road.send(credential("one"), now: now)
        #expect(await observer.next() != nil)
    }
}

@Suite("What each road needs")
struct RoadTests {
    private let scratch: Scratch
    private let device: Device
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        scratch = try Scratch()
        device = try scratch.device()
    }

    private func trial(
        _ name: String, sender: App = Pair.sender, receiver: App = Pair.receiver, state: DeviceState = .new
    ) throws -> RoadReport {
        let candidate = try #require(roads.first { $0.name == name })
        let report = try RoadTrial(sender: sender, receiver: receiver, state: state)
            .run(candidate, folder: scratch.path("trial"), now: now)
        #expect(try scratch.names(scratch.folder) == ["device"])
        return report
    }

    /// works, attack, restart, reinstall
    @Test(
        "The table of roads is what was tried",
        arguments: [
            ("key-chain", "no", true, true), ("app-group", "no", true, false),
            ("database", "no", true, false),
            ("file", "no", true, true), ("url-pasteboard", "with consent", false, false),
            ("manager", "no", true, true),
        ])
    func table(name: String, attack: String, restart: Bool, reinstall: Bool) throws {
        let report = try trial(name)
        #expect(report.failure == nil && report.handOver ?? .zero > .zero)
        #expect(report.attack.rawValue == attack && !report.isInPlainFile)
        #expect(report.survivesRestart == restart && report.survivesReinstall == reinstall)
    }

    @Test(
        "In each state of the device a road works or says why not",
        arguments: RoadTrial.candidates.map(\.name), DeviceState.all)
    func states(name: String, state: DeviceState) throws {
        let isClosed = state.lock == .beforeFirstUnlock && name != "url-pasteboard"
        #expect(try trial(name, state: state).failure?.code == (isClosed ? .locked : nil))
    }

    @Test("Without a common group the roads through one are closed, and say what is missing")
    func entitlements() throws {
        var stranger = Pair.receiver
        stranger.entitlements = Entitlements()
        var member = Pair.receiver.member(.fileProvider, name: "files", entitlements: Entitlements())
        for name in ["key-chain", "app-group", "database"] {
            #expect(try trial(name, receiver: stranger).failure?.code == .missingEntitlement)
            #expect(try trial(name, sender: stranger).failure?.code == .missingEntitlement)
            #expect(try trial(name, receiver: member).failure?.hint?.contains("extension") == true)
        }
        for name in ["file", "url-pasteboard", "manager"] {
            #expect(try trial(name, receiver: stranger).failure == nil)
        }
        member = Pair.sender.member(.fileProvider, name: "files")
        #expect(try trial("url-pasteboard", sender: member).failure?.code == .notPermitted)
        #expect(try trial("url-pasteboard", receiver: member).failure?.code == .notPermitted)
    }

    @Test("The manager takes the first road that is open, and leaves nothing on the others")
    func manager() throws {
        let ends = RoadEnds(device: device, sender: Pair.sender, receiver: Pair.receiver)
        let credential = Credential(account: "a", secret: SecretBytes([1]), expires: now + 30)
        let file = FileRoad(ends)
        let all: [any Road] = [file, KeychainRoad(ends), PasteboardRoad(ends)]
        #expect(try RoadManager(all).sendNamingRoad(credential, now: now) == "key-chain")
        try file.pair()
        #expect(try RoadManager(all).sendNamingRoad(credential, now: now) == "file")
        #expect(try KeychainRoad(ends).receive(by: Pair.receiver, now: now) { _ in true } == nil)
        let none = RoadManager([
            FileRoad(RoadEnds(device: device, sender: Pair.receiver, receiver: Pair.sender))
        ])
        let error = #expect(throws: RoadError.self) { try none.send(credential, now: now) }
        #expect(error?.code == .noRoad && (error?.cause as? RoadError)?.code == .notPaired)
        #expect(throws: RoadError(.noRoad, "")) { try RoadManager([]).send(credential, now: now) }
    }

    @Test("A file that is sealed for others, or altered, does not open; an unpaired app has no key")
    func file() throws {
        let ends = RoadEnds(device: device, sender: Pair.sender, receiver: Pair.receiver)
        let road = FileRoad(ends)
        let credential = Credential(account: "a", secret: SecretBytes([1]), expires: now + 30)
        #expect(throws: RoadError(.notPaired, "")) { try road.send(credential, now: now) }
        try road.pair()
        try road.send(credential, now: now)
        try road.pair()
        #expect(throws: RoadError(.damaged, "")) {
            try road.receive(by: Pair.receiver, now: now) { _ in true }
        }
    }

    @Test("A pasteboard that somebody else wrote since is not taken for the credential")
    func overwritten() throws {
        let ends = RoadEnds(device: device, sender: Pair.sender, receiver: Pair.receiver)
        let road = PasteboardRoad(ends)
        let credential = Credential(account: "a", secret: SecretBytes([1]), expires: now + 30)
        try road.send(credential, now: now)
        try Pasteboard(device: device).write(SecretBytes([2]), owner: RoadTrial.attacker, now: now)
        #expect(throws: RoadError(.overwritten, "")) {
            try road.receive(by: Pair.receiver, now: now) { _ in true }
        }
        #expect(throws: RoadError(.denied, "")) {
            try road.send(credential, now: now)
            return try road.receive(by: Pair.receiver, now: now) { _ in false }
        }
    }
}
