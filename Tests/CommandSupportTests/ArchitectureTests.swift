import Foundation
import TestSupport
import Testing

@Suite("The architecture page and the manifest", .timeLimit(.minutes(10)))
struct ArchitectureTests {
    private static func read(_ path: String) throws -> String {
        try String(contentsOfFile: PackageFolder.path + "/" + path, encoding: .utf8)
    }

    /// The dependencies of each module, from the block in `docs/architecture.md` that is fenced as `dependencies`.
    private static func documented() throws -> [String: Set<String>] {
        let page = try read("docs/architecture.md")
        let block = try #require(page.firstMatch(of: /```dependencies\n(.*?)\n```/.dotMatchesNewlines())).1
        return Dictionary(
            uniqueKeysWithValues: try block.split(separator: "\n").map { line in
                let match = try #require(line.wholeMatch(of: /([\w-]+):(.*)/), "\(line)")
                return (String(match.1), Set(match.2.matches(of: /[\w-]+/).map { String($0.0) }))
            })
    }

    /// The dependencies of each module in `Package.swift`, without products of other packages and without modules of
    /// tests and fixtures.
    private static func declared() throws -> [String: Set<String>] {
        // Benchmarks and fuzz targets, which follow this line, are not modules of the product.
        let text = try read("Package.swift").replacing(/\/\/[^\n]*/, with: "")
        var manifest = String(text.split(separator: "Context.environment[\"KEYSHARING_TOOLS\"]").first ?? "")
        manifest.replace(/\.product\(name: "[^"]*", package: "[^"]*"\)/, with: "")
        let target = /\.(target|executableTarget|systemLibrary)\(\s*name: "([^"]+)"/
        let starts = manifest.matches(of: target)
        var modules: [String: Set<String>] = [:]
        for (index, start) in starts.enumerated() {
            let end = index + 1 < starts.count ? starts[index + 1].range.lowerBound : manifest.endIndex
            // A test target ends the target before it.
            let text = manifest[start.range.upperBound..<end].split(separator: ".testTarget(").first ?? ""
            guard !text.contains("path: \"Tests/"), start.2 != "Fixtures" else { continue }
            let list = text.firstMatch(of: /dependencies: \[([^\]]*)\]/)?.1 ?? ""
            modules[String(start.2)] = Set(list.matches(of: /"([^"]+)"/).map { String($0.1) })
        }
        return modules
    }

    @Test("The architecture page lists every module with exactly its dependencies in the manifest")
    func dependencies() throws {
        let (documented, declared) = (try Self.documented(), try Self.declared())
        #expect(documented.keys.sorted() == declared.keys.sorted())
        for (module, dependencies) in declared {
            #expect(documented[module] == dependencies, "\(module)")
        }
    }

    @Test("No module depends on itself, directly or indirectly")
    func acyclic() throws {
        var rest = try Self.declared()
        while let (module, _) = rest.first(where: { $0.value.allSatisfy { rest[$0] == nil } }) {
            rest[module] = nil
        }
        #expect(rest.keys.sorted() == [])
    }

    @Test("The public product depends only on the type declarations, and neither side depends on the other")
    func walls() throws {
        let declared = try Self.declared()
        func everything(below module: String) -> Set<String> {
            var found: Set<String> = []
            var open = [module]
            while let next = open.popLast() {
                for dependency in declared[next] ?? [] where found.insert(dependency).inserted {
                    open.append(dependency)
                }
            }
            return found
        }
        #expect(everything(below: "KeySharing") == ["UTTypes"])
        #expect(
            everything(below: "KeyShareProvider").isDisjoint(with: ["KeyShareConsumer", "KeyShareClient"]))
        #expect(
            everything(below: "KeyShareConsumer").isDisjoint(with: ["KeyShareProvider", "KeyShareServer"]))
        #expect(
            everything(below: "KeyShareProviderCommand").isDisjoint(
                with: ["KeyShareConsumer", "KeyShareClient"]))
        #expect(
            everything(below: "KeyShareConsumerCommand").isDisjoint(
                with: ["KeyShareProvider", "KeyShareServer"]))
    }
}
