#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif
internal import UTTypes

/// The uniform types that are declared on a device, with their conformance.
///
/// Types are found by their exact identifier. Conformance is reflexive and transitive, as in
/// `UTType.conforms(to:)` of Apple's UniformTypeIdentifiers (docs/rules.md R2.6).
///
/// ```swift
/// let registry = UniformTypeRegistry.standard
/// let isPKCS12 = registry.conforms(IdentitySelector.all.companionType, to: SystemType.pkcs12)  // true
/// ```
public struct UniformTypeRegistry: Sendable {
    /// The types of both mechanisms, and the system types that they conform to (docs/rules.md R2.2 to R2.5).
    public static let standard = UniformTypeRegistry(builtIn: [
        UTTypeDeclarations.system, UTTypeDeclarations.legacy, UTTypeDeclarations.keySharing2025,
    ])

    /// The declared types, keyed by identifier.
    public let types: [String: UniformType]

    /// For each identifier, all types that it conforms to, including itself.
    private let closure: [String: Set<String>]

    /// Reads property lists, in any property list format, that contain `UTExportedTypeDeclarations`.
    ///
    /// - Throws: `RequestError` `.malformedDeclarations` if a list cannot be read, if a declaration lacks an
    ///   identifier, or if a type is declared twice.
    public init(propertyLists: [[UInt8]]) throws(RequestError) {
        var types: [String: UniformType] = [:]
        for list in propertyLists {
            for type in try Self.declarations(in: list) {
                guard types.updateValue(type, forKey: type.identifier) == nil else {
                    throw RequestError(
                        .malformedDeclarations, type.identifier,
                        detail: "\(type.identifier) is declared twice")
                }
            }
        }
        self.init(types: types)
    }

    /// Reads the compiled-in property lists. Traps if one is malformed, because that is a programming error.
    private init(builtIn lists: [[UInt8]]) {
        do throws(RequestError) {
            try self.init(propertyLists: lists)
        } catch {
            preconditionFailure("the compiled-in type declarations are malformed: \(error)")
        }
    }

    private init(types: [String: UniformType]) {
        self.types = types
        closure = types.mapValues { type in
            var reached: Set<String> = [type.identifier]
            var pending = type.conformsTo
            while let next = pending.popLast() {
                guard reached.insert(next).inserted else { continue }
                pending += types[next]?.conformsTo ?? []
            }
            return reached
        }
    }

    /// Returns the declared type with this identifier.
    ///
    /// - Throws: `RequestError`: `.deprecatedSpelling` if the identifier is a declared one spelled with `_`
    ///   (docs/rules.md R2.12), `.undeclaredType` for any other undeclared identifier (R2.11).
    public func type(_ identifier: String) throws(RequestError) -> UniformType {
        if let type = types[identifier], type.identifier.hasSameBytes(as: identifier) { return type }
        let modern = identifier.replacing("_", with: "-")
        if modern != identifier, types[modern] != nil {
            throw RequestError(.deprecatedSpelling(use: modern), identifier, candidates: [modern])
        }
        throw RequestError(.undeclaredType, identifier)
    }

    /// Returns whether the type `identifier` conforms to the type `other` (docs/rules.md R2.6). An undeclared type
    /// does not conform to any type, not even to itself.
    public func conforms(_ identifier: String, to other: String) -> Bool {
        closure[identifier]?.contains(other) ?? false
    }

    private static func declarations(in list: [UInt8]) throws(RequestError) -> [UniformType] {
        let file: DeclarationFile
        do {
            file = try PropertyListDecoder().decode(DeclarationFile.self, from: Data(list))
        } catch {
            throw RequestError(
                .malformedDeclarations, "", detail: "not a property list of type declarations: \(error)")
        }
        return file.declarations.map { declaration in
            UniformType(
                identifier: declaration.identifier, description: declaration.description ?? "",
                conformsTo: declaration.conformsTo ?? [])
        }
    }
}

/// The top level of an `Info.plist`.
private struct DeclarationFile: Decodable {
    let declarations: [Declaration]

    enum CodingKeys: String, CodingKey {
        case declarations = "UTExportedTypeDeclarations"
    }

    struct Declaration: Decodable {
        let identifier: String
        let description: String?
        let conformsTo: [String]?

        enum CodingKeys: String, CodingKey {
            case identifier = "UTTypeIdentifier"
            case description = "UTTypeDescription"
            case conformsTo = "UTTypeConformsTo"
        }
    }
}
