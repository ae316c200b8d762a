import GRDB
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("Altered records", .timeLimit(.minutes(10)))
struct TamperingTests {
    private let scratch: ScratchFolder
    private let keychain: Keychain
    private let consumer: Keychain

    init() throws {
        scratch = try ScratchFolder()
        let device = try scratch.device()
        keychain = try Keychain(device: device, app: .provider)
        consumer = try Keychain(device: device, app: .consumer)
        try keychain.add([.sample("A"), .sample("B")]).forEach { _ = try $0.get() }
    }

    private func alter(_ sql: String, rows: Int = 1) throws {
        let changed = try keychain.store.queue.write { database in
            try database.execute(sql: sql)
            return database.changesCount
        }
        try #require(changed == rows)
    }

    @Test(
        "Changing an attribute or the secret of an item makes only that item unreadable",
        arguments: [
            "id = 77", "version = 2", "class = 'genp'",
            "accessGroup = 'PRVD000001.red.hound.keyshare.provider'",
            "accessible = 'dk'", "label = 'C'", "service = 's'", "account = 'a'", "applicationTag = x'00'",
            "applicationTag = x''", "notBefore = notBefore + 1", "certificate = x'00'",
            "certificate = CAST(certificate || x'00' AS BLOB)", "sealed = x''",
            "sealed = zeroblob(length(sealed))",
            "sealed = substr(sealed, 1, length(sealed) - 1)", "sealed = CAST(sealed || x'00' AS BLOB)",
            "label = 'Ata', applicationTag = substr(applicationTag, 3)",
        ])
    func everyColumn(change: String) throws {
        try alter("UPDATE item SET \(change) WHERE label = 'A'")
        let problems = try keychain.verifyIntegrity()
        let isMoved = change == "id = 77"
        #expect(problems.filter { $0 == .item(id: isMoved ? 77 : 1) }.count == 1)
        // The manifest also reveals changes of the id and of the encrypted secret.
        let items = problems.filter { if case .item = $0 { true } else { false } }
        #expect(items.count == 1)
        let isTold = problems.contains {
            if case .structure(let words) = $0 { words.contains("replaced items") } else { false }
        }
        #expect(isTold == (isMoved || change.hasPrefix("sealed")))
        let labels = ["A", "C", "Ata"]
        let codes = labels.map { label -> KeychainError.Code? in
            do throws(KeychainError) {
                _ = try keychain.openIdentity(label: label)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(!codes.contains(nil), "it opens")
        #expect(codes.contains(.decode) || change.hasPrefix("class"))
        #expect(try keychain.privateKey(label: "B") == NewIdentity.key("B"))
    }

    @Test("The tampering tests cover every column of the table")
    func columns() throws {
        let columns = try keychain.store.queue.read { try $0.columns(in: "item").map(\.name) }
        #expect(
            columns == [
                "id", "version", "class", "accessGroup", "accessible", "label", "service", "account",
                "applicationTag",
                "notBefore", "certificate", "sealed",
            ])
    }

    @Test("A record that is moved to another app's group cannot be decrypted there")
    func moved() throws {
        try alter("UPDATE item SET accessGroup = '\(App.consumer.accessGroups[0])' WHERE label = 'A'")
        #expect(throws: KeychainError(.decode, "")) { try consumer.privateKey(label: "A") }
        #expect(throws: KeychainError(.itemNotFound, "")) { try keychain.privateKey(label: "A") }
    }

    @Test("Copied records and records with swapped secrets cannot be decrypted")
    func swapped() throws {
        try alter(
            """
            UPDATE item SET sealed = other.sealed FROM (SELECT label, sealed FROM item) AS other
            WHERE other.label <> item.label
            """, rows: 2)
        #expect(throws: KeychainError(.decode, "")) { try keychain.privateKey(label: "A") }
        #expect(throws: KeychainError(.decode, "")) { try keychain.privateKey(label: "B") }
        #expect(try keychain.verifyIntegrity().filter { $0 == .item(id: 1) || $0 == .item(id: 2) }.count == 2)
    }

    @Test("An identity changed to a password, or a password moved to another app, cannot be decrypted")
    func disguised() throws {
        try alter("UPDATE item SET class = 'genp', service = 's', account = 'a' WHERE label = 'A'")
        #expect(throws: KeychainError(.decode, "")) { try keychain.password(service: "s", account: "a") }
        try keychain.setPassword(SecretBytes(utf8: "p"), service: "ab", account: "c")
        try alter("UPDATE item SET service = 'a', account = 'bc' WHERE service = 'ab'")
        #expect(throws: KeychainError(.decode, "")) { try keychain.password(service: "a", account: "bc") }
    }

    @Test("A deleted record that is restored with a new ID cannot be decrypted")
    func replayed() throws {
        try alter("UPDATE item SET id = 3 WHERE label = 'A'")
        #expect(throws: KeychainError(.decode, "")) { try keychain.privateKey(label: "A") }
    }

    @Test("A table that was rebuilt without column types causes errors instead of a crash")
    func rebuilt() throws {
        try keychain.store.queue.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE loose AS SELECT * FROM item;
                    DROP TABLE item;
                    ALTER TABLE loose RENAME TO item;
                    UPDATE item SET certificate = NULL, notBefore = 'soon', id = 'first' WHERE label = 'A';
                    CREATE INDEX itemByGroup ON item (accessGroup, class);
                    """)
        }
        #expect(throws: KeychainError(.decode, "")) { try keychain.openIdentity(label: "A") }
        #expect(throws: KeychainError(.decode, "")) { try keychain.identities(after: 0) }
        #expect(try keychain.verifyIntegrity().last == .item(id: nil))
        #expect(try keychain.privateKey(label: "B") == NewIdentity.key("B"))
    }
}
