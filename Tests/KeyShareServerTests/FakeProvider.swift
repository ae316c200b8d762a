import TestSupport
import KeyShareServer
import KeyShareWire
import SecretMemory
import Foundation
import KeySharing
import OpenSSL
import Synchronization

/// A provider of made-up items, whose answers can be held back.
final class FakeProvider: ProviderService {
    let items: [Item]
    let contents: [String: [UInt8]]
    let password = SecretBytes(utf8: "correct horse")
    /// Passed by every request for content and for facts.
    let gate: Gate?
    /// What the period of grants is; nil where the provider cannot tell.
    let period = Mutex<UInt64?>(0)

    init(items: [Item] = [], contents: [String: [UInt8]] = [:], gate: Gate? = nil) {
        self.items = items
        self.contents = contents
        self.gate = gate
    }

    /// `count` files in the root, of names as long as real ones; file n holds n bytes.
    convenience init(count: Int, gate: Gate? = nil) {
        let items = (0..<count).map { number in
            Self.file(String(repeating: "AB", count: 30) + String(format: "%04d", number), size: number)
        }
        let contents = items.map { ($0.identifier, Array(repeating: UInt8(7), count: $0.size ?? 0)) }
        self.init(items: items, contents: Dictionary(uniqueKeysWithValues: contents), gate: gate)
    }

    static func file(_ identifier: String, size: Int?) -> Item {
        Item(
            identifier: identifier, filename: "piv_\(identifier.suffix(4)).p12", kind: .pkcs12,
            contentType: "purebred2025.rsa.pkcs-12", parent: Item.root, size: size,
            created: Date(timeIntervalSince1970: 1_733_184_000))
    }

    func page(
        of container: String, after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        guard container == Item.root, let start = cursor.map({ Int($0) }) ?? 0, start <= items.count else {
            throw ProviderFailure(.notAvailable, "no such container")
        }
        let end = min(start + limit, items.count)
        return ItemPage(items: Array(items[start..<end]), nextCursor: end < items.count ? "\(end)" : nil)
    }

    func item(_ identifier: String) async throws(ProviderFailure) -> Item {
        guard let item = items.first(where: { $0.identifier == identifier }) else {
            throw ProviderFailure(.notAvailable, "no such item")
        }
        return item
    }

    func services(for identifier: String) async throws(ProviderFailure) -> [String] {
        _ = try await item(identifier)
        return ["another service", PasswordService.name]
    }

    func content(of identifier: String) async throws(ProviderFailure) -> [UInt8] {
        await gate?.pass()
        guard let content = contents[identifier] else {
            throw ProviderFailure(.serviceFailed, "no content")
        }
        return content
    }

    func password(for identifier: String) throws(ProviderFailure) -> SecretBytes {
        password
    }

    func grantPeriod() throws(ProviderFailure) -> UInt64 {
        guard let period = period.withLock({ $0 }) else {
            throw ProviderFailure(.serviceFailed, "the period is not known")
        }
        return period
    }

    func present(
        _ types: [String], after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> ItemPage {
        guard types.allSatisfy({ !$0.hasPrefix("purebred2025.") }) else {
            throw ProviderFailure(.mixedMechanisms, "types of the other mechanism")
        }
        return try await page(of: Item.root, after: cursor, limit: limit)
    }

    func choose(_ row: String, types: [String]) async throws(ProviderFailure) -> LegacyExport {
        _ = try await item(row)
        return LegacyExport(item: Self.file("export", size: 3), content: [1, 2, 3])
    }

    func identityFacts(
        after cursor: String?, limit: Int
    ) async throws(ProviderFailure) -> IdentityFactsPage {
        await gate?.pass()
        return IdentityFactsPage(facts: WireSamples.facts, nextCursor: nil)
    }
}

/// Lets nobody pass until it is opened, and tells when somebody waits.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var hasArrival = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var watching: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func pass() async {
        await withCheckedContinuation { continuation in
            let (isOpen, watching) = state.withLock { state in
                state.hasArrival = true
                if !state.isOpen {
                    state.waiting.append(continuation)
                }
                defer { state.watching = [] }
                return (state.isOpen, state.watching)
            }
            if isOpen {
                continuation.resume()
            }
            watching.forEach { $0.resume() }
        }
    }

    /// Returns once somebody has come to the gate.
    func arrival() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if !state.hasArrival {
                    state.watching.append(continuation)
                }
                return state.hasArrival
            }
            if isThere {
                continuation.resume()
            }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        waiting.forEach { $0.resume() }
    }
}
