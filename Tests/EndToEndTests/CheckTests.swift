import CommandSupport
import Foundation
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

    @Test("Check finds nothing wrong with a keychain that was just filled, nor with a new device")
    func sound() async throws {
        let run = try await simulation.provider("check", "--json")
        #expect(run.status == 0)
        let report = try run.document(IntegrityDocument.self)
        #expect(report.identities == 7 && report.problems.isEmpty)
        #expect(try await Simulation().provider("check").status == 0)
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
        #expect(try await simulation.provider("check").errors.contains("clear empties the keychain"))
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
            #expect(run.status == 74 && run.errors.contains("puts a backup in its place"))
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
        #expect(try await none.provider("check").status == 0)
        #expect(!files.fileExists(atPath: none.device))
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
