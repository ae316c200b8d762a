import CommandSupport
import DeviceSimulation
import Diagnostics
import Foundation
import KeyShareDeviceCommand
import KeyShareProviderCommand
import KeyShareWire
import KeySharing
import LocalSockets
import OpenSSL
import PersistentToken
import PrivateFiles
import SharingChannels
import SimulatedKeychain
import TestCredentials
import TestSupport
import Testing
import ZipBundles

@Suite("The mapping of errors to exit codes and hints", .timeLimit(.minutes(10)))
struct FailureMappingTests {
    /// The error types that commands report, in the order of the generated table.
    private static let errorTypes: [any ReportableFailure.Type] = [
        OpenSSLError.self, CertificateError.self, PKCS12Error.self, CMSError.self, ZipError.self,
        RequestError.self, ImportError.self, FileError.self, DeviceError.self, KeychainError.self,
        PasteboardError.self, SharingChannelError.self, SocketError.self, ProviderFailure.self,
        ProvisioningError.self, TokenError.self, CommandFailure.self,
    ]
    /// The names of the error types, as arguments of tests.
    private static let typeNames: [String] = errorTypes.map { "\($0)" }

    /// Returns the error type with the given name.
    private static func type(named name: String) throws -> any ReportableFailure.Type {
        try #require(errorTypes.first { "\($0)" == name })
    }

    /// Returns the name of a code's case, without its associated values.
    private static func caseName(_ code: Any) -> String {
        String("\(code)".prefix { $0 != "(" })
    }

    /// Returns each code of an error type by the name of its case, with its meaning. A case with several meanings is
    /// returned several times.
    private static func meanings(
        of type: (some ReportableFailure).Type
    ) -> [(name: String, meaning: FailureMeaning)] {
        type.codes.map { (caseName($0), type.meaning(of: $0)) }
    }

    /// Returns the meanings of an error type's codes, and those that depend on more than the code.
    private static func allMeanings(
        of type: (some ReportableFailure).Type
    ) -> [(name: String, meaning: FailureMeaning)] {
        meanings(of: type)
            + type.particularMeanings.map { ("obstacle.\($0.name)", $0.meaning) }
    }

    @Test("The commands have a meaning for all seventeen error types in the sources")
    func types() throws {
        let sources = PackageFolder.path + "/Sources"
        let files = FileManager.default.enumerator(atPath: sources)?.compactMap { $0 as? String } ?? []
        var found: Set<String> = []
        // The PKCS #11 module and its client return that standard's codes to other programs, and no command uses them.
        let modules = ["PKCS11Module/", "TokenClient/"]
        for file in files where file.hasSuffix(".swift") && !modules.contains(where: file.hasPrefix) {
            let text = try String(contentsOfFile: "\(sources)/\(file)", encoding: .utf8)
            for match in text.matches(of: /(?:struct|enum|class) (\w+): (?:[\w, ]*, )?(Error|Failure)\b/) {
                found.insert(String(match.1))
            }
        }
        // `ForeignUser` only closes the connection of another user, and is never thrown to a caller. The commands that
        // sign catch the next two and throw a `CommandFailure` with the name of the identity. `NoSuchElement` is an
        // error in the definition of a test vector. The provider maps the `Failure` of a query for aliases to a `TokenError`.
        found.subtract(["Failure", "ForeignUser", "NoSigner", "NoSuchElement", "UnprovedSignature"])
        #expect(Set(Self.typeNames).count == 17)
        #expect(found.sorted() == Self.typeNames.sorted())
    }

    @Test("The mapping lists every case of an error type's codes", arguments: typeNames)
    func completeness(name: String) throws {
        // The codes of OpenSSL are numbers, and those of CommandFailure are text.
        guard !["OpenSSLError", "CommandFailure"].contains(name) else { return }
        let sources = PackageFolder.path + "/Sources"
        let files = FileManager.default.enumerator(atPath: sources)?.compactMap { $0 as? String } ?? []
        func lines(of name: String) throws -> [Substring] {
            let file = try #require(files.first { $0.hasSuffix("/\(name).swift") }, "\(name).swift")
            return try String(contentsOfFile: "\(sources)/\(file)", encoding: .utf8)
                .split(separator: "\n", omittingEmptySubsequences: false)
        }
        var text = try lines(of: name)
        // The codes that travel over the connection are enumerations of KeyShareProtocol.
        let alias = text.lazy.compactMap { $0.firstMatch(of: /typealias Code = (\w+)/) }.first
        if let alias { text = try lines(of: String(alias.1)).map { "    " + $0 } }
        let body = text.drop { $0.firstMatch(of: /^    (package|public) enum (Code|\w+Code)\b/) == nil }
            .prefix { $0 != "    }" }
        let cases = body.compactMap { $0.firstMatch(of: /^        case (\w+)/).map { String($0.1) } }
        #expect(!cases.isEmpty)
        #expect(Set(Self.meanings(of: try Self.type(named: name)).map(\.name)) == Set(cases))
    }

    @Test("No failure has exit code 0, and every stable name is in lower case or one of Apple's")
    func names() {
        for type in Self.errorTypes {
            for (name, meaning) in Self.allMeanings(of: type) {
                #expect(meaning.status != .success, "\(type).\(name)")
                #expect(
                    meaning.name.wholeMatch(of: /[a-z0-9]+(-[a-z0-9]+)*|errSec\w+/) != nil,
                    "\(type).\(name): \(meaning.name)")
            }
        }
    }

    @Test("A module's error has the exit code, the stable name and the hint of its code")
    func errors() {
        let wrong = CommandFailure(PKCS12Error(.wrongPassword) as any Error)
        #expect(wrong.status == .wrongPassword && wrong.code == "wrong-password")
        #expect(wrong.hint == "pass it with --password-file, --password-env or --password-stdin")
        let limit = CommandFailure(PKCS12Error(.refused(limit: .bags)) as any Error)
        #expect(limit.status == .refused && limit.code == "limit")
        #expect(limit.hint == "--max-bags raises this limit")
        #expect(CommandFailure(PKCS12Error(.refused(limit: .nesting)) as any Error).hint == nil)
        let own = CommandFailure(.notConfirmed, "nothing was done")
        #expect(own.status == .refused && own.code == "not-confirmed")
        #expect(CommandFailure(own as any Error) == own)
    }

    /// Returns the expected text of `docs/exit-codes.md`.
    private static func page() -> String {
        var page = """
            # Exit codes

            Scripts can rely on these exit codes, and on the stable names that `--json` prints as `error.code`.

            This page is generated from the types that conform to `ReportableFailure`; do not edit it. To regenerate it, run
            the tests `FailureMappingTests` with `KEYSHARE_UPDATE_GOLDEN=1`.

            | exit code | meaning |
            |---|---|

            """
        for status in CommandSupport.ExitStatus.allCases {
            page += "| \(status.rawValue) | \(status.explanation) |\n"
        }
        page += """

            If a signal ends a command, the exit code is 128 plus the number of the signal.

            Each section lists the stable names of one exit code, the errors in the source code with that name, and the
            hint:

            * `CommandFailure` is an error that a command detects itself.
            * `TokenError.obstacle.NAME` is a `TokenError` with that cause.
            * An error with several hints is in several rows.
            * If a hint depends on the details of a failure, the row contains a general hint or none.
            * An error without a hint of its own gets the usual hint of the section, if there is one.

            """
        for status in CommandSupport.ExitStatus.allCases where status != .success {
            page += "\n## \(status.rawValue): \(status.name)\n\n"
            if let hint = status.usualHint { page += "Usual hint: \(hint).\n\n" }
            page += "| stable name | error | hint |\n|---|---|---|\n"
            for row in rows(of: status) {
                page += "| `\(row.name)` | \(row.errors.joined(separator: ", ")) | \(row.hint) |\n"
            }
        }
        return page
    }

    /// Returns the stable names of an exit code with their hints, sorted by name.
    private static func rows(of status: CommandSupport.ExitStatus) -> [(
        name: String, errors: [String], hint: String
    )] {
        var rows: [(name: String, errors: [String], hint: String)] = []
        for type in errorTypes {
            for (name, meaning) in allMeanings(of: type) where meaning.status == status {
                let isNamed = !["OpenSSLError", "CommandFailure"].contains("\(type)")
                let error = "`\(type)\(isNamed ? ".\(name)" : "")`"
                let hint = meaning.hint ?? ""
                if let index = rows.firstIndex(where: { $0.name == meaning.name && $0.hint == hint }) {
                    if !rows[index].errors.contains(error) { rows[index].errors.append(error) }
                } else {
                    rows.append((meaning.name, [error], hint))
                }
            }
        }
        return rows.sorted { ($0.name, $0.hint) < ($1.name, $1.hint) }
    }

    @Test("docs/exit-codes.md matches the mapping")
    func documentation() throws {
        let path = PackageFolder.path + "/docs/exit-codes.md"
        let page = Self.page()
        if ProcessInfo.processInfo.environment["KEYSHARE_UPDATE_GOLDEN"] == "1" {
            try Data(page.utf8).write(to: URL(fileURLWithPath: path))
        }
        let written = try String(contentsOfFile: path, encoding: .utf8)
        #expect(page == written, "set KEYSHARE_UPDATE_GOLDEN=1 to regenerate docs/exit-codes.md")
    }
}
