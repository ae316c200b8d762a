import Diagnostics
import KeyShareClient
import KeyShareProtocol
import KeyShareWire
import SecretMemory
import DeviceSimulation
import Foundation
import KeySharing
import OpenSSL
import SimulatedKeychain
import TestSupport
import Synchronization
import Testing
import ZipBundles

@testable import KeyShareConsumer

@Suite("Importer", .timeLimit(.minutes(10)))
struct ImporterTests {
    private let scratch: ScratchFolder
    private let store: ConsumerStore

    init() throws {
        scratch = try ScratchFolder()
        store = try ConsumerStore(try Device(folder: scratch.path("device")))
    }

    private let password = SecretBytes(utf8: "password")

    private func archive(_ entries: [(name: String, bytes: [UInt8])]) throws -> [UInt8] {
        try ZipBundle.create(entries, modified: Date(timeIntervalSince1970: 1_700_000_000))
    }

    private func importItem(_ provider: StandInProvider) async throws -> [ImportResult] {
        let importer = Importer(store)
        return try await provider.serving { client in
            await importer.importItem(StandInProvider.item, from: client)
        }
    }

    @Test("An import selects the password service by its name, not by its position")
    func serviceByName() async throws {
        let identity = try TestIdentity("a")
        for services in [
            [PasswordService.name], ["other", PasswordService.name], [PasswordService.name, "other"],
        ] {
            let results = try await importItem(
                StandInProvider(services: services, content: .success(try identity.file())))
            #expect(results.compactMap(\.identity?.label) == [identity.certificate.label])
        }
    }

    @Test(
        "An import fails if no service has the right name, even if there are other services",
        arguments: [[], ["other"]])
    func noService(services: [String]) async throws {
        let results = try await importItem(StandInProvider(services: services))
        #expect(results.map { $0.error as? ImportError } == [ImportError(.noPasswordService, "")])
    }

    @Test("If the password service fails, an import reports its error and imports nothing")
    func noPassword() async throws {
        let provider = StandInProvider(secret: .failure(ProviderFailure(.serviceFailed, "no password")))
        let results = try await importItem(provider)
        #expect((results.first?.error as? ProviderFailure)?.code == .serviceFailed)
        #expect(try store.identities().isEmpty)
    }

    @Test("An import restarts once if its grant ends because the password was replaced")
    func rotation() async throws {
        let identity = try TestIdentity("a")
        var provider = StandInProvider(content: .success(try identity.file()))
        provider.rotations = 1
        #expect(try await importItem(provider).compactMap(\.identity?.label) == [identity.certificate.label])
        provider = StandInProvider(content: .success(try identity.file()))
        provider.rotations = 100
        let error = try await importItem(provider).first?.error as? ProviderFailure
        #expect(error?.code == .notAvailable)
    }

    @Test("An import is repeated only if the item or its grant no longer exists, and only once")
    func repetitions() async throws {
        for (code, count) in [(ProviderFailure.Code.serviceFailed, 1), (.notAvailable, 2)] {
            let attempts = Mutex(0)
            var provider = StandInProvider(secret: .failure(ProviderFailure(code, "x")))
            provider.beforePassword = { attempts.withLock { $0 += 1 } }
            _ = try await importItem(provider)
            #expect(attempts.withLock(\.self) == count)
        }
    }

    @Test("The error for a wrong password from the password service names the service")
    func wrongPassword() async throws {
        let provider = StandInProvider(
            content: .success(try TestIdentity("a").file()), secret: .success(SecretBytes(utf8: "other")))
        let error = try await importItem(provider).first?.error as? ImportError
        #expect(error?.code == .servicePassword)
    }

    @Test("An empty answer of the password service is named, and opens a file with an empty password")
    func emptyAnswer() async throws {
        let identity = try TestIdentity("a")
        let locked = StandInProvider(
            content: .success(try identity.file()), secret: .success(SecretBytes([])))
        #expect(try await (importItem(locked).first?.error as? ImportError)?.code == .emptyAnswer)
        let open = StandInProvider(
            content: .success(try identity.file(password: "")), secret: .success(SecretBytes([])))
        #expect(try await importItem(open).map(\.identity?.label) == [identity.certificate.label])
    }

    @Test("After a timeout, an import sends no further request")
    func timeout() async throws {
        var provider = StandInProvider()
        let gate = Gate()
        provider.gate = gate
        var limits = ProviderClient.Limits()
        limits.reply = .seconds(2)
        let importer = Importer(store)
        try await provider.serving(limits: limits) { client in
            let results = await importer.importItem(StandInProvider.item, from: client)
            #expect(results.count == 1 && results.first?.error != nil)
            // The item is still accessible, because no request has ended the access.
            let password = try await client.fetchPassword(for: StandInProvider.item.identifier)
            #expect(password == StandInProvider.password)
            gate.open()
        }
    }

    @Test("An import stops accessing the item, whether it succeeds or fails")
    func stopsAccessing() async throws {
        let file = try TestIdentity("a").file()
        let providers = [
            StandInProvider(content: .success(file)), StandInProvider(services: []),
            StandInProvider(content: .failure(ProviderFailure(.serviceFailed, "x"))),
            StandInProvider(secret: .failure(ProviderFailure(.serviceFailed, "x"))),
        ]
        let importer = Importer(store)
        for provider in providers {
            try await provider.serving { client in
                _ = await importer.importItem(StandInProvider.item, from: client)
                await #expect(throws: ProviderFailure.self) {
                    try await client.fetchPassword(for: StandInProvider.item.identifier)
                }
            }
        }
    }

    @Test("An import reads every entry of a zip, including entries longer than any read buffer")
    func largeEntries() async throws {
        let chain = try (0..<60).map { try TestIdentity("authority \($0)").certificate }
        let identities = try (0..<3).map { try TestIdentity("\($0)") }
        let files = try identities.map { try $0.file(chain: chain) }
        #expect(files.allSatisfy { $0.count > 16 << 10 })
        let bytes = try archive(files.enumerated().map { ("\($0.offset).p12", $0.element) })
        let results = await Importer(store).importFile(bytes, named: "All.zip", password: password)
        #expect(results.map(\.identity?.label) == identities.map(\.certificate.label))
        #expect(results.map(\.entry) == ["0.p12", "1.p12", "2.p12"])
    }

    @Test("A malformed entry of a zip is reported by name, and all other entries are imported")
    func badEntry() async throws {
        let good = try ["a", "b"].map { try TestIdentity($0) }
        let bytes = try archive([
            ("a.p12", try good[0].file()), ("broken.p12", Array("garbage".utf8)),
            ("other.p12", try TestIdentity("c").file(password: "another")), ("b.p12", try good[1].file()),
        ])
        let results = await Importer(store).importFile(bytes, named: "All.zip", password: password)
        #expect(results.map(\.entry) == ["a.p12", "broken.p12", "other.p12", "b.p12"])
        #expect(results.map { $0.identity != nil } == [true, false, false, true])
        guard case .malformed? = (results[1].error as? PKCS12Error)?.code else {
            Issue.record("a broken entry is malformed")
            return
        }
        #expect((results[2].error as? PKCS12Error)?.code == .wrongPassword)
        #expect(try Set(store.identities().map(\.summary.label)) == Set(good.map(\.certificate.label)))
    }

    @Test("Entries of a zip with the same name are all imported, and the later ones are marked")
    func repeatedNames() async throws {
        let identities = try ["a", "b", "c"].map { try TestIdentity($0) }
        let files = try [
            identities[0].file(password: "another"), identities[1].file(),
            identities[2].file(password: "another"),
        ]
        let names = ["a.p12", "b.p12", "c.p12"]
        let bytes = try archive(zip(names, files).map { ($0, $1) })
            .replacing(Array("b.p12".utf8), with: Array("A.p12".utf8))
            .replacing(Array("c.p12".utf8), with: Array("a.p12".utf8))
        let importer = Importer(store)
        let results = await importer.importFile(bytes, named: "All.zip", password: password)
        #expect(results.map(\.entry) == ["a.p12", "A.p12", "a.p12"])
        #expect(results.map(\.repeatsName) == [false, true, true])
        #expect(results.map { $0.identity != nil } == [false, true, false])
        // A second password opens the two other entries, each once.
        let (retried, _, _) = await importer.importFile(
            bytes, named: "All.zip", trying: [password, SecretBytes(utf8: "another")])
        #expect(retried.map(\.identity?.label) == identities.map(\.certificate.label))
        #expect(retried.map(\.position) == [0, 1, 2])
    }

    @Test("An import of an empty archive fails, because there is nothing to import")
    func emptyArchive() async throws {
        let results = await Importer(store).importFile(
            try archive([]), named: "Device.zip", password: password)
        #expect(results.map { $0.error as? ImportError } == [ImportError(.nothingToImport, "")])
    }

    @Test("An import reports the zip entries that it skips")
    func skippedEntries() async throws {
        let identity = try TestIdentity("a")
        // Replaces names in the headers with names of the same length.
        var bytes = try archive([("a.p12", try identity.file()), ("f1.p12", []), ("g234567890.p12", [])])
        for (name, odd) in [("f1.p12", "older/"), ("g234567890.p12", "__MACOSX/._a.p")] {
            bytes = bytes.replacing(Array(name.utf8), with: Array(odd.utf8))
        }
        let results = await Importer(store).importFile(bytes, named: "All.zip", password: password)
        #expect(results.map(\.entry) == ["a.p12", "older/", "__MACOSX/._a.p"])
        #expect(results.map { $0.identity != nil } == [true, false, false])
        let reasons = results.compactMap { result in
            if case .skipped(let reason) = result.outcome { reason } else { nil }
        }
        #expect(reasons == [.folder, .macOSAttributes])
        #expect(results.allSatisfy { $0.error == nil })
    }

    @Test("An identity that is already in the keychain is a duplicate, even within one import")
    func duplicates() async throws {
        let identity = try TestIdentity("a")
        let bytes = try archive([("a.p12", try identity.file()), ("b.p12", try identity.file())])
        let importer = Importer(store)
        for expected in [[false, true], [true, true]] {
            let results = await importer.importFile(bytes, named: "All.zip", password: password)
            let duplicates = results.map { result in
                if case .duplicate = result.outcome { true } else { false }
            }
            #expect(duplicates == expected)
        }
        #expect(try store.identities().count == 1)
    }

    @Test(
        "An import stores key and certificate unchanged, and they are usable while the device has a passcode")
    func faithful() async throws {
        let identity = try TestIdentity("a")
        _ = await Importer(store).importFile(try identity.file(), named: "a.p12", password: password)
        let held = try #require(try store.identities().first)
        #expect(held.certificate.der == identity.certificate.der)
        #expect(held.accessibility == .whenPasscodeSetThisDeviceOnly)
        #expect(try store.privateKey(of: held.summary.label).pkcs8() == identity.privateKey.pkcs8())
    }

    @Test("Passwords are tried in order, and identities that one of them opened remain imported")
    func passwords() async throws {
        let identities = try ["a", "b", "c"].map { try TestIdentity($0) }
        let bytes = try archive([
            ("a.p12", try identities[0].file(password: "one")),
            ("b.p12", try identities[1].file(password: "two")),
            ("c.p12", try identities[2].file(password: "three")),
        ])
        let (one, two) = (SecretBytes(utf8: "one"), SecretBytes(utf8: "two"))
        let (results, opened, _) = await Importer(store).importFile(
            bytes, named: "All.zip", trying: [nil, one, two])
        #expect(results.map(\.entry) == ["a.p12", "b.p12", "c.p12"])
        #expect(results.map { $0.identity != nil } == [true, true, false])
        #expect((results[2].error as? PKCS12Error)?.code == .wrongPassword)
        #expect(opened == two)
        #expect(try store.identities().count == 2)
    }

    @Test("No further password is requested once all entries are open")
    func noFurtherPassword() async throws {
        let file = try TestIdentity("a").file()
        let asked = sequence(state: 0) { step -> SecretBytes?? in
            step += 1
            guard step == 1 else {
                Issue.record("a second password was requested")
                return nil
            }
            return SecretBytes(utf8: "password")
        }
        let (results, opened, tried) = await Importer(store).importFile(file, named: "a.p12", trying: asked)
        #expect(results.map { $0.identity != nil } == [true])
        #expect(opened == SecretBytes(utf8: "password") && tried == opened)
    }
}
