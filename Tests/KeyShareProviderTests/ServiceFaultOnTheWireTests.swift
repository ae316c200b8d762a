import DeviceSimulation
import Foundation
import KeyShareProtocol
import KeyShareServer
import KeyShareWire
import KeySharing
import Logging
import OpenSSL
import SecretMemory
import Synchronization
import TestSupport
import Testing

@testable import KeyShareProvider
@testable import TestCredentials

/// Each service fault, tested with an ill-behaved client: it skips `services`, fetches the password twice, sends all
/// requests at once, and continues after `stopAccessing`.
@Suite("Service faults on the wire", .timeLimit(.minutes(10)))
struct ServiceFaultOnTheWireTests {
    /// The expected effect of a fault, independent of the requests that a client skips.
    struct Expected: Sendable {
        /// The number of services in the reply to the hello; nil if the reply does not arrive.
        var services: Int? = 1
        /// The reply to `fetchPassword` without an earlier `services`: `password`, `empty`, a failure, or `cut`.
        var password = "password"
        /// The result of opening the bytes with the fetched password: `opens`, the reader's verdict, a failure or
        /// `cut`.
        var file = "opens"
        /// The reply that is truncated. Nothing may follow it.
        var cut: Wire.MessageType?
    }

    static let table: [(fault: String, expected: Expected)] = [
        ("no-service", Expected(services: 0, password: "notAvailable", file: "none")),
        ("other-services-first", Expected()),
        ("wrong-version", Expected(services: nil, password: "none", file: "none")),
        ("neither", Expected(password: "empty", file: "wrongPassword")),
        ("error", Expected(password: "serviceFailed", file: "none")),
        ("slow", Expected()), ("wrong-password", Expected(file: "wrongPassword")),
        ("password-rotated", Expected(file: "wrongPassword")), ("quote-password", Expected()),
        ("non-ascii-password", Expected()), ("truncated-item", Expected(file: "malformed")),
        ("cut-hello", Expected(services: nil, password: "none", file: "none", cut: .welcome)),
        ("cut-list", Expected(cut: .page)), ("cut-item", Expected(cut: .itemReply)),
        ("cut-start", Expected(password: "none", file: "none", cut: .granted)),
        ("cut-services", Expected(cut: .servicesReply)),
        ("cut-password", Expected(password: "cut", file: "none", cut: .password)),
        ("cut-read", Expected(file: "cut", cut: .chunk)), ("cut-stop", Expected(cut: .stopped)),
    ]

    @Test("The table covers every fault in declaration order")
    func complete() {
        #expect(Self.table.map(\.fault) == ServiceFault.allCases.map(\.name))
    }

    @Test("A fault has the same effect on a misbehaving client", arguments: table)
    func rude(name: String, expected: Expected) async throws {
        let scratch = try ScratchFolder()
        let store = try ProviderStore(try Device(folder: scratch.path("device")))
        let now = Date(timeIntervalSince1970: 1_790_000_000)
        let made = try await Provisioner(store).run(
            ProvisioningRequest(
                personCount: 1, types: [.signature], generations: 1, algorithm: .p256, date: now),
            from: .system)
        let label = try #require(made.made.first?.label)
        let fault = try #require(ServiceFault(rawValue: name))
        let provider = try Provider(
            store, profile: .modern, fixedPassword: fault.password, now: { now }, putOnPasteboard: { _ in })
        let path = scratch.path("provider.sock")
        let pauses = Mutex<Set<Duration>>([])
        let faulty = FaultyProvider(
            provider, fault: fault, sleep: { pause in pauses.withLock { _ = $0.insert(pause) } })
        let server = try ProviderServer(
            path: path, service: faulty, limits: .withoutDeadlines,
            services: fault.services, fault: fault.connection, logger: Logger(label: "test"))
        let running = Task { try await server.run() }
        defer { running.cancel() }

        let client = try RudeClient(path: path, label: label)
        #expect(try await client.services() == expected.services)
        let first = try await RudeClient(path: path, label: label).passwords()
        #expect(first.words == [expected.password, expected.password])
        #expect(first.found.allSatisfy { $0 == first.found.first }, "asked twice, it answers twice alike")
        #expect(try await RudeClient(path: path, label: label).file() == expected.file)
        // With every fault, a grant that has ended remains ended.
        let late = try await RudeClient(path: path, label: label).afterStopping()
        #expect(late.allSatisfy { $0 == "notAvailable" }, "\(late)")
        let isGranted = expected.services != nil && expected.cut != .granted
        let burst = try await RudeClient(path: path, label: label).burst(
            afterGrant: isGranted, stops: expected.cut == .stopped)
        #expect(burst.isCut == (expected.cut != nil))
        #expect(pauses.withLock(\.self) == (name == "slow" ? [.seconds(1)] : []))
        // Half of an empty reply ends before the type field of the frame.
        #expect(burst.type == nil || burst.type == expected.cut?.rawValue)
    }
}

/// A client that sends valid frames but ignores all other rules. Each connection serves one check.
private struct RudeClient {
    private let peer: RawPeer
    private let label: String

    init(path: String, label: String) throws {
        peer = try RawPeer(path: path)
        self.label = label
    }

    /// The reply to a request; nil if the connection ends first.
    private func ask(_ request: ProviderRequest) async throws -> ProviderReply? {
        do {
            try await peer.send(request)
        } catch is RawPeer.Failed {
            return nil
        }
        return try await peer.frame()?.reply
    }

    private func hello() async throws -> ProviderReply? {
        try await ask(Self.greeting)
    }

    private static let greeting = ProviderRequest.hello(
        Hello(minimumVersion: 1, maximumVersion: 1, clientName: "rude", services: [PasswordService.name]))

    /// Sends the hello and starts access; returns false if either fails.
    private func start() async throws -> Bool {
        guard case .welcome? = try await hello(),
            case .granted? = try await ask(.startAccessing(identifier: label))
        else { return false }
        return true
    }

    /// The number of services in the reply to the hello.
    func services() async throws -> Int? {
        guard case .welcome(let welcome)? = try await hello() else { return nil }
        return welcome.services.count
    }

    /// Fetches two passwords without requesting `services`.
    func passwords() async throws -> (words: [String], found: [SecretBytes]) {
        guard try await start() else { return (["none", "none"], []) }
        var words: [String] = []
        var found: [SecretBytes] = []
        for _ in 0..<2 {
            switch try await ask(.fetchPassword(service: PasswordService.name, identifier: label)) {
            case .password(let password)?:
                words.append(password.isEmpty ? "empty" : "password")
                found.append(password)
            case .failure(let failure)?: words.append("\(failure.code)")
            default: words.append("cut")
            }
        }
        return (words, found)
    }

    /// The result of fetching a password and then reading the content.
    func file() async throws -> String {
        guard try await start(),
            case .password(let password)? = try await ask(
                .fetchPassword(service: PasswordService.name, identifier: label))
        else { return "none" }
        var bytes: [UInt8] = []
        while true {
            let read = ProviderRequest.read(
                identifier: label, offset: UInt64(bytes.count), length: UInt32(Wire.chunkLimit))
            guard case .chunk(let chunk)? = try await ask(read) else { return "cut" }
            bytes += chunk.bytes
            if bytes.count == chunk.total { break }
        }
        do throws(PKCS12Error) {
            return try PKCS12.read(bytes, password: .text(password)).identities.isEmpty ? "empty" : "opens"
        } catch {
            if case .malformed = error.code { return "malformed" }
            return "\(error.code)"
        }
    }

    /// Returns the replies to a read and a password request after the end of the grant, on this connection.
    func afterStopping() async throws -> [String] {
        guard try await start(), case .stopped? = try await ask(.stopAccessing(identifier: label)) else {
            return []
        }
        var answers: [String] = []
        for request in [
            ProviderRequest.read(identifier: label, offset: 0, length: 10),
            .fetchPassword(service: PasswordService.name, identifier: label),
        ] {
            guard case .failure(let failure)? = try await ask(request) else { return ["an answer"] }
            answers.append("\(failure.code)")
        }
        return answers
    }

    /// Sends all requests at once, after the grant or together with it.
    ///
    /// - Returns: Whether the connection ends in the middle of a reply, and the type of that reply if it arrived.
    func burst(afterGrant: Bool, stops: Bool) async throws -> (isCut: Bool, type: UInt8?) {
        var requests: [ProviderRequest] = [
            .services(identifier: label), .item(identifier: label),
            .enumerate(container: Item.root, cursor: nil, limit: 0),
            .read(identifier: label, offset: 0, length: 10),
            .fetchPassword(service: PasswordService.name, identifier: label),
            .fetchPassword(service: PasswordService.name, identifier: label),
        ]
        // `stopAccessing` would end the grant that the other requests need.
        if stops { requests.append(.stopAccessing(identifier: label)) }
        if afterGrant {
            _ = try await start()
        } else {
            requests = [Self.greeting, .startAccessing(identifier: label)] + requests
        }
        try? await peer.send(try requests.flatMap { try WireSamples.bytes($0) })
        peer.finishSending()
        var rest = try await peer.rest()[...]
        while rest.count >= 5 {
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) } + 4
            guard rest.count >= length else { return (true, rest[rest.startIndex + 4]) }
            rest = rest.dropFirst(length)
        }
        return (!rest.isEmpty, nil)
    }
}
