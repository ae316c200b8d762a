import Foundation
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("The keychain", .timeLimit(.minutes(10)))
struct KeychainTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let provider: Keychain
    private let consumer: Keychain
    private let shared = App.provider.accessGroups[0]

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
        provider = try Keychain(device: device, app: .provider)
        consumer = try Keychain(device: device, app: .consumer)
    }

    @Test("An identity can be read unchanged on the connection that added it and on another one")
    func roundTrip() throws {
        let added = try provider.add(.sample("A"))
        #expect(added.accessGroup == shared)
        #expect(added.accessibility == .whenPasscodeSetThisDeviceOnly)
        for keychain in [provider, try Keychain(device: device, app: .provider)] {
            let record = try keychain.identity(label: "A")
            #expect(record.attributes == added)
            #expect(record.certificate == Array("certificate A".utf8))
            #expect(record.attributes.applicationTag == Array("tag A".utf8))
            #expect(record.attributes.notBefore == Date(timeIntervalSince1970: 1_733_184_000))
            #expect(try keychain.privateKey(label: "A") == NewIdentity.key("A"))
            let opened = try keychain.openIdentity(label: "A")
            #expect(opened.record == record && opened.privateKey == NewIdentity.key("A"))
            #expect(try keychain.identities() == [record])
            #expect(try keychain.identityAttributes() == [added])
        }
    }

    @Test("The accessibility of an identity is stored", arguments: Accessibility.allCases)
    func accessibility(_ accessibility: Accessibility) throws {
        var identity = NewIdentity.sample("A")
        identity.accessibility = accessibility
        try provider.add(identity)
        #expect(try provider.openIdentity(label: "A").record.attributes.accessibility == accessibility)
        #expect(!accessibility.name.isEmpty)
    }

    @Test("An identity's date is stored in whole seconds, even before 1970")
    func dates() throws {
        var identity = NewIdentity.sample("A")
        identity.notBefore = Date(timeIntervalSince1970: -100.5)
        try provider.add(identity)
        #expect(try provider.identity(label: "A").attributes.notBefore == Date(timeIntervalSince1970: -101))
    }

    @Test("No app sees the items of another app")
    func visibility() throws {
        try provider.add(.sample("A"))
        try provider.setPassword(SecretBytes(utf8: "secret"), service: "s", account: "a")
        #expect(try consumer.identities().isEmpty)
        #expect(try consumer.identityAttributes().isEmpty)
        #expect(throws: KeychainError(.itemNotFound, "")) { try consumer.identity(label: "A") }
        #expect(throws: KeychainError(.itemNotFound, "")) { try consumer.privateKey(label: "A") }
        #expect(throws: KeychainError(.itemNotFound, "")) { try consumer.deleteIdentity(label: "A") }
        #expect(try consumer.password(service: "s", account: "a") == nil)
        try consumer.deletePassword(service: "s", account: "a")
        #expect(try consumer.removeAll() == 0)
        #expect(try consumer.changeCount() == 0)

        // The same names in another app's group are different items.
        try consumer.add(.sample("A"))
        try consumer.setPassword(SecretBytes(utf8: "other"), service: "s", account: "a")
        #expect(try consumer.removeAll() == 2)
        #expect(try provider.privateKey(label: "A") == NewIdentity.key("A"))
        #expect(try provider.password(service: "s", account: "a")?.plain == "secret")
    }

    @Test("Every call fails for a group that the app is not entitled to")
    func missingEntitlement() throws {
        try provider.add(.sample("A"))
        let calls: [(Keychain, String) throws -> Void] = [
            { try $0.add(.sample("B", group: $1)) },
            { _ = try $0.identities(accessGroup: $1) },
            { _ = try $0.identityAttributes(accessGroup: $1) },
            { _ = try $0.identity(label: "A", accessGroup: $1) },
            { _ = try $0.openIdentity(label: "A", accessGroup: $1) },
            { _ = try $0.privateKey(label: "A", accessGroup: $1) },
            { try $0.deleteIdentity(label: "A", accessGroup: $1) },
            { _ = try $0.password(service: "s", account: "a", accessGroup: $1) },
            { try $0.setPassword(SecretBytes(utf8: "p"), service: "s", account: "a", accessGroup: $1) },
            { try $0.deletePassword(service: "s", account: "a", accessGroup: $1) },
            {
                _ = try $0.createOrReadPassword(service: "s", account: "a", accessGroup: $1) {
                    SecretBytes(utf8: "p")
                }
            },
            { _ = try $0.changeCount(accessGroup: $1) },
        ]
        for call in calls {
            let error = #expect(throws: KeychainError.self) { try call(consumer, shared) }
            #expect(error?.code == .missingEntitlement)
        }
        #expect(try provider.identities().map(\.label) == ["A"])
    }

    @Test("An item is added to its named group, and a search without a group covers all groups of the app")
    func groups() throws {
        let own = App.provider.applicationIdentifier
        try provider.add(.sample("B", group: own))
        try provider.add(.sample("A"))
        #expect(try provider.identities().map(\.label) == ["B", "A"])
        #expect(try provider.identities(accessGroup: own).map(\.label) == ["B"])
        #expect(try provider.identities(accessGroup: shared).map(\.label) == ["A"])
        #expect(throws: KeychainError(.itemNotFound, "")) {
            try provider.identity(label: "B", accessGroup: shared)
        }
        #expect(try provider.privateKey(label: "B") == NewIdentity.key("B"))
    }

    @Test("A duplicate is reported and affects no other identity")
    func duplicates() throws {
        try provider.add(.sample("A"))
        var again = NewIdentity.sample("A")
        again.privateKey = SecretBytes(utf8: "another key")
        #expect(throws: KeychainError(.duplicateItem, "")) { try provider.add(again) }
        let results = try provider.add([.sample("B"), again, .sample("C"), .sample("C"), .sample("")])
        let codes = results.map { result -> KeychainError.Code? in
            if case .failure(let error) = result { error.code } else { nil }
        }
        #expect(codes == [nil, .duplicateItem, nil, .duplicateItem, .param])
        #expect(try provider.identities().map(\.label) == ["A", "B", "C"])
        #expect(try provider.privateKey(label: "A") == NewIdentity.key("A"))
    }

    @Test("A failed identity in a batch does not prevent the others from being added in order")
    func addingEach() throws {
        struct Unreadable: Error {}
        let results = try provider.add(
            ["A", "", "?", "A", "B"].map { label in
                label == "?" ? .failure(Unreadable()) : .success(.sample(label))
            })
        #expect(results.map { try? $0.isNew() } == [true, nil, nil, false, true])
        #expect(throws: KeychainError(.param, "")) { try results[1].isNew() }
        #expect(throws: Unreadable.self) { try results[2].isNew() }
        #expect(try provider.identities().map(\.label) == ["A", "B"])
    }

    @Test("Invalid attributes are rejected")
    func badAttributes() throws {
        let cases: [(KeychainError.Code, (inout NewIdentity) -> Void)] = [
            (.param, { $0.label = "" }), (.param, { $0.label = "A\u{0}B" }),
            (.param, { $0.certificate = [] }),
            (.param, { $0.privateKey = SecretBytes([]) }),
            (.param, { $0.notBefore = Date(timeIntervalSince1970: .nan) }),
            (.param, { $0.notBefore = Date(timeIntervalSince1970: 1e300) }),
            (.dataTooLarge, { $0.certificate = [UInt8](repeating: 0, count: (1 << 20) + 1) }),
            (.dataTooLarge, { $0.label = String(repeating: "x", count: (1 << 20) + 1) }),
        ]
        for (code, spoil) in cases {
            var identity = NewIdentity.sample("A")
            spoil(&identity)
            #expect(throws: KeychainError(code, "")) { try provider.add(identity) }
        }
        #expect(throws: KeychainError(.param, "")) {
            try provider.setPassword(SecretBytes(utf8: "p"), service: "a\u{0}", account: "a")
        }
        #expect(try provider.identities().isEmpty)
    }

    @Test(
        "Pages of any size return every identity once, in the order in which they were added",
        arguments: [1, 3, 7, 100])
    func pages(size: Int) throws {
        let own = App.provider.applicationIdentifier
        let labels = (0..<20).map { "L\($0)" }
        for (index, label) in labels.enumerated() {
            try provider.add(.sample(label, group: index % 3 == 0 ? own : nil))
        }
        try provider.deleteIdentity(label: "L5")
        var seen: [String] = []
        var cursor: Int64 = 0
        while case let page = try provider.identities(after: cursor, limit: size), let last = page.last {
            #expect(page.count <= size)
            seen += page.map(\.label)
            cursor = last.id
        }
        #expect(seen == labels.filter { $0 != "L5" })
    }

    @Test("A page of identities is empty if its size is zero or negative", arguments: [0, -1, .min])
    func emptyPage(size: Int) throws {
        try provider.add(.sample("A"))
        #expect(try provider.identities(limit: size).isEmpty)
    }

    @Test(
        "A search for a prefix of an item's name does not find the item",
        arguments: ["A\u{0}", "A\u{0}B", "A ", "a", ""])
    func similarNames(name: String) throws {
        try provider.add(.sample("A"))
        try provider.setPassword(SecretBytes(utf8: "p"), service: "A", account: "A")
        #expect(throws: KeychainError(.itemNotFound, "")) { try provider.identity(label: name) }
        #expect(throws: KeychainError(.itemNotFound, "")) { try provider.deleteIdentity(label: name) }
        #expect(try provider.password(service: name, account: "A") == nil)
        #expect(try provider.password(service: "A", account: name) == nil)
        try provider.deletePassword(service: name, account: "A")
        #expect(try provider.password(service: "A", account: "A") != nil)
    }

    @Test("A deleted identity no longer exists, and can be added again")
    func delete() throws {
        let first = try provider.add(.sample("A"))
        try provider.deleteIdentity(label: "A")
        #expect(throws: KeychainError(.itemNotFound, "")) { try provider.identity(label: "A") }
        #expect(throws: KeychainError(.itemNotFound, "")) { try provider.deleteIdentity(label: "A") }
        #expect(try provider.add(.sample("A")).id > first.id)
    }

    @Test("Removing all of an app's items returns their number, and can be limited to a class")
    func removeAll() throws {
        try provider.add(.sample("A"))
        try provider.add(.sample("B", group: App.provider.applicationIdentifier))
        try provider.setPassword(SecretBytes(utf8: "p"), service: "s", account: "a")
        #expect(try provider.removeAll(.identity) == 2)
        #expect(try provider.password(service: "s", account: "a") != nil)
        #expect(try provider.removeAll() == 1)
        #expect(try provider.removeAll() == 0)
    }

    @Test(
        "A password can be read, replaced and deleted; reading a missing password returns nil, and deleting it does nothing"
    )
    func passwords() throws {
        #expect(try provider.password(service: "s", account: "a") == nil)
        try provider.deletePassword(service: "s", account: "a")
        for text in ["one", "", "three"] {
            try provider.setPassword(SecretBytes(utf8: text), service: "s", account: "a")
            #expect(try provider.password(service: "s", account: "a")?.plain == text)
        }
        try provider.setPassword(SecretBytes(utf8: "other"), service: "s", account: "b")
        #expect(try provider.password(service: "s", account: "a")?.plain == "three")
        try provider.deletePassword(service: "s", account: "a")
        #expect(try provider.password(service: "s", account: "a") == nil)
        #expect(try provider.password(service: "s", account: "b")?.plain == "other")
    }

    @Test("A password is created once, and not stored if its creation fails")
    func createOrRead() throws {
        struct Failure: Error {}
        let error = #expect(throws: KeychainError.self) {
            try provider.createOrReadPassword(service: "s", account: "a") { throw Failure() }
        }
        #expect(error?.code == .internalError && error?.cause is Failure)
        for _ in 0..<2 {
            let password = try provider.createOrReadPassword(service: "s", account: "a") {
                SecretBytes(utf8: "made \(provider.app.bundleIdentifier)")
            }
            #expect(password.plain == "made red.hound.keyshare.provider")
        }
        let kept = try provider.createOrReadPassword(service: "s", account: "a") { throw Failure() }
        #expect(kept.plain == "made red.hound.keyshare.provider")
    }

    @Test("Only changes to the app's groups increase the change count")
    func changeCount() throws {
        let observer = try Keychain(device: device, app: .provider)
        #expect(try observer.changeCount() == 0)
        let changes: [() throws -> Void] = [
            { try provider.add(.sample("A")) },
            { _ = try provider.add([.sample("A"), .sample("B")]) },
            { try provider.add(.sample("C", group: App.provider.applicationIdentifier)) },
            { try provider.deleteIdentity(label: "A") },
            { try provider.setPassword(SecretBytes(utf8: "p"), service: "s", account: "a") },
            { try provider.deletePassword(service: "s", account: "a") },
            {
                _ = try provider.createOrReadPassword(service: "s", account: "a") { SecretBytes(utf8: "p") }
            },
            { try provider.removeAll() },
        ]
        var last = try observer.changeCount()
        for change in changes {
            try change()
            let count = try observer.changeCount()
            #expect(count > last)
            last = count
        }
        let noChanges: [() throws -> Void] = [
            { try consumer.add(.sample("A")) },
            { try provider.removeAll() },
            { try provider.deletePassword(service: "s", account: "a") },
            { try? provider.deleteIdentity(label: "A") },
            { _ = try provider.add([.sample("")]) },
            { _ = try provider.identities() },
        ]
        for noChange in noChanges {
            try noChange()
            #expect(try observer.changeCount() == last)
        }
        #expect(try observer.changeCount(accessGroup: App.provider.applicationIdentifier) < last)
    }

    @Test("A reading continues an earlier one only if no identity was removed since then")
    func continuedReading() throws {
        try provider.add(.sample("A"))
        let first = try provider.identityAttributes(accessGroup: shared, after: nil)
        #expect(first.added.map(\.label) == ["A"] && !first.reading.isContinuation)
        try provider.add(.sample("B"))
        let second = try provider.identityAttributes(accessGroup: shared, after: first.reading)
        #expect(second.added.map(\.label) == ["B"] && second.reading.isContinuation)
        try provider.deleteIdentity(label: "A")
        let third = try provider.identityAttributes(accessGroup: shared, after: second.reading)
        #expect(third.added.map(\.label) == ["B"] && !third.reading.isContinuation)
    }

    @Test("Ten thousand identities are added in one transaction, and listed")
    func bulk() throws {
        let results = try provider.add((0..<10_000).map { .sample("L\($0)") })
        #expect(results.count == 10_000)
        #expect(try results.map { try $0.get().label } == (0..<10_000).map { "L\($0)" })
        #expect(try provider.changeCount() == 1)
        #expect(try provider.identities().count == 10_000)
        #expect(
            try provider.identities(after: results[9_990].get().id).map(\.label)
                == (9_991..<10_000).map { "L\($0)" })
        #expect(try provider.privateKey(label: "L9999") == NewIdentity.key("L9999"))
        #expect(try provider.verifyIntegrity().isEmpty)
    }

    @Test("Errors of the keychain have Apple's names and numbers")
    func errorNames() {
        let known: [KeychainError.Code: (String, Int32)] = [
            .duplicateItem: ("errSecDuplicateItem", -25299), .itemNotFound: ("errSecItemNotFound", -25300),
            .interactionNotAllowed: ("errSecInteractionNotAllowed", -25308),
            .missingEntitlement: ("errSecMissingEntitlement", -34018), .decode: ("errSecDecode", -26275),
            .io: ("errSecIO", -36), .diskFull: ("errSecDiskFull", -34),
        ]
        for (code, (name, status)) in known {
            #expect(code.name == name && code.status == status)
        }
        #expect(
            KeychainError(.itemNotFound, "no such thing").description
                == "no such thing (errSecItemNotFound, -25300)")
    }
}
