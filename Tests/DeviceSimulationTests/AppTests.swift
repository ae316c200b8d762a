import Foundation
import PrivateFiles
import SecretMemory
import TestSupport
import Testing

@testable import DeviceSimulation
@testable import SimulatedKeychain

@Suite("Apps, their extensions and their entitlements", .timeLimit(.minutes(10)))
struct AppTests {
    private let scratch: ScratchFolder
    private let device: Device

    init() throws {
        scratch = try ScratchFolder()
        device = try scratch.device()
    }

    @Test(
        "Entitlements that are deeply nested, too large, or contain too many groups are rejected immediately")
    func hostileEntitlements() throws {
        let deep = String(repeating: "<array>", count: 100_000)
        let hidden = "<!-- </array> -->" + String(repeating: "<array><!-- </array> -->", count: 2_000)
        let names = String(repeating: "<string>a</string>", count: 1_001)
        for text in [deep, hidden, "<dict>\(String(repeating: "<dict>", count: 64))"] {
            #expect(throws: DeviceError(.invalidEntitlements, path: "", "")) {
                try Entitlements(plist: Array("<plist>\(text)".utf8))
            }
        }
        let groups = "<plist><dict><key>keychain-access-groups</key><array>\(names)</array></dict></plist>"
        #expect(throws: DeviceError(.invalidEntitlements, path: "", "")) {
            try Entitlements(plist: Array(groups.utf8))
        }
        for count in [BoundedPropertyList.mostContainers, BoundedPropertyList.mostContainers + 1] {
            let nested = Data("<plist>\(String(repeating: "<array>", count: count))".utf8)
            #expect(BoundedPropertyList.isBounded(nested) == (count == BoundedPropertyList.mostContainers))
        }
        // UTF-16 encodes the tags in other octets.
        let wide = Array("\u{FEFF}<plist>\(deep.prefix(14_000))".utf16).flatMap {
            [UInt8($0 >> 8), UInt8($0 & 0xFF)]
        }
        #expect(throws: DeviceError(.invalidEntitlements, path: "", "")) { try Entitlements(plist: wide) }
    }

    @Test("An app whose group contains NUL has no keychain")
    func groupWithNUL() {
        let app = App(
            bundleIdentifier: "app", teamIdentifier: "T",
            entitlements: Entitlements(keychainAccessGroups: ["T.a\0b"]))
        #expect(throws: KeychainError(.param, "")) { try Keychain(device: device, app: app) }
        #expect(throws: KeychainError(.param, "")) {
            try Keychain(device: device, app: .provider).seen(by: app)
        }
    }

    /// A binary property list of these objects, with one offset for each object.
    private func binary(
        _ objects: [UInt8], offsets: [UInt8], unused: UInt8 = 0, count: UInt8, top: UInt8
    ) -> Data {
        let bytes = Array("bplist00".utf8) + objects
        func number(_ value: Int) -> [UInt8] { [UInt8](repeating: 0, count: 7) + [UInt8(value)] }
        let trailer =
            [unused, 0, 0, 0, 0, 0, 1, 1] + number(Int(count)) + number(Int(top)) + number(bytes.count)
        return Data(bytes + offsets + trailer)
    }

    @Test("An object of a binary property list must be inside the list, and the table inside the file")
    func binaryBounds() {
        #expect(BoundedPropertyList.isBounded(binary([0x09], offsets: [8], count: 1, top: 0)))
        // The table has one entry more than the file, an object is not in the table, or a text ends after the objects.
        for data in [
            binary([0x09], offsets: [8], unused: 8, count: 2, top: 0),
            binary([0x09], offsets: [8], unused: 8, count: 1, top: 1),
            binary([0x54, 0x61, 0x61], offsets: [8], count: 1, top: 0),
            binary([0x09], offsets: [9], count: 1, top: 0),
        ] {
            #expect(!BoundedPropertyList.isBounded(data))
        }
        // An offset has 1 to 8 bytes.
        for size in [0, 1, 8, 9] as [UInt8] {
            let offset = [UInt8](repeating: 0, count: Int(max(size, 1)) - 1) + [8]
            var data = binary([0x09], offsets: offset, count: 1, top: 0)
            data[data.count - 26] = size
            #expect(BoundedPropertyList.isBounded(data) == (1...8).contains(size))
        }
        let text = binary([0x54, 0x61, 0x61, 0x61, 0x61], offsets: [8], count: 1, top: 0)
        #expect(BoundedPropertyList.isBounded(text, largest: 5))
        #expect(!BoundedPropertyList.isBounded(text, largest: 4))
    }

    @Test("An object of a binary property list must be of a known kind, with its length inside the list")
    func binaryObjects() {
        func isBounded(_ objects: [UInt8]) -> Bool {
            BoundedPropertyList.isBounded(binary(objects, offsets: [8], count: 1, top: 0))
        }
        func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
        let shortLength: [UInt8] = [0x4F, 0x13] + zeros(7) + [1, 0x61]
        let longLength: [UInt8] = [0x4F, 0x14] + zeros(15) + [1, 0x61]
        // An integer has at most 16 bytes, and the length of data at most 8.
        #expect(isBounded([0x14] + zeros(16)) && !isBounded([0x15] + zeros(32)))
        #expect(isBounded(shortLength) && !isBounded(longLength))
        // The length is an integer, which is not larger than the list.
        #expect(isBounded([0x4F, 0x10, 1, 0x61]) && !isBounded([0x4F, 0x20, 1, 0x61]))
        #expect(!isBounded([0x4F, 0x13] + [UInt8](repeating: 0xFF, count: 8)) && !isBounded([0x4F]))
        // Integers, UTF-16 and lists end inside the list of objects.
        #expect(isBounded([0x11, 0, 1]) && !isBounded([0x11, 0]))
        #expect(isBounded([0x61, 0, 0x61]) && !isBounded([0x62, 0, 0x61]))
        #expect(isBounded([0xA0]) && !isBounded([0xA1]) && !isBounded([0xA1, 1]))
        // A mapping has a key and a value for each entry.
        let mapping = binary([0xD1, 1, 1, 0x09], offsets: [8, 11], count: 2, top: 0)
        #expect(BoundedPropertyList.isBounded(mapping) && !isBounded([0xD1, 0]))
        for kind in [0x90, 0xE0, 0xF0] as [UInt8] { #expect(!isBounded([kind]), "\(kind)") }
        // A list without a whole trailer.
        for count in [0, 31] {
            let data = Data(Array("bplist00".utf8) + [UInt8](repeating: 0, count: count))
            #expect(!BoundedPropertyList.isBounded(data))
        }
    }

    @Test("A property list whose strings have too many combining marks is rejected")
    func marks() {
        func xml(_ text: String) -> Data { Data("<plist><string>\(text)</string></plist>".utf8) }
        let half = BoundedPropertyList.mostMarks / 2
        let most = String(repeating: "\u{301}&#x316;", count: half)
        #expect(BoundedPropertyList.isBounded(xml(most)))
        #expect(!BoundedPropertyList.isBounded(xml(most + "<!-- -->\u{301}")))
        for count in [30, 31] as [UInt8] {
            let text = [0x6F, 0x10, count] + Array(repeating: [0x03, 0x01], count: Int(count)).joined()
            let list = binary(text, offsets: [8], count: 1, top: 0)
            #expect(BoundedPropertyList.isBounded(list) == (count == 30))
        }
    }

    @Test("Every list in XML is counted, even after a character that joins the next one")
    func joinedTags() {
        let text = String(repeating: "\u{600}<array>", count: BoundedPropertyList.mostContainers + 1)
        #expect(!BoundedPropertyList.isBounded(Data(text.utf8)))
    }

    @Test("A property list in XML is in UTF-8, and contains no NUL")
    func encodings() {
        for (text, isBounded) in [
            ("<plist/>", true), ("<?xml version=\"1.0\" encoding=\"UTF-8\"?><plist/>", true),
            ("<?xml version='1.0' encoding = 'utf-8'?><plist/>", true),
            ("<?xml version=\"1.0\" encoding=\"UTF-7\"?><plist/>", false), ("<plist>\0</plist>", false),
        ] {
            #expect(BoundedPropertyList.isBounded(Data(text.utf8)) == isBounded, "\(text)")
        }
        let size = Data("<plist/>".utf8).count
        #expect(BoundedPropertyList.isBounded(Data("<plist/>".utf8), largest: size))
        #expect(!BoundedPropertyList.isBounded(Data("<plist/>".utf8), largest: size - 1))
    }

    @Test("Only an extension of the same team, whose identifier begins with the app's, belongs to an app")
    func hosts() {
        let groups = Entitlements(applicationGroups: ["group.a"])
        func app(_ identifier: String, _ team: String = "T", _ kind: App.Kind = .application) -> App {
            App(bundleIdentifier: identifier, teamIdentifier: team, kind: kind, entitlements: groups)
        }
        let member = app("com.a.files", "T", .fileProvider)
        #expect(member.installed(with: app("com.a")).hostEntitlements == groups)
        for (member, host) in [
            (member, app("com.a", "OTHER")), (member, app("com.b")),
            (member, app("com.a", "T", .tokenExtension)),
            (app("com.a.files"), app("com.a")), (app("com.afiles", "T", .fileProvider), app("com.a")),
        ] {
            #expect(member.installed(with: host).hostEntitlements == nil)
        }
    }

    @Test("The provider's app and two extensions share a keychain group and an app group")
    func members() throws {
        let members = [App.provider, .providerFiles, .providerInterface]
        #expect(members.map(\.kind) == [.application, .fileProvider, .fileProviderInterface])
        let bundles = Set(members.map(\.bundleIdentifier))
        let applications = Set(members.map(\.applicationIdentifier))
        #expect(bundles.count == 3 && applications.count == 3)
        let identifier = App.provider.bundleIdentifier
        for member in members {
            #expect(member.bundleIdentifier.hasPrefix(identifier))
            #expect(member.teamIdentifier == App.provider.teamIdentifier)
        }
        try Keychain(device: device, app: members[0])
            .setPassword(SecretBytes(utf8: "shared"), service: "s", account: "a")
        for member in members {
            let keychain = try Keychain(device: device, app: member)
            #expect(try keychain.password(service: "s", account: "a")?.plain == "shared")
            let folder = try device.groupContainer(
                App.providerGroup, for: member)
            #expect(folder.hasPrefix(device.folder))
        }
        #expect(App.consumer.teamIdentifier != App.provider.teamIdentifier)
        #expect(Set(App.consumer.accessGroups).isDisjoint(with: members.flatMap(\.accessGroups)))
    }

    @Test("Only keychain groups of the app's team and application groups give access to items")
    func foreignGroups() {
        let app = App(
            bundleIdentifier: "com.example.app", teamIdentifier: "TEAM",
            entitlements: Entitlements(
                keychainAccessGroups: ["TEAM.shared", "OTHER.shared", "TEAMSTER.shared", "group.keychain"],
                applicationGroups: ["group.app", "TEAM.app", "OTHER.app"]))
        #expect(app.accessGroups == ["TEAM.shared", "TEAM.com.example.app", "group.app", "TEAM.app"])
    }

    @Test("If the app has the group's entitlement and the extension lacks it, the error reports this")
    func forgottenOnExtension() throws {
        let keychainGroup = App.provider.accessGroups[0]
        let group = App.providerGroup
        let forgetful = App.provider.member(.fileProvider, name: "files", entitlements: Entitlements())
        let keychain = try Keychain(device: device, app: forgetful)
        for group in [keychainGroup, group] {
            let error = #expect(throws: KeychainError.self) {
                try keychain.password(service: "s", account: "a", accessGroup: group)
            }
            #expect(error?.code == .missingEntitlement && error?.code.status == -34018)
            #expect(error?.gap == .onlyItsApp)
        }
        let error = #expect(throws: DeviceError.self) { try device.groupContainer(group, for: forgetful) }
        #expect(error?.code == .missingEntitlement(group) && error?.gap == .onlyItsApp)
    }

    @Test("No entitlement is missing for a group that the app has")
    func completeEntitlements() {
        #expect(App.providerFiles.gap(accessGroup: App.provider.accessGroups[0]) == nil)
        #expect(App.providerFiles.gap(applicationGroup: App.providerGroup) == nil)
    }

    @Test("A group in the entitlement that belongs to another team is no application group")
    func foreignApplicationGroup() {
        let app = App(
            bundleIdentifier: "com.example.app", teamIdentifier: "TEAM",
            entitlements: Entitlements(applicationGroups: ["TEAM.app", "OTHER.app"]))
        #expect(app.gap(applicationGroup: "TEAM.app") == nil)
        #expect(app.gap(applicationGroup: "OTHER.app") == .noApplicationGroup)
    }

    @Test("If both the app and the extension lack the group, the error mentions no missing entitlement")
    func foreignGroup() throws {
        for app in [App.provider, .providerFiles] {
            let error = #expect(throws: KeychainError.self) {
                try Keychain(device: device, app: app).identities(accessGroup: App.consumer.accessGroups[0])
            }
            #expect(error?.code == .missingEntitlement && error?.gap == nil)
        }
    }

    @Test("An extension records the entitlements of its host app when both are installed")
    func installedWith() throws {
        var host = App.provider
        host.entitlements = Entitlements(keychainAccessGroups: ["PRVD000001.new"])
        var member = App.providerFiles
        member.entitlements = Entitlements()
        #expect(member.installed(with: host).hostEntitlements == host.entitlements)
        for other in [App.consumer, .providerInterface, .providerFiles] {
            #expect(member.installed(with: other) == member)
        }
        #expect(App.provider.installed(with: host) == .provider)
    }

    @Test(
        "The token extension accesses only its own group, and the consumer cannot add to the token group"
    )
    func tokens() throws {
        #expect(
            App.providerToken.accessGroups == [App.tokenGroup, App.providerToken.applicationIdentifier])
        #expect(App.provider.accessGroups.contains(App.tokenGroup))
        #expect(!App.providerToken.kind.mayUsePasteboard)
        #expect(App.consumer.accessGroups.last == Entitlements.tokenGroup)
        #expect(!App.consumer.writableAccessGroups.contains(Entitlements.tokenGroup))
        let keychain = try Keychain(device: device, app: .consumer)
        #expect(throws: KeychainError.self) {
            try keychain.add(
                NewItem.key(SecretBytes(utf8: "k"), label: "l").with(accessGroup: Entitlements.tokenGroup))
        }
    }

    @Test("Entitlements are read from a property list like the one in an app's signature")
    func plist() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0"><dict>
            <key>get-task-allow</key><true/>
            <key>keychain-access-groups</key><array><string>T.a</string><string>com.apple.token</string></array>
            <key>com.apple.security.application-groups</key><array><string>group.a</string></array>
            </dict></plist>
            """
        let entitlements = try Entitlements(plist: Array(text.utf8))
        #expect(
            entitlements
                == Entitlements(
                    keychainAccessGroups: ["T.a", "com.apple.token"], applicationGroups: ["group.a"]))
        #expect(entitlements.mayUseTokens && !App.provider.entitlements.mayUseTokens)
        for entitlements in [entitlements, Entitlements(), App.provider.entitlements] {
            #expect(try Entitlements(plist: entitlements.plist()) == entitlements)
        }
    }

    @Test(
        "Bytes that are not a property list of groups are rejected as entitlements",
        arguments: [
            "", "nonsense", "<plist><array/></plist>",
            "<plist><dict><key>keychain-access-groups</key><string>a</string></dict></plist>",
            "<plist><dict><key>keychain-access-groups</key><array><true/></array></dict></plist>",
        ])
    func badPlist(text: String) {
        #expect(throws: DeviceError(.invalidEntitlements, path: "", "")) {
            try Entitlements(plist: Array(text.utf8))
        }
    }

    @Test(
        "A group name that is not a valid folder name is rejected, and the error names it",
        arguments: ["", "../../evil", "a/b", ".hidden", ".", "group.\0a", String(repeating: "g", count: 256)])
    func badName(name: String) throws {
        for entitlements in [
            Entitlements(keychainAccessGroups: ["T.a", name]), Entitlements(applicationGroups: [name]),
        ] {
            // Binary, because XML cannot contain a NUL.
            let encoder = PropertyListEncoder()
            encoder.outputFormat = .binary
            let plist = [UInt8](try encoder.encode(entitlements))
            let error = #expect(throws: DeviceError.self) { try Entitlements(plist: plist) }
            #expect(error?.code == .invalidGroupName)
            #expect(
                error?.reason.contains("\u{201C}\(name.prefix(64))\u{201D}") == true, "\(error?.reason ?? "")"
            )
        }
        let longest = Entitlements(applicationGroups: [String(repeating: "g", count: 255)])
        #expect(try Entitlements(plist: longest.plist()) == longest)
    }

    @Test(
        "A property list at the limits of size and containers is accepted, and one above either limit is rejected"
    )
    func propertyListLimits() {
        func isAccepted(_ text: String) -> Bool { BoundedPropertyList.isBounded(Data(text.utf8)) }
        let filling = String(repeating: " ", count: BoundedPropertyList.largest)
        #expect(isAccepted(filling))
        #expect(!isAccepted(filling + " "))
        let containers =
            String(repeating: "<array/>", count: BoundedPropertyList.mostContainers - 1) + "<dict/>"
        #expect(isAccepted(containers))
        #expect(!isAccepted(containers + "<array/>"))
    }

    @Test("In a binary property list, repetitions of an object count toward the limits")
    func binaryPropertyListLimits() throws {
        func binary(_ value: Any) throws -> Data {
            try PropertyListSerialization.data(fromPropertyList: value, format: .binary, options: 0)
        }
        let most = BoundedPropertyList.mostContainers
        for (count, isAccepted) in [(most - 1, true), (most, false)] {
            let lists = (0..<count).map { [$0] }
            #expect(BoundedPropertyList.isBounded(try binary(lists)) == isAccepted)
        }
        let values: [String: Any] = [
            "data": Data(count: 300), "date": Date(), "integer": 7, "list": ["a", "b"], "real": 1.5,
            "text": "\u{E9}", "truth": true,
        ]
        #expect(BoundedPropertyList.isBounded(try binary(values)))
        // Each list contains the next one fifteen times.
        #expect(!BoundedPropertyList.isBounded(Self.repeating(lists: 60, times: 15, Array("x".utf8))))
        // One text is contained many times.
        let text = [UInt8](repeating: 0x61, count: 14)
        #expect(BoundedPropertyList.isBounded(Self.repeating(lists: 1, times: 14, text)))
        #expect(!BoundedPropertyList.isBounded(Self.repeating(lists: 3, times: 14, text), largest: 30_000))
        // A list contains itself, and the trailer is damaged.
        #expect(!BoundedPropertyList.isBounded(Self.repeating(lists: 1, times: 1, [], firstReference: 0)))
        let sound = Self.repeating(lists: 2, times: 2, text)
        for index in sound.indices.suffix(32) where sound[index] != 0xFF {
            var damaged = sound
            damaged[index] = 0xFF
            _ = BoundedPropertyList.isBounded(damaged)
        }
    }

    /// A binary property list: lists that each contain the next one, and the last one a text, several times.
    private static func repeating(
        lists: Int, times: Int, _ text: [UInt8], firstReference: UInt8 = 1
    ) -> Data {
        var (bytes, offsets) = (Array("bplist00".utf8), [UInt8]())
        for number in 0..<lists {
            offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
            bytes += [0xAF, 0x10, UInt8(times)]
            bytes += [UInt8](repeating: number == 0 ? firstReference : UInt8(number + 1), count: times)
        }
        offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
        bytes += [0x50 | UInt8(text.count)] + text
        let table = bytes.count
        func long(_ value: Int) -> [UInt8] { [0, 0, 0, 0, 0, 0, UInt8(value >> 8), UInt8(value & 0xFF)] }
        return Data(bytes + offsets + [0, 0, 0, 0, 0, 0, 2, 1] + long(lists + 1) + long(0) + long(table))
    }
}
