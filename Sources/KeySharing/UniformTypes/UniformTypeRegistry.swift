internal import Foundation
internal import UTTypes

/// The types a device knows, and what conforms to what.
///
/// Look-ups are by exact identifier. Conformance is transitive and reflexive, as `UTType.conforms(to:)` has it.
public struct UniformTypeRegistry: Sendable {
    /// The types of both mechanisms and the system types they stand on.
    public static let standard = UniformTypeRegistry(builtIn: [
        UTTypeDeclarations.system, UTTypeDeclarations.legacy, UTTypeDeclarations.keySharing2025,
    ])

    /// Every declared type by its identifier.
    public let types: [String: UniformType]

    /// Each identifier with everything it conforms to, itself included.
    private let closure: [String: Set<String>]

    /// Reads property lists that hold `UTExportedTypeDeclarations`.
    ///
    /// - Throws: `RequestError` `.malformedDeclarations` for a list that is none, lacks an identifier, or declares
    ///   one twice.
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

    /// The compiled-in lists: a test reads them through the throwing initialiser, so that a slip in one of
    /// them fails there and not here.
    private init(builtIn lists: [[UInt8]]) {
        let declared = lists.flatMap { list in (try? Self.declarations(in: list)) ?? [] }
        self.init(
            types: Dictionary(declared.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first }))
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

    /// The declared type of this identifier.
    ///
    /// - Throws: `RequestError`: `.deprecatedSpelling` for a spelling with `_` of a declared identifier,
    ///   `.undeclaredType` for everything else that is not declared.
    public func type(_ identifier: String) throws(RequestError) -> UniformType {
        if let type = types[identifier] { return type }
        let modern = identifier.replacingOccurrences(of: "_", with: "-")
        if modern != identifier, types[modern] != nil {
            throw RequestError(.deprecatedSpelling(use: modern), identifier, candidates: [modern])
        }
        throw RequestError(.undeclaredType, identifier)
    }

    /// Whether something of type `identifier` is also of type `other`. Undeclared identifiers conform to
    /// nothing.
    public func conforms(_ identifier: String, to other: String) -> Bool {
        closure[identifier]?.contains(other) ?? false
    }

    private static func declarations(in list: [UInt8]) throws(RequestError) -> [UniformType] {
        let file: DeclarationFile
        do {
            file = try PropertyListDecoder().decode(DeclarationFile.self, from: Data(list))
        } catch {
            throw RequestError(
                .malformedDeclarations, "", detail: "no property list of type declarations: \(error)")
        }
        return file.declarations.map { declaration in
            UniformType(
                identifier: declaration.identifier, description: declaration.description ?? "",
                conformsTo: declaration.conformsTo ?? [])
        }
    }
}

/// `UTExportedTypeDeclarations` as an `Info.plist` spells it.
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
