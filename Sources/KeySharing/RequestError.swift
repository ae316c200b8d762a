/// A request that cannot be met: types that cannot be asked for, or a name that picks no item.
///
/// Callers branch on ``code``; two errors are equal when their codes are. What to do about an error is for
/// the caller to say, from the code and the ``candidates``.
///
/// ```swift
/// var advice: String?
/// do throws(RequestError) {
///     _ = try TypeRequest(["purebred2025.select.all_user"], mechanism: .keySharing2025)
/// } catch {
///     if case .deprecatedSpelling(let modern) = error.code { advice = "ask for \(modern)" }
/// }
/// ```
public struct RequestError: Error, Equatable, Sendable {
    /// The kinds of request that cannot be met.
    public enum Code: Hashable, Sendable {
        /// No property list declares the uniform type (docs/rules.md R2.11).
        case undeclaredType
        /// The uniform type is spelled with `_`; `use` is the spelling to ask for (docs/rules.md R2.12).
        case deprecatedSpelling(use: String)
        /// A property list holds no type declarations, or declares a type twice.
        case malformedDeclarations
        /// The request names types of both mechanisms (docs/rules.md R1.1).
        case mixedMechanisms
        /// All types of the request belong to another mechanism, the one given (docs/rules.md R1.3).
        case otherMechanism(Mechanism)
        /// No item has the name or identifier.
        case noSuchItem
        /// Several items have the file name, or a label or serial number that starts with the text given.
        case ambiguousName
        /// The type of the item was not asked for (docs/rules.md R7.19).
        case itemDisabled
        /// The item is a folder, which has no bytes (docs/rules.md R2.10).
        case isFolder
        /// The keychain holds no identity of that name.
        case noSuchIdentity
        /// Several identities have a label or serial number that starts with the text given.
        case ambiguousLabel
    }

    /// The kind of error; callers branch on it.
    public let code: Code
    /// The uniform type, item name or label that was asked for.
    public let name: String
    /// What could be asked for instead: types that would enable the item, or identifiers that the name may
    /// mean.
    public let candidates: [String]
    private let detail: String?

    /// Makes an error about `name`.
    ///
    /// - Parameters:
    ///   - code: what is wrong.
    ///   - name: the type, item or name that the error is about.
    ///   - detail: a phrase for codes that need one: why an item is disabled, what is wrong with
    ///     declarations, how a name is ambiguous.
    ///   - candidates: the value of ``candidates``.
    public init(_ code: Code, _ name: String, detail: String? = nil, candidates: [String] = []) {
        self.code = code
        self.name = name
        self.detail = detail
        self.candidates = candidates
    }

    /// Compares the codes alone.
    public static func == (left: RequestError, right: RequestError) -> Bool { left.code == right.code }
}

extension RequestError {
    /// What happened, as one phrase without a full stop.
    public var reason: String {
        let quoted = "\u{201C}\(name)\u{201D}"
        return switch code {
        case .undeclaredType: "\(name) is no declared uniform type"
        case .deprecatedSpelling: "\(name) is a deprecated spelling"
        case .malformedDeclarations: detail ?? "the property list holds no type declarations"
        case .mixedMechanisms: "\(name) stands beside types of the other mechanism; the two never mix"
        case .otherMechanism(let owner): "\(name) belongs to the \(owner) mechanism"
        case .noSuchItem: "there is no item \(quoted)"
        case .ambiguousName: detail ?? "\(candidates.count) items are named \(quoted)"
        case .itemDisabled: "\(quoted) is disabled" + (detail.map { ": \($0)" } ?? "")
        case .isFolder: "\(quoted) is a folder"
        case .noSuchIdentity: "the keychain holds no identity \(quoted)"
        case .ambiguousLabel:
            "\(candidates.count) identities have a label or serial number that starts with \(quoted)"
        }
    }

    /// Whether types of one mechanism were asked of the other (docs/rules.md R1.1, R1.3).
    package var isMixed: Bool {
        switch code {
        case .mixedMechanisms, .otherMechanism: true
        default: false
        }
    }
}

extension RequestError: CustomStringConvertible {
    /// The reason, as interpolation prints it.
    public var description: String { reason }
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
