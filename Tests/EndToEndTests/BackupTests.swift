import CommandSupport
import DeviceSimulation
import Foundation
import Glibc
import KeyShareProvider
import KeyShareProviderCommand
import OpenSSL
import PrivateFiles
import SimulatedKeychain
import TestSupport
import Testing

@Suite("Backup and restore", .timeLimit(.minutes(10)))
struct BackupCommandTests {
    private let simulation: Simulation
    private var backup: String { simulation.scratch.path("backup") }

    init() async throws {
        simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
    }

    private func labels() async throws -> Set<String> {
        Set(try await simulation.items().map(\.identifier))
    }

    @Test("A backup made while the provider is running restores all identities")
    func loop() async throws {
        try await simulation.serve()
        let before = try await labels()
        let item = try #require(before.sorted().first { $0.count == 64 })
        let written = try await simulation.provider("backup", backup, "--json")
        // Three identities, four authorities, the service password, and the record of the provisioning run.
        let items = try written.document(BackupDocument.self).items
        #expect(written.status == 0 && items == 9)
        #expect(try await simulation.provider("clear", "--yes").status == 0)
        #expect(try await simulation.consumer("import", item).status == 9)
        // The running provider has created a new password in the meantime. The restore replaces it.
        let restored = try await simulation.provider("restore", backup, "--force", "--json")
        #expect(restored.status == 0)
        let restoration = try restored.document(RestorationDocument.self)
        #expect(restoration.restored == items && restoration.left == 0)
        #expect(try await labels() == before)
        #expect(try await simulation.consumer("import", item).status == 0)
        #expect(try await simulation.provider("check").status == 0)
        #expect(try await simulation.stopServing().status == 0)
    }

    @Test("Neither backup nor restore overwrites a file or a keychain without --force")
    func force() async throws {
        #expect(try await simulation.provider("backup", backup).status == 0)
        let bytes = try simulation.scratch.read("backup")
        let again = try await simulation.provider("backup", backup, "--json")
        #expect(again.status == 10)
        #expect(try again.errorCode() == "already-there")
        #expect(try simulation.scratch.read("backup") == bytes)
        let restored = try await simulation.provider("restore", backup)
        #expect(restored.status == 10 && restored.errors.contains("hint: --force"))
        #expect(try await simulation.provider("backup", backup, "--force").status == 0)
        #expect(try await simulation.provider("restore", backup, "--force").status == 0)
    }

    @Test("Backup writes separate files outside the device, and restore reads only regular files")
    func places() async throws {
        let inside = simulation.device + "/keychain/"
        for arguments in [
            ["backup", "-"], ["backup", backup, "--key-file", "-"], ["restore", "-"], ["restore", ""],
            ["backup", backup, "--key-file", backup], ["backup", inside + "keychain.sqlite"],
            ["backup", backup, "--key-file", inside + "master.key"], ["backup", "/dev/null"],
        ] {
            let run = try await simulation.provider(arguments + ["--force"])
            #expect(run.status == 64 && run.errors.contains("hint: "), "\(arguments)")
        }
        #expect(!FileManager.default.fileExists(atPath: backup))
        #expect(!FileManager.default.fileExists(atPath: "-"))
        #expect(try await simulation.provider("check").status == 0)

        let pipe = simulation.scratch.path("pipe")
        try #require(unsafe mkfifo(pipe, 0o600) == 0)
        for file in [pipe, simulation.scratch.path, "/dev/null"] {
            let run = try await simulation.provider("restore", file, "--force")
            #expect(run.status == 5 && run.errors.contains("is not a regular file"))
        }
    }

    @Test(
        "Restore recovers a device that lost its keychain and lists the kept files, unless a provider is running"
    )
    func recovery() async throws {
        #expect(try await simulation.provider("backup", backup).status == 0)
        let before = try await labels()
        let database = simulation.device + "/keychain/keychain.sqlite"
        try await simulation.serve()
        try FileManager.default.removeItem(atPath: database)
        #expect(try await simulation.provider("restore", backup).status == 74)
        let busy = try await simulation.provider("restore", backup, "--force", "--json")
        #expect(try busy.status == 10 && busy.errorCode() == "provider-running")
        try await simulation.stopServing()

        let restored = try await simulation.provider("restore", backup, "--force", "--json")
        #expect(restored.status == 0)
        #expect(
            try restored.document(RestorationDocument.self).keptIn
                == simulation.device + "/keychain/damaged-1")
        #expect(try await labels() == before)
        #expect(try await simulation.provider("check").status == 0)

        try Data("nothing".utf8).write(to: URL(fileURLWithPath: database))
        #expect(try await simulation.provider("clear").status == 10)
        let cleared = try await simulation.provider("clear", "--yes")
        #expect(cleared.status == 0 && cleared.errors.contains("keychain/damaged-2"))
        #expect(try await simulation.provider("check").status == 0)
        #expect(try await simulation.provider("restore", backup).status == 0)
        #expect(try await labels() == before)
    }

    @Test(
        "Clear and restore set aside a keychain that opens but that check calls damaged",
        arguments: ["master.key", "generation"])
    func quietDamage(file: String) async throws {
        #expect(try await simulation.provider("backup", backup).status == 0)
        let before = try await labels()
        let folder = simulation.device + "/keychain"
        let key = Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/master.key")))
        func damage(key: [UInt8]) throws {
            if file == "master.key" {
                try AtomicFile.write(key, to: folder + "/master.key")
            } else {
                try FileManager.default.removeItem(atPath: folder + "/generation")
            }
        }
        try damage(key: key.reversed())
        let check = try await simulation.provider("check")
        #expect(check.status == 74 && check.errors.contains("keyshare-provider clear"))
        let cleared = try await simulation.provider("clear", "--yes", "--json")
        #expect(cleared.status == 0)
        #expect(try cleared.document(RemovalDocument.self).keptIn == folder + "/damaged-1")
        #expect(try await simulation.provider("check").status == 0)

        // The backup can be opened only with the original key, which now does not fit the new keychain.
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
        try damage(key: key)
        let restored = try await simulation.provider("restore", backup, "--force", "--json")
        #expect(restored.status == 0)
        #expect(try restored.document(RestorationDocument.self).keptIn == folder + "/damaged-2")
        #expect(try await simulation.provider("check").status == 0)
        #expect(try await labels() == before)
    }

    @Test("Clear of an intact keychain on a locked device only removes its items")
    func lockedClear() async throws {
        try await simulation.device("restart")
        let cleared = try await simulation.provider("clear", "--yes", "--json")
        #expect(cleared.status == 0)
        let document = try cleared.document(RemovalDocument.self)
        #expect(document.removed > 0 && document.keptIn == nil)
    }

    @Test("Restore reports different errors for a foreign file, a missing file and another device's backup")
    func refused() async throws {
        let text = try simulation.write("nothing", as: "text")
        let none = try await simulation.provider("restore", text, "--force", "--json")
        #expect(none.status == 5)
        #expect(try none.errorCode() == "no-backup")
        #expect(try await simulation.provider("restore", backup, "--force").status == 74)
        #expect(try await simulation.provider("backup", simulation.scratch.path("none/backup")).status == 73)

        let key = simulation.scratch.path("key")
        #expect(try await simulation.provider("backup", backup, "--key-file", key).status == 0)
        let other = try Simulation()
        let foreign = try await other.provider("restore", backup, "--json")
        #expect(foreign.status == 10)
        #expect(try foreign.errorCode() == "foreign-backup")
        // Identities and passwords can be restored only on their own device.
        try await other.provider("provision", "--key", "p256", "--generations", "1")
        let before = try await other.items().count
        let left = try await other.provider("restore", backup, "--key-file", key, "--json", "--force")
        #expect(left.status == 10 && left.errors.contains("hint: to copy identities"))
        #expect(try left.errorCode() == "foreign-backup")
        #expect(try await other.items().count == before)
        #expect(try await other.provider("check").status == 0)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key)
        #expect(try await other.provider("restore", backup, "--key-file", key).status == 10)
    }

    @Test("Merge reports a defective identity of another device, and adds nothing")
    func defectiveMerge() async throws {
        let folder = simulation.scratch.path("other")
        let other = try ProviderStore(try Device(folder: folder))
        let (certificate, key) = (PKCS12Samples.first.certificate, PKCS12Samples.second.key)
        #expect(try other.add([(certificate, key)]).allSatisfy { try $0.isNew() })
        let before = try await labels()
        let merged = try await simulation.provider("merge", folder)
        #expect(merged.status == 7, "\(merged.errors)")
        #expect(merged.errors.contains("\(certificate.label): the private key does not match"))
        #expect(merged.errors.contains("hint: nothing was added\n"), "\(merged.errors)")
        #expect(try await labels() == before)
    }
}
