import DeviceSimulation
import Foundation
import KeySharing
import PrivateFiles
import SecretMemory
import SimulatedKeychain
import TestSupport
import Testing

@Suite("Android's KeyChain on the device", .timeLimit(.minutes(10)))
struct AndroidKeyChainTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let keyChain: AndroidKeyChain
    private static let date = Date(timeIntervalSince1970: 1_790_000_000)

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
        keyChain = try AndroidKeyChain(device) { Self.date }
    }

    private func install(_ aliases: String..., label: String = "L") throws {
        try keyChain.install(
            aliases.map { alias in
                (
                    KeyChainEntry(alias: alias, label: label, certificate: [0x30, 0]),
                    SecretBytes(utf8: "key of " + alias)
                )
            })
    }

    @Test("Looking up the user's decisions changes nothing if the user has decided nothing")
    func noDecisions() throws {
        #expect(try AliasAccess(existingOn: device) == nil)
        _ = try AliasAccess(device).grant("a", to: "com.example.mail", at: Self.date)
        #expect(try AliasAccess(existingOn: device)?.all().count == 1)
    }

    @Test("Entries are sorted by alias, and an entry with the same alias is replaced")
    func entries() throws {
        try install("b", "B", "\u{E9}")
        try install("b", label: "M")
        #expect(try keyChain.entries().map(\.alias) == ["B", "b", "\u{E9}"])
        #expect(try keyChain.entry("b")?.label == "M")
        #expect(try keyChain.privateKey("B") == SecretBytes(utf8: "key of B"))
        #expect(try keyChain.entry("c") == nil)
    }

    @Test(
        "An alias has 1 to 255 bytes and no NUL, and may contain marks that change the writing direction",
        arguments: [
            ("", false), (String(repeating: "a", count: 255), true),
            (String(repeating: "a", count: 256), false),
            (String(repeating: "\u{E9}", count: 128), false), ("a\u{0}b", false), ("\u{202E}a", true),
        ])
    func names(alias: String, isValid: Bool) throws {
        if isValid {
            try install(alias)
            #expect(try keyChain.entries().map(\.alias) == [alias])
        } else {
            let error = #expect(throws: DeviceError.self) { try install(alias) }
            #expect(error?.code == .invalidValue)
            #expect(try keyChain.entries().isEmpty)
        }
    }

    @Test("Keys are inaccessible before the first unlock, and accessible while the device is locked")
    func locked() throws {
        try install("a")
        try device.lock()
        #expect(try keyChain.privateKey("a").count > 0)
        try device.restart()
        let error = #expect(throws: KeychainError.self) { try keyChain.privateKey("a") }
        #expect(error?.code == .interactionNotAllowed)
    }

    @Test("No app's keychain contains the entries")
    func hidden() throws {
        try install("a")
        for app in App.installed {
            let keychain = try Keychain(device: device, app: app)
            for itemClass in ItemClass.allCases {
                #expect(throws: KeychainError.self) { try keychain.copyMatching(KeychainQuery(itemClass)) }
            }
        }
    }

    @Test("Removing or renaming an entry ends its grants, and both send KEYCHAIN_CHANGED")
    func grants() throws {
        let access = try AliasAccess(device)
        try install("a", "b", "c")
        for alias in ["a", "b", "c"] { try access.grant(alias, to: "app", at: Self.date) }
        let count = try Broadcasts(device).last()
        #expect(try keyChain.remove(["x"]) == 0)
        try keyChain.install([])
        #expect(try Broadcasts(device).last() == count)
        #expect(try keyChain.remove(["a", "x"]) == 1)
        try keyChain.rename("b", to: "d")
        #expect(try access.access(of: "app").keyGrants == ["c"])
        let sent = try Broadcasts(device).entries(after: count)
        #expect(
            sent.map(\.action) == [.keychainChanged, .keychainChanged] && sent.allSatisfy { $0.to == nil })
        let error = #expect(throws: KeychainError.self) { try keyChain.rename("c", to: "d") }
        #expect(error?.code == .duplicateItem)
        #expect(try keyChain.entries().map(\.alias) == ["c", "d"])
    }

    @Test("A rename before the first unlock is refused, and changes neither the entry nor its grants")
    func lockedRename() throws {
        let access = try AliasAccess(device)
        try install("a")
        try access.grant("a", to: "app", at: Self.date)
        try device.restart()
        let error = #expect(throws: KeychainError.self) { try keyChain.rename("a", to: "b") }
        #expect(error?.code == .interactionNotAllowed)
        #expect(try keyChain.entries().map(\.alias) == ["a"])
        try device.unlock()
        #expect(try keyChain.privateKey("a") == SecretBytes(utf8: "key of a"))
        #expect(try access.access(of: "app").keyGrants == ["a"])
    }

    @Test("An entry is neither removed nor renamed if its grants cannot be ended")
    func lastingGrants() throws {
        try install("a")
        try AliasAccess(device).grant("a", to: "app", at: Self.date)
        try Data("{".utf8).write(to: URL(fileURLWithPath: device.folder + "/android/access"))
        #expect(throws: FileError.self) { try keyChain.remove(["a"]) }
        let error = #expect(throws: KeychainError.self) { try keyChain.rename("a", to: "b") }
        #expect((error?.cause as? FileError)?.code == .damagedFile)
        #expect(try keyChain.entries().map(\.alias) == ["a"])
        #expect(try keyChain.privateKey("a") == SecretBytes(utf8: "key of a"))
    }

    @Test("A new entry has no grants from an earlier entry, and a replaced entry keeps its grants")
    func newEntry() throws {
        let access = try AliasAccess(device)
        try install("kept")
        // Grants without an entry, as after the keychain was replaced.
        for alias in ["kept", "lost", "new name"] { try access.grant(alias, to: "app", at: Self.date) }
        try install("kept", "lost")
        #expect(try access.access(of: "app").keyGrants == ["kept", "new name"])
        try keyChain.rename("lost", to: "new name")
        #expect(try access.access(of: "app").keyGrants == ["kept"])
    }

    @Test("Aliases that differ only in Unicode normalization are different aliases")
    func normalization() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let access = try AliasAccess(device)
        try install(composed, decomposed)
        try access.grant(composed, to: "app", at: Self.date)
        #expect(try !access.access(of: "app").mayUse(decomposed))
        try access.grant(decomposed, to: "app", at: Self.date)
        #expect(try access.access(of: "app").keyGrants.count == 2)
        #expect(try access.revoke(composed, of: "app", at: Self.date))
        #expect(try access.access(of: "app").mayUse(decomposed))
        try access.grant(composed, to: "app", at: Self.date)
        #expect(try keyChain.remove([decomposed]) == 1)
        #expect(try access.access(of: "app").mayUse(composed))
        #expect(try !access.access(of: "app").mayUse(decomposed))
    }

    @Test("Only the app whose grant changed receives the broadcast, and an unknown grant is not revoked")
    func accessBroadcasts() throws {
        let access = try AliasAccess(device)
        try access.grant("a", to: "app", at: Self.date)
        try access.grant("a", to: "app", at: Self.date)
        #expect(try access.revoke("a", of: "app", at: Self.date))
        #expect(try !access.revoke("a", of: "app", at: Self.date))
        #expect(try !access.revoke("a", of: "nobody", at: Self.date))
        let sent = try Broadcasts(device).entries()
        #expect(sent.map(\.number) == [1, 2] && sent.map(\.to) == ["app", "app"])
        #expect(sent.map { $0.extras[Broadcasts.accessibleExtra] } == ["true", "false"])
        #expect(sent.allSatisfy { $0.action == .keyAccessChanged && $0.time == Self.date })
    }

    @Test("The log keeps the last 64 broadcasts, and numbers continue")
    func log() throws {
        let broadcasts = try Broadcasts(device)
        for _ in 0..<70 { try broadcasts.send(.updateCompleted, at: Self.date) }
        let entries = try broadcasts.entries()
        #expect(entries.map(\.number) == Array(7...70))
        #expect(try broadcasts.entries(after: 68).map(\.number) == [69, 70])
        #expect(try Broadcasts(device).last() == 70)
    }

    @Test("An entry whose key is missing is not listed")
    func withoutKey() throws {
        try install("a", "b")
        let system = App(
            bundleIdentifier: "com.android.keychain", teamIdentifier: "android",
            entitlements: Entitlements(keychainAccessGroups: ["android.keychain"]))
        try Keychain(device: device, app: system).delete(
            KeychainQuery(.key, label: "a", accessGroup: "android.keychain"))
        #expect(try keyChain.entries().map(\.alias) == ["b"])
    }

    @Test("A dialog shows at most 300 entries and the preselected one, and a port only with a host")
    func dialog() {
        let entries = (100..<500).map { number in
            AliasEntry(
                alias: "\(number)",
                certificate: AliasEntry.Certificate(
                    der: [], type: .other, warnings: [], notBefore: Self.date, notAfter: Self.date,
                    keyType: "EC", issuers: []))
        }
        let shown = (100..<400).map { "\($0)" }
        for (alias, offered) in [
            (nil, shown), ("100", shown), ("399", shown), ("400", shown + ["400"]), ("600", shown),
        ] as [(String?, [String])] {
            let chooser = AliasChooser(entries, requesting: alias)
            #expect(AndroidDialog(chooser, for: "app", host: nil, port: nil).offered == offered)
        }
        let chooser = AliasChooser(entries)
        for (host, isShown) in [("mail.example", true), ("\u{202E}", false), (nil, false)]
            as [(String?, Bool)]
        {
            let dialog = AndroidDialog(chooser, for: "app", host: host, port: 443)
            #expect(dialog.host == (isShown ? host : nil) && dialog.port == (isShown ? 443 : nil))
        }
    }

    @Test("At most 4,096 key grants are stored, for all apps together")
    func grantLimit() throws {
        let access = try AliasAccess(device)
        try access.grant("a", to: "one", at: Self.date)
        // The file as the device stores it, with all grants but one.
        let all = (2..<AliasAccess.mostGrants).map { "\"\($0)\"" }.joined(separator: ",")
        let apps =
            #"{"other":{"keyGrants":["#
            + all + #"],"permission":"undecided"},"one":{"keyGrants":["a"],"permission":"undecided"}}"#
        try Data(apps.utf8).write(to: URL(fileURLWithPath: device.folder + "/android/access"))
        try access.grant("b", to: "one", at: Self.date)
        let error = #expect(throws: DeviceError.self) { try access.grant("c", to: "one", at: Self.date) }
        #expect(error?.code == .tooManyDecisions)
        #expect(try access.access(of: "one").keyGrants == ["a", "b"])
    }

    @Test("An app without a decision and without key grants is not stored")
    func undecided() throws {
        let access = try AliasAccess(device)
        try access.setPermission(.undecided, of: "one")
        try access.grant("a", to: "two", at: Self.date)
        #expect(try access.revoke("a", of: "two", at: Self.date))
        try access.setPermission(.granted, of: "three")
        #expect(try access.all().keys.sorted() == ["three"])
        try access.setPermission(.undecided, of: "three")
        #expect(try access.all().isEmpty)
    }

    @Test("At the limit of apps, a new app replaces the first one that has only the permission")
    func replacedApp() throws {
        let access = try AliasAccess(device)
        try access.setPermission(.denied, of: "a-denied")
        try access.setPermission(.granted, of: "b-chosen")
        try access.grant("a", to: "b-chosen", at: Self.date)
        for number in 2..<AliasAccess.mostApps { try access.setPermission(.granted, of: "c\(number)") }
        for name in ["a-new", "z-new"] {
            try access.setPermission(.granted, of: name)
            #expect(try access.all().count == AliasAccess.mostApps)
            #expect(try access.access(of: name).permission == .granted)
        }
        // The second new app replaced the first one.
        #expect(try access.access(of: "a-new").permission == .undecided)
        #expect(try access.access(of: "c10").permission == .undecided)
        #expect(try access.access(of: "c100").permission == .granted)
        #expect(try access.access(of: "a-denied").permission == .denied)
        #expect(try access.access(of: "b-chosen").mayUse("a"))
    }

    @Test("At the limit of apps, a new app is rejected if no other app has only the permission")
    func appLimit() throws {
        let access = try AliasAccess(device)
        for number in 0..<AliasAccess.mostApps { try access.setPermission(.denied, of: "app\(number)") }
        let error = #expect(throws: DeviceError.self) { try access.setPermission(.granted, of: "one-more") }
        #expect(error?.code == .tooManyDecisions)
        #expect(try access.all().count == AliasAccess.mostApps)
        try access.setPermission(.granted, of: "app0")
        #expect(try access.access(of: "app0").permission == .granted)
    }

    @Test("A damaged file of decisions is an error, and resetting the device removes it")
    func damaged() throws {
        let access = try AliasAccess(device)
        try access.setPermission(.granted, of: "app")
        try Data("{".utf8).write(to: URL(fileURLWithPath: device.folder + "/android/access"))
        let error = #expect(throws: FileError.self) { try access.all() }
        #expect(error?.code == .damagedFile)
        try device.reset()
        #expect(!FileManager.default.fileExists(atPath: device.folder + "/android"))
    }
}
