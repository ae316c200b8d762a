package import KeySharing

/// Generates source code for an iOS app that makes a request. The code presents the document picker with the requested
/// types, gets the password as the mechanism requires, reads each picked file or zip, stores its identities in the
/// app's keychain, and always stops accessing the file (docs/rules.md R6.2, R4.15).
///
/// You can copy the code into an app. The tests compile the Swift code with stubs of Apple's modules.
package struct PickerCode: Sendable {
    /// The languages of the generated code.
    package enum Language: String, Sendable, CaseIterable {
        /// Swift.
        case swift
        /// Objective-C.
        case objectiveC = "objc"
    }

    let request: TypeRequest
    private let registry: UniformTypeRegistry

    /// Creates the code for `request`.
    package init(_ request: TypeRequest, registry: UniformTypeRegistry = .standard) {
        self.request = request
        self.registry = registry
    }

    /// Returns the source code in `language`. It ends with a line feed.
    package func text(_ language: Language) -> String {
        switch (request.mechanism, language) {
        case (.keySharing2025, .swift): swift2025
        case (.keySharing2025, .objectiveC): objectiveC2025
        case (.legacy, .swift): swiftLegacy
        case (.legacy, .objectiveC): objectiveCLegacy
        }
    }

    /// The types of the request, formatted as lines of an array.
    func types(_ line: (String) -> String) -> String {
        request.identifiers.map { "        \(line($0))" }.joined(separator: "\n")
    }

    static func swiftType(_ identifier: String) -> String {
        systemType(identifier).map { "\($0.swift),  // \(identifier)" }
            ?? "UTType(importedAs: \"\(identifier)\"),"
    }

    static func objectiveCType(_ identifier: String) -> String {
        systemType(identifier).map { "\($0.objectiveC),  // \(identifier)" }
            ?? "[UTType importedTypeWithIdentifier:@\"\(identifier)\"],"
    }

    /// The types that the app's Info.plist must import, formatted as comment lines. The system's own types need no
    /// import.
    private var declarations: String {
        request.identifiers.filter { Mechanism(owning: $0) != nil }.map { identifier in
            let parents = (try? registry.type(identifier))?.conformsTo ?? []
            return "//   \(identifier), which conforms to \(parents.joined(separator: " and "))"
        }.joined(separator: "\n")
    }

    /// The names of a system type in Swift and Objective-C; nil for the types of key sharing.
    private static func systemType(_ identifier: String) -> (swift: String, objectiveC: String)? {
        switch identifier {
        case SystemType.pkcs12: (".pkcs12", "UTTypePKCS12")
        case SystemType.zipArchive: (".zip", "UTTypeZIP")
        case "public.folder": (".folder", "UTTypeFolder")
        case "public.directory": (".directory", "UTTypeDirectory")
        case "public.archive": (".archive", "UTTypeArchive")
        case "public.data": (".data", "UTTypeData")
        case "public.item": (".item", "UTTypeItem")
        default: nil
        }
    }

    /// A comment about the required declarations in Info.plist, for the beginning of the file; empty if the request
    /// contains only system types.
    var head: String {
        declarations.isEmpty
            ? ""
            : """
            // Info.plist must declare these types under UTImportedTypeDeclarations:
            \(declarations)


            """
    }
}
