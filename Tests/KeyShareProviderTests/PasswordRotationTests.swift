import SecretMemory
@testable import TestCredentials
import DeviceSimulation
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import TestSupport
import Testing

@Suite("A provider whose password another process rotates")
struct PasswordRotationTests {
    @Test("serves the new password and new bytes from the next question on, and the old open nothing")
    func rotated() async throws {
        let scratch = try ScratchFolder()
        let store = try ProviderStore(try Device(folder: scratch.path("device")))
        var random = SystemRandomNumberGenerator()
        let now = Date(timeIntervalSince1970: 1_790_000_000)
        let made = try await Provisioner(store).run(
            ProvisioningRequest(
                persons: [TestPerson(using: &random)], types: [.signature], generations: 1, algorithm: .p256,
                date: now), from: .system)
        let label = try #require(made.made.first?.label)
        let provider = try Provider(store, profile: .modern, now: { now }, putOnPasteboard: { _ in })
        let oldPassword = try provider.password(for: label)
        let oldBytes = try await provider.content(of: label)

        // As another process does: through a store of its own.
        try ProviderStore(try Device(folder: scratch.path("device"))).rotateServicePassword()

        // Fetched before and read after: the consumer's typed error is the wrong password.
        let newBytes = try await provider.content(of: label)
        let newPassword = try provider.password(for: label)
        #expect(newPassword != oldPassword)
        func open(_ bytes: [UInt8], _ password: SecretBytes) throws -> Int {
            try PKCS12.read(bytes, password: .text(password)).identities.count
        }
        #expect(try open(newBytes, newPassword) == 1)
        let wrong = #expect(throws: PKCS12Error.self) { try open(newBytes, oldPassword) }
        #expect(wrong?.code == .wrongPassword)
        let void = #expect(throws: PKCS12Error.self) { try open(oldBytes, newPassword) }
        #expect(void?.code == .wrongPassword)
    }

    @Test("takes it over without a question when it is told")
    func told() throws {
        let scratch = try ScratchFolder()
        let store = try ProviderStore(try Device(folder: scratch.path("device")))
        let provider = try Provider(store, profile: .modern, now: { Date() }, putOnPasteboard: { _ in })
        let old = try provider.password(for: "x")
        try store.rotateServicePassword()
        #expect(try provider.password(for: "x") == old)
        try provider.refresh()
        #expect(try provider.password(for: "x") != old)
    }
}
