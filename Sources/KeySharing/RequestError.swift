#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An error in a request: a uniform type that cannot be requested, or a name that matches no item.
///
/// Branch on ``code``. Two errors are equal if their codes are equal. The error suggests no remedy of its own: callers
/// derive one from the code and the ``candidates``.
///
/// ```swift
/// var advice: String?
/// do throws(RequestError) {
///     _ = try TypeRequest(["purebred2025.select.all_user"], under: .keySharing2025)
/// } catch {
///     if case .deprecatedSpelling(let modern) = error.code { advice = "ask for \(modern)" }
/// }
/// ```
public struct RequestError: Error, Equatable, Sendable {
    /// The kinds of errors.
    public enum Code: Hashable, Sendable {
        /// No property list declares the uniform type (docs/rules.md R2.11).
        case undeclaredType
        /// The uniform type is spelled with `_`; request `use` instead (docs/rules.md R2.12).
        case deprecatedSpelling(use: String)
        /// A property list contains no type declarations or declares a type twice.
        case malformedDeclarations
        /// The request names types of both mechanisms (docs/rules.md R1.1).
        case mixedMechanisms
        /// All types of the request belong to the associated mechanism, which is not the expected one (docs/rules.md
        /// R1.3).
        case otherMechanism(Mechanism)
        /// No item has the name or identifier.
        case noSuchItem
        /// Several items match the name: by their file name, or because their label or serial number starts with it.
        case ambiguousName
        /// The item's type was not requested (docs/rules.md R7.19).
        case itemDisabled
        /// The item is a folder, which has no bytes (docs/rules.md R2.10).
        case isFolder
        /// The keychain contains no identity with that name.
        case noSuchIdentity
        /// Several identities have a label or serial number that starts with the name.
        case ambiguousLabel
    }

    /// The kind of error.
    public let code: Code
    /// The uniform type, item name or label that was requested.
    public let name: String
    /// Alternatives to request: types that would enable the item, or identifiers that the name could mean.
    public let candidates: [String]
    private let detail: String?

    /// Creates an error about `name`.
    ///
    /// - Parameters:
    ///   - code: The kind of error.
    ///   - name: The uniform type, item name or label that was requested.
    ///   - detail: A phrase for codes that need one: why an item is disabled, how the declarations are malformed, or
    ///     why a name is ambiguous.
    ///   - candidates: Alternatives to request; see ``candidates``.
    public init(_ code: Code, _ name: String, detail: String? = nil, candidates: [String] = []) {
        self.code = code
        self.name = name
        self.detail = detail
        self.candidates = candidates
    }

    /// Compares only the codes.
    public static func == (left: RequestError, right: RequestError) -> Bool { left.code == right.code }
}

extension RequestError {
    /// The cause of the error, as a phrase without a full stop.
    public var message: String {
        let quoted = "\u{201C}\(name)\u{201D}"
        return switch code {
        case .undeclaredType: "\(name) is not a declared uniform type"
        case .deprecatedSpelling: "\(name) is a deprecated spelling"
        case .malformedDeclarations: detail ?? "the property list contains no type declarations"
        case .mixedMechanisms: "\(name) is combined with types of the other mechanism; they cannot be mixed"
        case .otherMechanism(let owner): "\(name) belongs to the \(owner) mechanism"
        case .noSuchItem: "there is no item \(quoted)"
        case .ambiguousName: detail ?? "\(candidates.count) items are named \(quoted)"
        case .itemDisabled: "\(quoted) is disabled" + (detail.map { ": \($0)" } ?? "")
        case .isFolder: "\(quoted) is a folder"
        case .noSuchIdentity: "the keychain contains no identity \(quoted)"
        case .ambiguousLabel:
            "\(candidates.count) identities have a label or serial number that starts with \(quoted)"
        }
    }

    /// Whether types of one mechanism were requested from the other (docs/rules.md R1.1, R1.3).
    package var isMixed: Bool {
        switch code {
        case .mixedMechanisms, .otherMechanism: true
        default: false
        }
    }
}

extension RequestError: CustomStringConvertible {
    /// The value of ``message``.
    public var description: String { message }
}

extension RequestError: LocalizedError {
    /// The value of ``message``, which `localizedDescription` then returns. The text is English only.
    public var errorDescription: String? { message }
}

extension RequestError.Code {
    /// The stable name of the code, for scripts: `no-such-item`.
    public var name: String {
        switch self {
        case .undeclaredType: "undeclared-type"
        case .deprecatedSpelling: "deprecated-spelling"
        case .malformedDeclarations: "malformed-declarations"
        case .mixedMechanisms: "mixed-mechanisms"
        case .otherMechanism: "other-mechanism"
        case .noSuchItem: "no-such-item"
        case .ambiguousName: "ambiguous-name"
        case .itemDisabled: "item-disabled"
        case .isFolder: "is-folder"
        case .noSuchIdentity: "no-such-identity"
        case .ambiguousLabel: "ambiguous-label"
        }
    }
}
