import DeviceSimulation
import Foundation
import KeyShareProtocol
import KeyShareServer
import KeyShareWire
import KeySharing
import OpenSSL
import SecretMemory
import TestSupport
import Testing

@testable import KeyShareProvider
@testable import TestCredentials

@Suite("Service faults", .timeLimit(.minutes(10)))
struct ServiceFaultTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let now = Date(timeIntervalSince1970: 1_790_000_000)

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
    }

    /// Creates a provider with a fault and one identity, and returns the identity's label.
    private func faulty(_ name: String) async throws -> (provider: FaultyProvider, label: String) {
        let made = try await Provisioner(store).run(
            ProvisioningRequest(
                personCount: 1, types: [.signature], generations: 1, algorithm: .p256, date: now),
            from: .system)
        let fault = try #require(ServiceFault(rawValue: name))
        let provider = try Provider(
            store, profile: .modern, fixedPassword: fault.password, now: { [now] in now },
            putOnPasteboard: { _ in })
        return (FaultyProvider(provider, fault: fault, sleep: { _ in }), try #require(made.made.first?.label))
    }

    @Test("Each of the 19 faults has a unique name and explanation")
    func list() {
        let faults = ServiceFault.allCases
        #expect(faults.count == 19)
        let (names, explanations) = (Set(faults.map(\.name)), Set(faults.map(\.explanation)))
        #expect(names.count == 19 && explanations.count == 19)
        #expect(faults.compactMap(\.connection).count == 9)
        #expect(faults.compactMap(\.password).count == 2)
    }

    @Test("Eight faults end the connection, each in the middle of a different reply of the 2025 mechanism")
    func cuts() {
        let cut = ServiceFault.allCases.compactMap { fault -> Wire.MessageType? in
            if case .cut(let reply)? = fault.connection { reply } else { nil }
        }
        #expect(
            Set(cut) == [
                .welcome, .page, .itemReply, .servicesReply, .granted, .chunk, .password, .stopped,
            ])
    }

    @Test("A fault is encoded by its name and decoded again", arguments: ServiceFault.allCases)
    func coding(fault: ServiceFault) throws {
        let text = try JSONEncoder().encode([fault])
        #expect(String(decoding: text, as: UTF8.self) == "[\"\(fault.name)\"]")
        #expect(try JSONDecoder().decode([ServiceFault].self, from: text) == [fault])
    }

    @Test("Decoding an unknown fault name fails")
    func unknown() {
        #expect(ServiceFault(rawValue: "everything") == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([ServiceFault].self, from: Data(#"["everything"]"#.utf8))
        }
    }

    @Test(
        "Service faults change the names of the services",
        arguments: [("no-service", 0), ("other-services-first", 4)])
    func services(name: String, count: Int) async throws {
        let (provider, label) = try await faulty(name)
        let services = try await provider.services(for: label)
        #expect(services.count == count)
        #expect(services.firstIndex(of: PasswordService.name) == (count == 0 ? nil : 2))
    }

    @Test("A provider without services rejects password requests")
    func noService() async throws {
        let (provider, label) = try await faulty("no-service")
        #expect(throws: ProviderFailure(.notAvailable, "")) { try provider.password(for: label) }
    }

    @Test("Password faults return no password, an error or a different password")
    func passwords() async throws {
        let (neither, label) = try await faulty("neither")
        #expect(try neither.password(for: label).isEmpty)
        let failing = try await faulty("error").provider
        #expect(throws: ProviderFailure(.serviceFailed, "")) { try failing.password(for: label) }
        let wrong = try await faulty("wrong-password").provider
        #expect(try wrong.password(for: label) != store.servicePassword.read())
        for name in ["quote-password", "non-ascii-password"] {
            let (provider, label) = try await faulty(name)
            let bytes = try await provider.content(of: label)
            let password = try provider.password(for: label)
            #expect(password == ServiceFault(rawValue: name)?.password)
            #expect(try PKCS12.read(bytes, password: .text(password)).identities.count == 1)
        }
    }

    @Test("A truncated item contains the first half of its bytes")
    func truncated() async throws {
        let (provider, label) = try await faulty("truncated-item")
        let bytes = try await provider.content(of: label)
        #expect(try await provider.item(label).size.map { $0 / 2 } == bytes.count)
    }

    @Test(
        "An export has the provider's expected cost, unless the fault delays it or rotates the password",
        arguments: [
            ("truncated-item", true), ("neither", true), ("slow", false), ("password-rotated", false),
        ])
    func expectedCost(name: String, isKnown: Bool) async throws {
        let (provider, label) = try await faulty(name)
        guard case .needsExport(let cost) = try await provider.contentState(of: label) else {
            Issue.record("the item was not exported yet")
            return
        }
        #expect((cost.sharedName != nil) == isKnown)
        #expect((cost.bytes > 0) == isKnown)
    }

    @Test("A rotation between fetch and read keeps grants, and invalidates the fetched password")
    func rotated() async throws {
        let (provider, label) = try await faulty("password-rotated")
        let period = try provider.grantPeriod()
        let password = try provider.password(for: label)
        let bytes = try await provider.content(of: label)
        #expect(try provider.grantPeriod() == period)
        let error = #expect(throws: PKCS12Error.self) {
            try PKCS12.read(bytes, password: .text(password))
        }
        #expect(error?.code == .wrongPassword)
    }
}
