import CommandSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Check of the provider's keychain")
struct CheckTests {
    private let simulation: Simulation

    init() async throws {
        simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
    }

    private var database: String { simulation.device + "/keychain/keychain.sqlite" }

    /// Exchanges every occurrence of some bytes in the keychain's file.
    private func exchange(_ bytes: [UInt8], by other: [UInt8]) throws {
        var contents = Data(try Data(contentsOf: URL(fileURLWithPath: database)))
        var start = contents.startIndex
        var count = 0
        while let found = contents.range(of: Data(bytes), in: start..<contents.endIndex) {
            contents.replaceSubrange(found, with: other)
            start = found.upperBound
            count += 1
        }
        try #require(count > 0, "the bytes to exchange are not there")
        try contents.write(to: URL(fileURLWithPath: database))
    }

    @Test("Check finds nothing wrong with a keychain that was just filled")
    func sound() async throws {
        let run = try await simulation.provider("check", "--json")
        #expect(run.status == 0)
        let report = try run.document(IntegrityDocument.self)
        #expect(report.identities == 7 && report.problems.isEmpty)
        #expect(try await Simulation().provider("check").status == 9)
    }

    @Test("Check names the record that was altered, ends with 74 and changes nothing")
    func altered() async throws {
        let label = try await simulation.firstIdentifier()
        let other = String(label.dropLast()) + (label.hasSuffix("0") ? "1" : "0")
        try exchange(Array(label.utf8), by: Array(other.utf8))
        let before = try Data(contentsOf: URL(fileURLWithPath: database))
        let run = try await simulation.provider("check", "--json")
        #expect(run.status == 74)
        #expect(try run.errorCode() == "damaged")
        #expect(try run.document(IntegrityDocument.self).problems.map(\.label).contains(other))
        #expect(
            try await simulation.provider("check").errors.contains(
                "or empty the keychain: keyshare-provider clear"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: database)) == before)
    }

    @Test("Check says that a file is no keychain any more, and serve does not start on it")
    func broken() async throws {
        var contents = try Data(contentsOf: URL(fileURLWithPath: database))
        // Pages behind the first, so that the file opens and its structure is wrong.
        for index in contents.indices.dropFirst(4096) { contents[index] = 0xA5 }
        try contents.write(to: URL(fileURLWithPath: database))
        for command in ["check", "serve"] {
            let run = try await simulation.provider(command)
            #expect(run.status == 74 && run.errors.contains("put a backup in its place"))
        }
    }

    @Test("Check finds a lost keychain and folders that others may enter, and makes and repairs nothing")
    func lost() async throws {
        let files = FileManager.default
        let folder = simulation.device + "/keychain"
        for (path, mode) in [(simulation.device, 0o755), (folder, 0o777)] {
            try files.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        let exposed = try await simulation.provider("check", "--json")
        #expect(exposed.status == 74)
        #expect(try exposed.document(IntegrityDocument.self).problems.map(\.kind) == ["device", "device"])
        #expect(exposed.errors.contains("hint: close the folders"))
        #expect(try files.attributesOfItem(atPath: folder)[.posixPermissions] as? Int == 0o777)

        for name in try files.contentsOfDirectory(atPath: folder) where name.hasPrefix("keychain.sqlite") {
            try files.removeItem(atPath: folder + "/" + name)
        }
        let before = try files.contentsOfDirectory(atPath: folder).sorted()
        for command in ["check", "serve", "list"] {
            let run = try await simulation.provider(command, "--json")
            #expect(try run.status == 74 && run.errorCode() == "errSecInvalidKeychain", "\(command)")
        }
        #expect(try files.contentsOfDirectory(atPath: folder).sorted() == before)

        let none = try Simulation()
        #expect(try await none.provider("check").status == 9)
        #expect(!files.fileExists(atPath: none.device))
    }

    @Test("Check names a record that is listed and not found by its label, goes on, and ends with 74")
    func hidden() async throws {
        let label = try await simulation.firstIdentifier()
        // The label in the index alone: the first place is the table's page or the index's, so each is tried.
        let bytes = try Data(contentsOf: URL(fileURLWithPath: database))
        var places: [Range<Data.Index>] = []
        var start = bytes.startIndex
        while let found = bytes.range(of: Data(label.utf8), in: start..<bytes.endIndex) {
            places.append(found)
            start = found.upperBound
        }
        #expect(places.count > 1)
        for place in places {
            var damaged = bytes
            damaged[place.lowerBound] ^= 0x04
            try damaged.write(to: URL(fileURLWithPath: database))
            let run = try await simulation.provider("check", "--json")
            #expect(run.status == 74)
            let report = try run.document(IntegrityDocument.self)
            #expect(report.identities > 0 && !report.problems.isEmpty)
        }
    }

    @Test("Commands that read a password leave no core dump")
    func noCore() async throws {
        let file = try simulation.write("no file", as: "x.p12")
        let pipe = simulation.scratch.path("pipe")
        try #require(unsafe mkfifo(pipe, 0o600) == 0)
        let running = try simulation.start(.consumer, "inspect", file, "--password-file", pipe)
        let limits = "/proc/\(running.processIdentifier)/limits"
        // The command waits for somebody who writes the password.
        try await running.wait {
            let text = try String(contentsOfFile: limits, encoding: .utf8)
            return text.split(separator: "\n").contains { line in
                line.hasPrefix("Max core file size") && line.split(separator: " ")[4...5] == ["0", "0"]
            }
        }
        running.signal(SIGKILL)
        _ = try await running.finish()
    }

    @Test("The provider serves without core dumps, and with every descriptor that it may have")
    func process() async throws {
        try await simulation.serve()
        let identifier = try simulation.servingProcess()
        let limits = try String(contentsOfFile: "/proc/\(identifier)/limits", encoding: .utf8)
        let fields = limits.split(separator: "\n").map { $0.split(separator: " ") }
        let files = try #require(fields.first { $0.starts(with: ["Max", "open", "files"]) })
        #expect(files[3] == files[4])
        let cores = try #require(fields.first { $0.starts(with: ["Max", "core", "file", "size"]) })
        #expect(cores[4] == "0" && cores[5] == "0")
    }
}
