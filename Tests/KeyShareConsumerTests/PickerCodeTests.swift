import Foundation
import KeyShareConsumer
import KeySharing
import TestSupport
import Testing

/// Compiles the generated Swift code with stubs of the modules that it imports.
@Suite("Generated picker code", .timeLimit(.minutes(10)))
struct PickerCodeTests {
    private static let requests: [(Mechanism, [String])] = [
        (.keySharing2025, []), (.keySharing2025, ["public.data"]),
        (.keySharing2025, ["purebred2025.zip.encryption"]), (.legacy, []), (.legacy, ["purebred.zip.all"]),
    ]

    /// The requests of every preset, and some that no preset makes.
    private static func everyRequest() throws -> [TypeRequest] {
        let presets = RequestPreset.all.flatMap { preset in
            Mechanism.allCases.compactMap { mechanism in
                preset.types(under: mechanism).map { (mechanism, $0) }
            }
        }
        return try (presets + requests).map { try TypeRequest($0.1, under: $0.0) }
    }

    @Test("The generated Swift code compiles in Swift 6 without a warning, for both mechanisms")
    func compiles() throws {
        let scratch = try ScratchFolder()
        for (name, text) in AppleModuleStubs.all {
            let file = try scratch.write(Array(text.utf8), as: "\(name).swift")
            let options = [
                "-emit-module", "-module-name", name, "-emit-module-path",
                scratch.path("\(name).swiftmodule"),
            ]
            try compile(options + [file], in: scratch)
        }
        // Requests of one form have the same code, except for the types.
        let forms = Dictionary(grouping: try Self.everyRequest()) {
            "\($0.mechanism) \($0.permitsFiles) \($0.permitsZips)"
        }
        #expect(forms.count == 5)
        for (number, request) in forms.values.compactMap(\.first).enumerated() {
            // Linux has no Objective-C, so the attribute is removed.
            let code = PickerCode(request).text(.swift)
                .replacingOccurrences(of: "@objc protocol", with: "protocol")
            let file = try scratch.write(Array(code.utf8), as: "Importer\(number).swift")
            try compile(["-typecheck", "-warnings-as-errors", file], in: scratch)
        }
    }

    /// Runs the compiler on a file, and expects that it succeeds.
    private func compile(_ arguments: [String], in scratch: ScratchFolder) throws {
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = ["swiftc", "-swift-version", "6", "-I", scratch.path(".")] + arguments
        let errors = Pipe()
        compiler.standardError = errors
        try compiler.run()
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        compiler.waitUntilExit()
        #expect(compiler.terminationStatus == 0, "\(text)")
    }

    @Test("The generated code opens archives only for requests with zips, in both languages")
    func zips() throws {
        for request in try Self.everyRequest() {
            let swift = PickerCode(request).text(.swift)
            let objectiveC = PickerCode(request).text(.objectiveC)
            #expect(swift.contains("import ZIPFoundation") == request.permitsZips)
            #expect(swift.contains("archive.extract(entry)") == request.permitsZips)
            #expect(objectiveC.contains("SSZipArchive unzipFileAtPath") == request.permitsZips)
            #expect(swift.contains("[contents]") == (request.permitsZips && request.permitsFiles))
        }
    }

    @Test("Objective-C code of a legacy request returns at once if the user picked no file")
    func noFile() throws {
        let requests = try Self.everyRequest().filter { $0.mechanism == .legacy }
        #expect(!requests.isEmpty)
        for request in requests {
            let code = PickerCode(request).text(.objectiveC)
            let picked = try #require(code.range(of: "NSURL *url = urls.firstObject;\n"))
            let next = code[picked.upperBound...].split(separator: "\n").first
            #expect(next?.contains("if (url == nil) { return; }") == true)
        }
    }

    @Test("Code of 2025 requests for files permits several selections, and ends each access in a defer block")
    func severalFiles() throws {
        for request in try Self.everyRequest() {
            let (swift, objectiveC) = (
                PickerCode(request).text(.swift), PickerCode(request).text(.objectiveC)
            )
            let isSeveral = request.mechanism == .keySharing2025 && request.permitsFiles
            #expect(swift.contains("allowsMultipleSelection = \(isSeveral)"))
            #expect(objectiveC.contains("allowsMultipleSelection = \(isSeveral ? "YES" : "NO")"))
            let access = try #require(swift.range(of: "startAccessingSecurityScopedResource()\n"))
            let next = swift[access.upperBound...].split(separator: "\n").first { !$0.contains("//") }
            #expect(
                next?.contains("defer { if isAccessing { url.stopAccessingSecurityScopedResource() } }")
                    == true)
        }
    }
}
