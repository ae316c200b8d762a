import CommandSupport
import DeviceSimulation
import Foundation
import TestSupport
import Testing

@testable import WebView

@Suite("Questions on the page", .timeLimit(.minutes(10)))
struct QuestionTests {
    @Test("A question without an answer in time, or at the end of the page, is refused")
    func unanswered() async {
        let questions = Questions()
        #expect(await !questions.ask(reader: "r", owner: "o", timeout: .zero) {})
        async let isAllowed = questions.ask(reader: "r", owner: "o", timeout: .seconds(600)) {}
        #expect(await waitUntil { await questions.all.count == 1 })
        await questions.end()
        #expect(await !isAllowed)
        #expect(await questions.all.isEmpty)
    }

    @Test("An answer reaches its own question, once")
    func answered() async throws {
        let questions = Questions()
        async let first = questions.ask(reader: "r", owner: "o", timeout: .seconds(600)) {}
        #expect(await waitUntil { await questions.all.count == 1 })
        async let second = questions.ask(reader: "s", owner: "o", timeout: .seconds(600)) {}
        #expect(await waitUntil { await questions.all.count == 2 })
        let numbers = await questions.all.map(\.number)
        #expect(await questions.answer(numbers[1], true))
        #expect(await !questions.answer(numbers[1], true))
        #expect(await second)
        #expect(await questions.answer(numbers[0], false))
        #expect(await !first)
    }
}

@Suite("The page's own provider process", .serialized, .timeLimit(.minutes(10)))
struct ProviderProcessTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let process: ProviderProcess

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
        process = ProviderProcess(device: device.folder, socket: scratch.path("provider.sock"))
    }

    @Test("A provider runs until it is stopped, and a second one is not started on its socket")
    func lifetime() async throws {
        try device.begin()
        #expect(process.current == nil)
        try await process.start(fault: .service("slow"))
        let current = try #require(process.current)
        #expect(current.fault == .service("slow"))
        let other = ProviderProcess(device: device.folder, socket: scratch.path("provider.sock"))
        let error = await #expect(throws: CommandFailure.self) { try await other.start(fault: nil) }
        #expect(error?.code == "already-running")
        #expect(process.current?.processID == current.processID)
        await process.stop()
        #expect(process.current == nil)
        #expect(throws: RawPeer.Failed.self) { try RawPeer(path: scratch.path("provider.sock")) }
    }

    @Test("A provider that ends while it starts fails at once, with the message of the process")
    func failedStart() async throws {
        try device.begin()
        let begun = ContinuousClock.now
        let error = await #expect(throws: CommandFailure.self) {
            try await process.start(fault: .service("nonsense"))
        }
        #expect(error != nil && process.current == nil)
        // The longest wait for a provider that runs is 30 s.
        #expect(ContinuousClock.now - begun < .seconds(25))
    }

    @Test("A command that fails is reported with its message, and one that succeeds is not")
    func commands() async throws {
        try device.begin()
        await #expect(throws: CommandFailure.self) {
            try await process.run(["provision", "--scenario", "nonsense"])
        }
        try await process.run(["clear", "--yes"])
    }
}
