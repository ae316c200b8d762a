import ConnectedRoads
import DeviceSimulation
import Foundation
import OpenSSL
import TestSupport
import Testing

@Suite("What every road does")
struct RoadConformanceTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let ends: RoadEnds
    /// Not a whole second: the end of a credential must come through to the last bit.
    private let now = Date(timeIntervalSince1970: 1_800_000_000.123456)

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
        ends = RoadEnds(device: device, sender: Pair.sender, receiver: Pair.receiver)
    }

    private func credential(_ text: String, lasting seconds: TimeInterval = 30) -> Credential {
        Credential(account: "ü \(text)", secret: SecretBytes(utf8: "canary " + text), expires: now + seconds)
    }

    private func received(
        _ road: any Road, by app: App = Pair.receiver, after seconds: TimeInterval = 0, consent: Bool = true
    ) async throws(RoadError) -> Credential? {
        try await road.receive(by: app, now: now + seconds) { _ in consent }
    }

    @Test(
        "What is sent is received whole, as often as asked for, or once on a road for one look",
        arguments: roads)
    func handOver(candidate: RoadCandidate) async throws {
        try await candidate.use(between: ends) { road in
            #expect(try await received(road) == nil)
            for _ in 0..<2 {
                let sent = credential("one")
                try await road.send(sent, now: now)
                #expect(try await received(road) == sent)
                if road.isForOneLook {
                    await #expect(throws: RoadError(.spent, "")) { try await received(road) }
                } else {
                    #expect(try await received(road) == sent)
                }
            }
        }
    }

    @Test("Secrets of any bytes come through", arguments: roads)
    func bytes(candidate: RoadCandidate) async throws {
        try await candidate.use(between: ends) { road in
            for secret in [[], [0], [UInt8](0...255), [UInt8](repeating: 0xFF, count: 100_000)] as [[UInt8]] {
                let sent = Credential(account: "", secret: SecretBytes(secret), expires: now + 30)
                try await road.send(sent, now: now)
                #expect(try await received(road) == sent)
            }
        }
    }

    @Test("A new value takes the old one's place, and reaches who observes", arguments: roads)
    func rotation(candidate: RoadCandidate) async throws {
        try await candidate.use(between: ends) { road in
            var observer = try Notifications(device: device).observe(RoadEnds.notification)
                .makeAsyncIterator()
            for text in ["one", "two", "three"] {
                try await road.send(credential(text), now: now)
                #expect(await observer.next() != nil)
                #expect(try await received(road) == credential(text))
            }
        }
    }

    @Test("On log-out it is taken away, and taking nothing away is no error", arguments: roads)
    func remove(candidate: RoadCandidate) async throws {
        try await candidate.use(between: ends) { road in
            try await road.remove()
            try await road.send(credential("one"), now: now)
            try await road.remove()
            #expect(try await received(road) == nil)
            try await road.remove()
            try await road.send(credential("two"), now: now)
            #expect(try await received(road) == credential("two"))
        }
    }

    @Test(
        "On log-out it is taken away in each state of the device", arguments: roads, DeviceState.all)
    func removeInState(candidate: RoadCandidate, state: DeviceState) async throws {
        try await candidate.use(between: ends) { road in
            try await road.send(credential("one"), now: now)
            try device.enter(state)
            // As after a restart nothing runs for the road, and what it keeps in memory is not what is removed.
            if state.lock == .beforeFirstUnlock { await road.stop() }
            try await road.remove()
            try device.unlock()
            #expect(try await received(road) == nil)
        }
    }

    @Test("What is expired is not handed out", arguments: roads)
    func expired(candidate: RoadCandidate) async throws {
        try await candidate.use(between: ends) { road in
            let sent = credential("one", lasting: 10)
            try await road.send(sent, now: now)
            #expect(try await received(road, after: 9) == sent)
            if road.isForOneLook { try await road.send(sent, now: now) }
            await #expect(throws: RoadError(.expired, "")) { try await received(road, after: 10) }
        }
    }

    @Test("An app of another team gets nothing unless the user agrees", arguments: roads)
    func attacker(candidate: RoadCandidate) async throws {
        try await candidate.use(between: ends) { road in
            try await road.send(credential("one"), now: now)
            let report = try await trial(candidate)
            #expect((try? await received(road, by: RoadTrial.attacker, consent: false)) == nil)
            let found = try? await received(road, by: RoadTrial.attacker)
            #expect(found == (report.attack == .withConsent ? credential("one") : nil))
            #expect(["url-pasteboard", "key-sharing-2025"].contains(candidate.name) == (found != nil))
            #expect(report.attack != .succeeded)
            #expect(try await received(road) == credential("one"))
        }
    }

    private func trial(_ candidate: RoadCandidate) async throws -> RoadReport {
        try await RoadTrial(sender: Pair.sender, receiver: Pair.receiver, state: .new)
            .run(candidate, folder: scratch.path("trial"), now: now)
    }

    @Test("No secret is found in any file of the device", arguments: roads)
    func noPlainFile(candidate: RoadCandidate) async throws {
        try await candidate.use(between: ends) { road in
            try await road.send(credential("one"), now: now)
            let words = ["canary", "127.0.0.1"].map { SecretBytes(utf8: $0) }
            for word in words { #expect(try !RoadTrial.isFound(word, in: device.folder)) }
            _ = try await received(road)
            for word in words { #expect(try !RoadTrial.isFound(word, in: device.folder)) }
            try Data("a canary".utf8).write(to: URL(fileURLWithPath: device.folder + "/public.txt"))
            #expect(try RoadTrial.isFound(words[0], in: device.folder))
        }
    }

    @Test("Another process receives what was sent", arguments: roads.indices.dropLast())
    func acrossProcesses(index: Int) async throws {
        try await roads[index].use(between: ends) { road in
            try await road.send(credential("one"), now: now)
            let folder = device.folder
            await #expect(processExitsWith: .success) { [folder = folder as String, index = index as Int] in
                let ends = RoadEnds(
                    device: try Device(folder: folder), sender: Pair.sender, receiver: Pair.receiver)
                // Not prepared: the two would be paired anew.
                let road = try roads[index].make(ends)
                let found = try await road.receive(
                    by: Pair.receiver, now: Date(timeIntervalSince1970: 1_800_000_000), consent: { _ in true }
                )
                try #require(found?.secret == SecretBytes(utf8: "canary one"))
                await road.stop()
            }
        }
    }

    @Test("Several at once each get all or nothing", arguments: roads)
    func concurrent(candidate: RoadCandidate) async throws {
        try await candidate.use(between: ends) { road in
            try await road.send(credential("0"), now: now)
            let (ends, now) = (ends, now)
            try await withThrowingTaskGroup { group in
                for number in 1...4 {
                    group.addTask {
                        let text = String(repeating: "\(number)", count: 5_000)
                        let secret = SecretBytes(utf8: text)
                        try await road.send(
                            Credential(account: "\(number)", secret: secret, expires: now + 30), now: now)
                        do throws(RoadError) {
                            let found = try await road.receive(by: ends.receiver, now: now) { _ in true }
                            let isFirst = found?.account == "ü 0"
                            #expect(found?.secret.count == (isFirst ? 8 : 5_000))
                        } catch {
                            // Somebody else had it, or its place was taken in between.
                            #expect([.spent, .denied, .overwritten].contains(error.code), "\(error)")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
