import Foundation
import TestSupport
import Testing

@Suite("Names of code in the documents", .timeLimit(.minutes(10)))
struct DocumentedNamesTests {
    /// The names that the sources of a module declare or extend.
    private struct Declarations {
        private(set) var types: Set<String> = []
        private(set) var members: Set<String> = ["init"]

        /// Whether the module declares or extends each part of a name such as `Item.Kind.hasContent`.
        func contain(_ name: some StringProtocol) -> Bool {
            name.split(separator: ".").allSatisfy {
                types.contains(String($0)) || members.contains(String($0))
            }
        }

        /// Adds each word that follows a keyword. Words in comments are also added, so the check may accept too many
        /// names.
        mutating func add(_ source: String) {
            var keyword = ""
            for bytes in source.utf8.split(whereSeparator: { !Self.isPartOfWord($0) }) {
                let word = String(decoding: bytes, as: UTF8.self)
                switch keyword {
                case "struct", "class", "enum", "actor", "protocol", "typealias", "extension":
                    types.insert(word)
                case "func", "var", "let", "case": members.insert(word)
                default: break
                }
                keyword = word
            }
        }

        private static func isPartOfWord(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    private static func read(_ path: String) throws -> String {
        try String(contentsOfFile: PackageFolder.path + "/" + path, encoding: .utf8)
    }

    /// The declarations of each folder of `Sources`.
    private static func modules() throws -> [String: Declarations] {
        let sources = PackageFolder.path + "/Sources"
        var modules: [String: Declarations] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: sources) {
            guard let module = path.split(separator: "/").first.map(String.init) else { continue }
            var declarations = modules[module] ?? Declarations()
            if path.hasSuffix(".swift") { declarations.add(try read("Sources/" + path)) }
            modules[module] = declarations
        }
        return modules
    }

    @Test(
        "Every type and function that a page names as Module/Type.function exists in that module",
        arguments: ["docs/architecture.md", "docs/rules.md"])
    func qualifiedNames(page: String) throws {
        let modules = try Self.modules()
        var count = 0
        for match in try Self.read(page).matches(of: /`([A-Z]\w*)\/([A-Z][\w.]*)(?:\([^`]*\))?`/) {
            // The explanation of the notation, and the property lists outside of Sources.
            guard match.1 != "Module", match.1 != "UTTypes" else { continue }
            count += 1
            let declarations = try #require(modules[String(match.1)], "\(page): \(match.0)")
            #expect(declarations.contain(match.2), "\(page): \(match.0)")
        }
        #expect(count >= 5)
    }

    @Test("Every type that the architecture page names without a module exists")
    func unqualifiedNames() throws {
        let modules = try Self.modules()
        for match in try Self.read("docs/architecture.md").matches(of: /`([A-Z]\w+)`/) {
            let name = String(match.1)
            let isDeclared = modules.values.contains { $0.contain(name) }
            #expect(name == "UTTypes" || modules[name] != nil || isDeclared, "\(name)")
        }
    }

    @Test("Every participant and function in the diagrams of the architecture page exists in its module")
    func diagrams() throws {
        let modules = try Self.modules()
        var participants: [String: Declarations] = [:]
        var (types, functions) = (0, 0)
        for line in try Self.read("docs/architecture.md").split(separator: "\n") {
            if line == "sequenceDiagram" { participants = [:] }
            if let match = line.firstMatch(of: /participant (\w+) as (\w+) \((\w+)\)/) {
                types += 1
                let declarations = try #require(modules[String(match.3)], "\(line)")
                #expect(declarations.types.contains(String(match.2)), "\(line)")
                participants[String(match.1)] = declarations
            } else if let match = line.firstMatch(of: /^ +(\w+)-+>>(\w+): (.*)$/) {
                // A function of the receiver may be in an extension that the sender's module declares.
                let sides = [match.1, match.2].compactMap { participants[String($0)] }
                for function in match.3.matches(of: /(\w+)\(/) where participants[String(match.2)] != nil {
                    functions += 1
                    #expect(sides.contains { $0.members.contains(String(function.1)) }, "\(line)")
                }
            }
        }
        #expect(types >= 30)
        #expect(functions >= 30)
    }
}
