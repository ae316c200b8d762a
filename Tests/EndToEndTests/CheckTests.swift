import CommandSupport
import Foundation
import Glibc
import KeyShareProviderCommand
import TestSupport
import Testing

@Suite("Check of the provider's keychain", .timeLimit(.minutes(10)))
struct CheckTests {
    private let simulation: Simulation

    init() async throws {
        simulation = try Simulation()
        try await simulation.provider("provision", "--key", "p256", "--generations", "1")
    }

    private var database: String { simulation.device + "/keychain/keychain.sqlite" }

    /// Replaces every occurrence of a byte sequence in the keychain's file with another.
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

    @Test("Check finds no defect in a new keychain")
    func sound() async throws {
        let run = try await simulation.provider("check", "--json")
        #expect(run.status == 0)
        let report = try run.document(IntegrityDocument.self)
        #expect(report.identities == 3 && report.authorities == 4 && report.problems.isEmpty)
        #expect(
            try await simulation.provider("check").errors
                == "3 identities and 4 authorities of test PKIs, no problems\n")
        #expect(try await Simulation().provider("check").status == 9)
    }

    @Test("Check reports an altered record, exits with 74, and changes nothing")
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

    @Test("Check reports a file that is not a keychain, and serve rejects it")
    func broken() async throws {
        var contents = try Data(contentsOf: URL(fileURLWithPath: database))
        // Overwrite all pages after the first, so that the file opens but its structure is invalid.
        for index in contents.indices.dropFirst(4096) { contents[index] = 0xA5 }
        try contents.write(to: URL(fileURLWithPath: database))
        for command in ["check", "serve"] {
            let run = try await simulation.provider(command)
            #expect(run.status == 74 && run.errors.contains("restore a backup"))
        }
    }

    @Test("Check reports a missing keychain and folders with loose permissions, and changes nothing")
    func lost() async throws {
        let files = FileManager.default
        let folder = simulation.device + "/keychain"
        for (path, mode) in [(simulation.device, 0o755), (folder, 0o777)] {
            try files.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        let exposed = try await simulation.provider("check", "--json")
        #expect(exposed.status == 74)
        #expect(try exposed.document(IntegrityDocument.self).problems.map(\.kind) == ["device", "device"])
        #expect(exposed.errors.contains("hint: make the folders private"))
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

    @Test("Check reports a record that cannot be found by its label, continues, and exits with 74")
    func hidden() async throws {
        let label = try await simulation.firstIdentifier()
        // Alter only the label in the index. Its first occurrence may be in the table or in the index, so both are
        // tried.
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
            #expect(report.identities + report.authorities > 0 && !report.problems.isEmpty)
        }
    }

    @Test("Commands that read a password leave no core dump")
    func noCore() async throws {
        let file = try simulation.write("no file", as: "x.p12")
        let pipe = simulation.scratch.path("pipe")
        try #require(unsafe mkfifo(pipe, 0o600) == 0)
        let running = try simulation.start(.consumer, "inspect", file, "--password-file", pipe)
        let limits = "/proc/\(running.processIdentifier)/limits"
        // The command waits for the password on standard input.
        try await running.wait {
            let text = try String(contentsOfFile: limits, encoding: .utf8)
            return text.split(separator: "\n").contains { line in
                line.hasPrefix("Max core file size") && line.split(separator: " ")[4...5] == ["0", "0"]
            }
        }
        running.signal(SIGKILL)
        _ = try await running.finish()
    }

    @Test("The provider disables core dumps and raises its descriptor limit to the maximum")
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
