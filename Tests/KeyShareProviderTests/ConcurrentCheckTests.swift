import DeviceSimulation
import GRDB
import OpenSSL
import PersistentToken
import TestSupport
import Testing

@testable import KeyShareProvider
@testable import SimulatedKeychain
@testable import TestCredentials

/// Each test changes the keychain over a second connection when the first one begins a certain SQL statement.
@Suite("Checks and lists while another process changes the keychain", .timeLimit(.minutes(10)))
struct ConcurrentCheckTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
    }

    /// Runs `change` once, immediately before the store executes a statement that contains `text`.
    private func beforeStatement(containing text: String, _ change: @escaping () throws -> Void) {
        var isDone = false
        store.keychain.store.queue.inDatabase { database in
            database.trace { event in
                guard !isDone, event.description.contains(text) else { return }
                isDone = true
                do { try change() } catch { Issue.record(error) }
            }
        }
    }

    @Test(
        "A registration that another process adds or removes never seems incomplete",
        arguments: ["class = 'cert'", "class = 'keys'"], [true, false])
    func registrations(statement: String, isAdded: Bool) throws {
        let sample = PKCS12Samples.first
        let (tokens, others) = (TokenStore(store), TokenStore(try ProviderStore(store.device)))
        func prepare() throws {
            _ = try others.removeAll()
            if !isAdded { try others.add(sample.certificate, sample.key, rule: .cryptoTokenKit) }
            beforeStatement(containing: statement) {
                if isAdded {
                    try others.add(sample.certificate, sample.key, rule: .cryptoTokenKit)
                } else {
                    _ = try others.removeAll()
                }
            }
        }
        func isChanged() throws -> Bool { try others.registrations().isEmpty != isAdded }
        try prepare()
        #expect(try tokens.problems().isEmpty)
        #expect(try isChanged())
        try prepare()
        #expect(try tokens.registrations().allSatisfy(\.hasKey))
        #expect(try isChanged())
        try prepare()
        try tokens.reconcile()
        #expect(try isChanged())
    }

    @Test(
        "An identity that another process removes during the check is not damaged, but one whose label changes is",
        arguments: [("DELETE FROM item", []), ("UPDATE item SET label = 'other'", [.record])]
            as [(String, [IntegrityProblem.Kind])])
    func identities(change: String, expected: [IntegrityProblem.Kind]) throws {
        let sample = PKCS12Samples.first
        #expect(try store.add([(sample.certificate, sample.key)]).count == 1)
        let other = try DatabaseQueue(path: store.device.folder + "/keychain/keychain.sqlite")
        beforeStatement(containing: "AND label = ?") { try other.write { try $0.execute(sql: change) } }
        let report = try store.check()
        #expect(report.problems.map(\.kind) == expected && report.identities == 0)
        #expect(try other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") } == expected.count)
    }
}
