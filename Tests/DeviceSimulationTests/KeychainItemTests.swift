import Foundation
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("Items of the keychain, by query", .timeLimit(.minutes(10)))
struct KeychainItemTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let provider: Keychain
    private let consumer: Keychain
    private static let groups = App.provider.accessGroups

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
        provider = try Keychain(device: device, app: .provider)
        consumer = try Keychain(device: device, app: .consumer)
    }

    private static func secret(_ text: String) -> SecretBytes { SecretBytes(utf8: text) }

    private static let server = InternetServer(host: "example.org", port: 8443, path: "/a")

    /// One item of each class that can be added, with its class.
    private static func items(_ name: String) -> [(ItemClass, NewItem)] {
        [
            (.genericPassword, .genericPassword(secret("generic"), service: "s", account: name)),
            (.internetPassword, .internetPassword(secret("internet"), server: server, account: name)),
            (.certificate, .certificate([1, 2, 3], label: name)),
            (.key, .key(secret("key"), label: name, applicationTag: [7])),
        ]
    }

    @Test("Items of every class are added, found, and deleted, each only in its class")
    func classes() throws {
        for (itemClass, item) in Self.items("n") {
            let reference = try provider.add(item)
            let found = try provider.copyMatching(
                KeychainQuery(itemClass, reference: reference), limit: .max, returnsData: true)
            #expect(found.count == 1)
            #expect(found[0].itemClass == itemClass && found[0].accessGroup == Self.groups[0])
            #expect(found[0].attributes == item.attributes)
            #expect(found[0].data == item.secret && found[0].certificate == item.certificate)
            #expect(found[0].accessibility == item.accessibility)
            #expect(throws: KeychainError(.duplicateItem, "")) { try provider.add(item) }
        }
        for itemClass in ItemClass.allCases where itemClass != .identity {
            #expect(try provider.delete(KeychainQuery(itemClass)) == 1)
            #expect(throws: KeychainError(.itemNotFound, "")) {
                try provider.delete(KeychainQuery(itemClass))
            }
        }
        #expect(try provider.verifyIntegrity().isEmpty)
    }

    @Test("Only certificates and keys can be replaced, and no key while the device is locked")
    func replacement() throws {
        for (itemClass, item) in Self.items("n") {
            if itemClass == .certificate || itemClass == .key {
                for _ in 0..<2 { try provider.replace([item]) }
                #expect(try provider.copyMatching(KeychainQuery(itemClass), limit: .max).count == 1)
            } else {
                #expect(throws: KeychainError(.param, "")) { try provider.replace([item]) }
            }
        }
        let before = try provider.copyMatching(KeychainQuery(.key)).map(\.reference)
        try device.lock()
        #expect(throws: KeychainError(.interactionNotAllowed, "")) {
            try provider.replace([.key(Self.secret("other"), label: "n", applicationTag: [7])])
        }
        #expect(try provider.copyMatching(KeychainQuery(.key)).map(\.reference) == before)
    }

    @Test("The limit of a search applies to all groups together")
    func limitOverGroups() throws {
        for group in Self.groups.prefix(3) {
            for name in ["a", "b"] {
                try provider.add(.certificate([1], label: name).with(accessGroup: group))
            }
        }
        for (limit, count) in [(1, 1), (3, 3), (6, 6), (9, 6)] {
            let found = try provider.copyMatching(KeychainQuery(.certificate), limit: limit)
            #expect(found.count == count)
        }
    }

    @Test("Several queries return their items in order, and an empty array if no item matches")
    func severalQueries() throws {
        for (_, item) in Self.items("n") { try provider.add(item) }
        let queries = [
            KeychainQuery(.key), KeychainQuery(.certificate, label: "m"), KeychainQuery(.certificate),
        ]
        let found = try provider.copyMatching(each: queries)
        #expect(found.map { $0.map(\.itemClass) } == [[.key], [], [.certificate]])
        #expect(throws: KeychainError(.missingEntitlement, "")) {
            try consumer.copyMatching(each: [KeychainQuery(.key, accessGroup: Self.groups[0])])
        }
    }

    @Test("An item that is moved to another group changes the counts of both groups")
    func movedItem() throws {
        let groups = Self.groups.prefix(2)
        try provider.add(.certificate([1], label: "n").with(accessGroup: groups[0]))
        let before = try groups.map { try provider.changeCount(accessGroup: $0) }
        try provider.update(
            KeychainQuery(.certificate, label: "n"), KeychainChange(accessGroup: groups[1]))
        let after = try groups.map { try provider.changeCount(accessGroup: $0) }
        #expect(after == before.map { $0 + 1 })
    }

    @Test("Identities can also be found, changed and deleted by query")
    func identities() throws {
        try provider.add(.sample("A"))
        let query = KeychainQuery(.identity, label: "A")
        let found = try provider.copyMatching(query, returnsData: true)
        #expect(found[0].data == NewIdentity.key("A"))
        #expect(found[0].certificate == Array("certificate A".utf8))
        try provider.update(query, KeychainChange(label: "B"))
        #expect(try provider.privateKey(label: "B") == NewIdentity.key("A"))
        try provider.delete(KeychainQuery(.identity))
        #expect(try provider.identities().isEmpty)
    }

    @Test("A server item is identified by the beginning of its URL")
    func servers() {
        #expect(Self.server.description == "https://example.org:8443/a")
        #expect(InternetServer(scheme: "imap", host: "h").description == "imap://h")
    }

    @Test("A search returns only items that match all given attributes")
    func attributes() throws {
        try provider.add(
            .key(Self.secret("1"), label: "one", applicationTag: [1]).with(accessibility: .always))
        try provider.add(
            .key(Self.secret("2"), label: "two", applicationTag: [1]).with(accessGroup: Self.groups[1]))
        try provider.add(.key(Self.secret("3"), label: "two", applicationTag: [2]))
        func found(_ query: KeychainQuery) throws -> Set<String> {
            do throws(KeychainError) {
                let items = try provider.copyMatching(query, limit: .max, returnsData: true)
                return Set(items.compactMap { $0.data?.plain })
            } catch {
                guard error.code == .itemNotFound else { throw error }
                return []
            }
        }
        #expect(try found(KeychainQuery(.key)) == ["1", "2", "3"])
        #expect(try found(KeychainQuery(.key, label: "two")) == ["2", "3"])
        #expect(try found(KeychainQuery(.key, applicationTag: [1])) == ["1", "2"])
        #expect(try found(KeychainQuery(.key, label: "two", applicationTag: [1])) == ["2"])
        #expect(try found(KeychainQuery(.key, accessibility: .always)) == ["1"])
        #expect(try found(KeychainQuery(.key, accessGroup: Self.groups[1])) == ["2"])
        #expect(try found(KeychainQuery(.key, label: "three")) == [])
        #expect(try found(KeychainQuery(.key, label: "two\0")) == [])
        #expect(try found(KeychainQuery(.key, service: "two")) == [])
        #expect(try found(KeychainQuery(.key, account: "two")) == [])
        #expect(try found(KeychainQuery(.genericPassword, label: "two")) == [])
        #expect(try found(KeychainQuery(.key, reference: 99)) == [])
    }

    @Test("A search with a limit returns the first matching items, in order")
    func limit() throws {
        for number in 0..<5 { try provider.add(.key(Self.secret("k"), label: "\(number)")) }
        for (limit, count) in [(1, 1), (3, 3), (.max, 5)] {
            let labels = try provider.copyMatching(KeychainQuery(.key), limit: limit).map(\.attributes.label)
            #expect(labels == (0..<count).map { "\($0)" })
        }
        #expect(try provider.copyMatching(KeychainQuery(.key))[0].data == nil)
    }

    @Test("An update changes only the given attributes; a new secret has a new reference")
    func update() throws {
        let old = try provider.add(
            .genericPassword(Self.secret("old"), service: "s", account: "a", label: "l"))
        let query = KeychainQuery(.genericPassword, account: "a")
        try provider.update(query, KeychainChange(label: "new", accessibility: .always))
        var item = try provider.copyMatching(query, returnsData: true)[0]
        #expect(item.reference == old && item.data?.plain == "old" && item.accessibility == .always)
        #expect(item.attributes == KeychainAttributes(label: "new", service: "s", account: "a"))
        try provider.update(
            query,
            KeychainChange(service: "t", account: "b", accessGroup: Self.groups[2], data: Self.secret("n")))
        item = try provider.copyMatching(KeychainQuery(.genericPassword, service: "t"), returnsData: true)[0]
        #expect(item.reference != old && item.data?.plain == "n" && item.accessGroup == Self.groups[2])
        #expect(try provider.password(service: "t", account: "b")?.plain == "n")
        #expect(throws: KeychainError(.itemNotFound, "")) {
            try provider.update(query, KeychainChange(label: "x"))
        }
        #expect(try provider.verifyIntegrity().isEmpty)
    }

    @Test("An update that would make the unique attributes of two items equal changes neither item")
    func updateToDuplicate() throws {
        for account in ["a", "b"] {
            try provider.add(.genericPassword(Self.secret(account), service: "s", account: account))
        }
        let count = try provider.changeCount()
        #expect(throws: KeychainError(.duplicateItem, "")) {
            try provider.update(KeychainQuery(.genericPassword), KeychainChange(account: "c"))
        }
        #expect(throws: KeychainError(.param, "")) {
            try provider.update(KeychainQuery(.genericPassword, account: "a"), KeychainChange(label: "a\0"))
        }
        for account in ["a", "b"] {
            #expect(try provider.password(service: "s", account: account)?.plain == account)
        }
        #expect(try provider.changeCount() == count)
    }

    /// The provider; its correct extension; its extension with some entitlements forgotten, and with all of
    /// them forgotten; an app of another team; one of that team that names the provider's groups; and one of
    /// the provider's team that names invalid groups, and only the app group.
    private static let entitled: [App] = [
        .provider, .providerFiles,
        App.provider.member(
            .fileProvider, name: "half",
            entitlements: Entitlements(keychainAccessGroups: [groups[1]])),
        App.provider.member(.fileProvider, name: "none", entitlements: Entitlements()),
        App(bundleIdentifier: "stranger", teamIdentifier: "STRN000001", entitlements: Entitlements()),
        App(
            bundleIdentifier: "thief", teamIdentifier: "STRN000001",
            entitlements: Entitlements(
                keychainAccessGroups: [Entitlements.tokenGroup, groups[0], groups[3], "nobody.at.all"],
                applicationGroups: [groups[1]])),
        App(
            bundleIdentifier: "mistaken", teamIdentifier: App.provider.teamIdentifier,
            entitlements: Entitlements(
                keychainAccessGroups: ["nobody.at.all", "PRVD000001", Entitlements.tokenGroup],
                applicationGroups: [groups[4], "nobody.at.all"])),
    ]

    /// The groups in `groups` that each of them may use: shared, authorities, the token's, the provider's
    /// own, the app group.
    private static let table = ["yyyyy", "yyyny", "nynnn", "nnnnn", "nnnnn", "nnnnn", "nnnny"]

    /// The operations on groups: the app's own of each kind, another app's, and an unknown one.
    @Test(
        "Each operation succeeds in every group of the entitlements and fails in every other group",
        arguments: entitled.indices,
        App.provider.accessGroups + [
            "CNSM000001.red.hound.keyshare.consumer", "nobody.at.all", "PRVD000001",
        ])
    func groups(index: Int, group: String) throws {
        let provider = try Keychain(device: device, app: Self.entitled[index])
        let column = Self.groups.firstIndex(of: group)
        let isEntitled = column.map { Array(Self.table[index])[$0] == "y" } ?? false
        _ = try? consumer.add(
            .genericPassword(Self.secret("theirs"), service: "s", account: "a").with(accessGroup: group))
        let query = KeychainQuery(.genericPassword, service: "s", account: "a", accessGroup: group)
        let operations: [() throws -> Void] = [
            { try provider.setPassword(Self.secret("p"), service: "s", account: "a", accessGroup: group) },
            { _ = try provider.password(service: "s", account: "a", accessGroup: group) },
            { _ = try provider.copyMatching(query, returnsData: true) },
            { try provider.update(query, KeychainChange(data: Self.secret("q"))) },
            {
                _ = try provider.createOrReadPassword(
                    service: "s", account: "a", accessGroup: group, make: { Self.secret("r") })
            },
            { try provider.delete(query) },
            { try provider.add(.key(Self.secret("k"), label: "l").with(accessGroup: group)) },
            { try provider.update(KeychainQuery(.key), KeychainChange(label: "m", accessGroup: group)) },
            { try provider.add(.sample("A", group: group)) },
            { _ = try provider.identities(accessGroup: group) },
            { _ = try provider.privateKey(label: "A", accessGroup: group) },
            { try provider.deleteIdentity(label: "A", accessGroup: group) },
            { try provider.deletePassword(service: "s", account: "a", accessGroup: group) },
            { _ = try provider.changeCount(accessGroup: group) },
        ]
        for operation in operations {
            if isEntitled {
                #expect(throws: Never.self) { try operation() }
            } else {
                #expect(throws: KeychainError(.missingEntitlement, "")) { try operation() }
            }
        }
        if App.consumer.accessGroups.contains(group) {
            #expect(try consumer.password(service: "s", account: "a")?.plain == "theirs")
        }
    }

    @Test("An item without a group is added to the first group to which the app may add items")
    func defaultGroup() throws {
        for (index, group) in [
            "PRVD000001.red.hound.keyshare.shared", "PRVD000001.red.hound.keyshare.shared",
            "PRVD000001.red.hound.keyshare.authorities", "PRVD000001.red.hound.keyshare.provider.none",
            "STRN000001.stranger", "STRN000001.thief", "PRVD000001.mistaken",
        ].enumerated() {
            let keychain = try Keychain(device: device, app: Self.entitled[index])
            try keychain.add(.key(Self.secret("k"), label: "default"))
            let found = try keychain.copyMatching(KeychainQuery(.key, label: "default", accessGroup: group))
            #expect(found.map(\.accessGroup) == [group])
            try keychain.delete(KeychainQuery(.key, label: "default"))
        }
    }

    @Test("Only entitled apps can access the token group, and no app can add items to it")
    func tokens() throws {
        let group = Entitlements.tokenGroup
        let query = KeychainQuery(.key, accessGroup: group)
        for (app, isEntitled) in [(Self.entitled[5], true), (Self.entitled[6], true), (.provider, false)] {
            let keychain = try Keychain(device: device, app: app)
            try keychain.add(.key(Self.secret("k"), label: "own"))
            let looks: [() throws -> Void] = [
                { _ = try keychain.password(service: "s", account: "a", accessGroup: group) },
                { try keychain.deletePassword(service: "s", account: "a", accessGroup: group) },
                { _ = try keychain.identities(accessGroup: group) },
                { _ = try keychain.changeCount(accessGroup: group) },
            ]
            for look in looks {
                if isEntitled {
                    #expect(throws: Never.self) { try look() }
                } else {
                    #expect(throws: KeychainError(.missingEntitlement, "")) { try look() }
                }
            }
            let nothing = KeychainError(isEntitled ? .itemNotFound : .missingEntitlement, "")
            #expect(throws: nothing) { try keychain.copyMatching(query) }
            #expect(throws: nothing) { try keychain.delete(query) }
            let additions: [() throws -> Void] = [
                { try keychain.add(.key(Self.secret("k"), label: "l").with(accessGroup: group)) },
                {
                    try keychain.setPassword(Self.secret("p"), service: "s", account: "a", accessGroup: group)
                },
                {
                    _ = try keychain.createOrReadPassword(
                        service: "s", account: "a", accessGroup: group, make: { Self.secret("r") })
                },
                { try keychain.add(.sample("A", group: group)) },
                {
                    try keychain.update(
                        KeychainQuery(.key, label: "own"), KeychainChange(accessGroup: group))
                },
            ]
            for addition in additions {
                let error = #expect(throws: KeychainError.self) { try addition() }
                #expect(error?.code == .missingEntitlement)
                #expect((error?.gap == .onlySystemAdds(Entitlements.tokenGroup)) == isEntitled)
            }
            try keychain.delete(KeychainQuery(.key, label: "own"))
        }
    }
}
