import DeviceSimulation
import Foundation
import KeyShareServer
import KeyShareWire
import KeySharing
import OpenSSL
import SecretMemory
import TestSupport
import Testing

@testable import KeyShareProvider
@testable import TestCredentials

@Suite("Service faults")
struct ServiceFaultTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let now = Date(timeIntervalSince1970: 1_790_000_000)

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
    }

    /// A provider with a fault, over one identity.
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

    @Test("There are 19 faults with names and explanations of their own, and each changes something")
    func list() {
        let faults = ServiceFault.allCases
        #expect(faults.count == 19)
        #expect(Set(faults.map(\.name)).count == 19)
        #expect(Set(faults.map(\.explanation)).count == 19)
        #expect(faults.compactMap(\.connection).count == 9)
        #expect(faults.compactMap(\.password).count == 2)
    }

    @Test("Eight faults cut the reply to a request of the 2025 mechanism")
    func cuts() {
        let cut = ServiceFault.allCases.compactMap { fault -> Wire.MessageType? in
            if case .cut(let reply)? = fault.connection { reply } else { nil }
        }
        #expect(
            Set(cut) == [
                .welcome, .page, .itemReply, .servicesReply, .granted, .chunk, .password, .stopped,
            ])
    }

    @Test("A fault is stored by its name and read back", arguments: ServiceFault.allCases)
    func coding(fault: ServiceFault) throws {
        let text = try JSONEncoder().encode([fault])
        #expect(String(decoding: text, as: UTF8.self) == "[\"\(fault.name)\"]")
        #expect(try JSONDecoder().decode([ServiceFault].self, from: text) == [fault])
    }

    @Test("An unknown name is no fault")
    func unknown() {
        #expect(ServiceFault(rawValue: "everything") == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([ServiceFault].self, from: Data(#"["everything"]"#.utf8))
        }
    }

    @Test(
        "Faults of the services change their names",
        arguments: [("no-service", 0), ("other-services-first", 4)])
    func services(name: String, count: Int) async throws {
        let (provider, label) = try await faulty(name)
        let services = try await provider.services(for: label)
        #expect(services.count == count)
        #expect(services.firstIndex(of: PasswordService.name) == (count == 0 ? nil : 2))
    }

    @Test("A provider without services has no password either for a consumer that never looks for them")
    func noService() async throws {
        let (provider, label) = try await faulty("no-service")
        #expect(throws: ProviderFailure(.notAvailable, "")) { try provider.password(for: label) }
    }

    @Test("Faults of the password answer with none, with an error or with another one")
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

    @Test("A truncated item has the first half of its bytes")
    func truncated() async throws {
        let (provider, label) = try await faulty("truncated-item")
        let bytes = try await provider.content(of: label)
        #expect(try await provider.item(label).size.map { $0 / 2 } == bytes.count)
    }

    @Test("A rotation between fetch and read leaves grants, and makes the fetched password wrong")
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
