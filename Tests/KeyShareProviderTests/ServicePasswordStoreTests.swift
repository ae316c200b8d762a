import DeviceSimulation
import Foundation
import KeySharing
import OpenSSL
import SecretMemory
import SimulatedKeychain
import TestSupport
import Testing

@testable import KeyShareProvider
@testable import TestCredentials

@Suite("Service password", .timeLimit(.minutes(10)))
struct ServicePasswordStoreTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let store: ProviderStore
    private let now = Date(timeIntervalSince1970: 1_790_000_000)

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
        store = try ProviderStore(device)
    }

    private func provider(fixedPassword: SecretBytes? = nil) throws -> Provider {
        try Provider(
            store, profile: .modern, fixedPassword: fixedPassword, now: { [now] in now },
            putOnPasteboard: { _ in })
    }

    private func text(_ password: SecretBytes) -> String {
        unsafe password.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    @Test("A service password has 32 printable characters, a legacy one 20 letters and digits")
    func alphabets() {
        var random = Seed("alphabets").generator()
        for _ in 0..<200 {
            let service = text(ServicePasswordStore.makePassword(using: &random))
            #expect(service.count == 32)
            #expect(service.utf8.allSatisfy { (0x21...0x7E).contains($0) })
            let legacy = text(ServicePasswordStore.makeLegacyPassword(using: &random))
            #expect(legacy.count == 20)
            #expect(legacy.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) })
        }
    }

    @Test("Service passwords use the whole alphabet and never repeat")
    func variety() {
        var random = Seed("variety").generator()
        let passwords = (0..<200).map { _ in text(ServicePasswordStore.makePassword(using: &random)) }
        #expect(Set(passwords).count == passwords.count)
        #expect(Set(passwords.joined()).count == 94)
    }

    @Test("A fixed password that is replaced ends all grants, and the same password does not")
    func replacedFixedPassword() throws {
        let first = SecretBytes(utf8: "first")
        let password = CurrentServicePassword(store.servicePassword, fixed: first)
        let rotations = password.rotations
        password.replaceFixed(first)
        #expect(try password.password() == first && password.rotations == rotations)
        password.replaceFixed(SecretBytes([]))
        #expect(try password.password().isEmpty && password.rotations == rotations + 1)
        password.replaceFixed(nil)
        #expect(try password.password() == store.servicePassword.read())
        #expect(password.rotations == rotations + 2)
    }

    @Test("A provider that follows a profile with an empty password returns it, and ends all grants")
    func followedProfile() throws {
        let provider = try provider()
        let period = try provider.grantPeriod()
        #expect(try !provider.password(for: "a").isEmpty)
        provider.follow(root: .all, profile: PKCS12Profile(.emptyPassword), friendlyName: nil)
        #expect(try provider.password(for: "a").isEmpty)
        #expect(try provider.grantPeriod() != period)
    }

    @Test("The service password is created once and kept")
    func kept() throws {
        let password = try store.servicePassword.read()
        #expect(try store.servicePassword.read() == password)
        #expect(try ProviderStore(device).servicePassword.read() == password)
    }

    @Test("Rotating the service password and clearing the keychain notify observers")
    func told() async throws {
        let old = try store.servicePassword.read()
        var observer = try Notifications(device: device).observe(.passwordChanged)
            .makeAsyncIterator()
        try store.servicePassword.rotate()
        #expect(await observer.next() != nil)
        #expect(try store.servicePassword.read() != old)
        _ = try store.removeAll()
        #expect(await observer.next() != nil)
    }

    @Test("After another process rotates the password, only the new password opens new files")
    func rotated() async throws {
        let made = try await Provisioner(store).run(
            ProvisioningRequest(
                personCount: 1, types: [.signature], generations: 1, algorithm: .p256, date: now),
            from: .system)
        let label = try #require(made.made.first?.label)
        let provider = try provider()
        let oldPassword = try provider.password(for: label)
        let oldBytes = try await provider.content(of: label)

        // A separate store has the same state as another process.
        try ProviderStore(try Device(folder: scratch.path("device"))).servicePassword.rotate()

        let newBytes = try await provider.content(of: label)
        let newPassword = try provider.password(for: label)
        #expect(newPassword != oldPassword)
        func open(_ bytes: [UInt8], _ password: SecretBytes) throws -> Int {
            try PKCS12.read(bytes, password: .text(password)).identities.count
        }
        #expect(try open(newBytes, newPassword) == 1)
        let newFile = #expect(throws: PKCS12Error.self) { try open(newBytes, oldPassword) }
        #expect(newFile?.code == .wrongPassword)
        let oldFile = #expect(throws: PKCS12Error.self) { try open(oldBytes, newPassword) }
        #expect(oldFile?.code == .wrongPassword)
    }

    @Test("A provider uses a rotated password after it is notified, and its grants end")
    func refreshed() throws {
        let provider = try provider()
        let old = try provider.password(for: "x")
        let period = try provider.grantPeriod()
        try store.servicePassword.rotate()
        #expect(try provider.password(for: "x") == old)
        try provider.refresh()
        #expect(try provider.password(for: "x") != old)
        #expect(try provider.grantPeriod() == period + 1)
    }

    @Test("A fixed password and its grants stay valid through rotations and restarts")
    func fixed() throws {
        let password = SecretBytes(utf8: "fixed")
        let provider = try provider(fixedPassword: password)
        let period = try provider.grantPeriod()
        try store.servicePassword.rotate()
        try provider.refresh()
        #expect(try provider.password(for: "x") == password)
        #expect(try provider.grantPeriod() == period)
        try device.restart()
        provider.followDeviceState()
        try device.unlock()
        #expect(try provider.password(for: "x") == password)
    }

    @Test("Reading a password again after the cache dropped it does not count as a rotation")
    func forgotten() throws {
        let password = CurrentServicePassword(store.servicePassword, fixed: nil)
        try password.refresh(generation: store.changeCount())
        let old = try password.password()
        password.forget()
        #expect(try password.password() == old)
        try store.servicePassword.rotate()
        #expect(try password.password() != old)
        try password.refresh(generation: store.changeCount())
        #expect(password.rotations == 0)
    }
}
