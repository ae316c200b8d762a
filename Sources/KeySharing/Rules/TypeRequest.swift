/// The uniform types that a consumer requests, validated for one mechanism.
///
/// ```swift
/// let request = try TypeRequest(
///     [
///         IdentitySelector.signature.selectType(under: .keySharing2025),
///         IdentitySelector.signature.companionType,
///     ],
///     under: .keySharing2025)
/// let selectable = items.filter { request.keySharing2025Decision(for: $0).isEnabled }
/// ```
public struct TypeRequest: Sendable, Hashable {
    /// The mechanism that the types belong to.
    public let mechanism: Mechanism
    /// The identifiers in the order of the request, without duplicates. Never empty.
    public let identifiers: [String]

    /// Validates every identifier. A request without identifiers requests the mechanism's plain PKCS #12 type
    /// (docs/rules.md R1.4).
    ///
    /// - Throws: `RequestError` for the first identifier that cannot be requested: `.undeclaredType`,
    ///   `.deprecatedSpelling`, `.mixedMechanisms`, `.otherMechanism`.
    public init(
        _ identifiers: [String], under mechanism: Mechanism, registry: UniformTypeRegistry = .standard
    ) throws(RequestError) {
        let problems = Self.problems(with: identifiers, under: mechanism, registry: registry)
        if let first = problems.first { throw first }
        self.mechanism = mechanism
        let asked = identifiers.isEmpty ? [mechanism.plainType] : identifiers
        self.identifiers = asked.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Returns the errors of a request, one for each identifier that cannot be requested (docs/rules.md R1.1, R1.3,
    /// R2.11, R2.12).
    public static func problems(
        with identifiers: [String], under mechanism: Mechanism, registry: UniformTypeRegistry = .standard
    ) -> [RequestError] {
        let owners = Set(identifiers.compactMap(Mechanism.init(owning:)))
        return identifiers.compactMap { identifier in
            do throws(RequestError) {
                _ = try registry.type(identifier)
            } catch {
                return error
            }
            guard let owner = Mechanism(owning: identifier), owner != mechanism else { return nil }
            return RequestError(owners.count > 1 ? .mixedMechanisms : .otherMechanism(owner), identifier)
        }
    }
}

extension TypeRequest {
    /// Decides whether an item of the 2025 mechanism can be picked, as the document picker does: by the conformance of
    /// the item's type (docs/rules.md R2.7 to R2.9). In legacy, the provider decides which items it lists; see
    /// ``Explanation/legacy(identities:request:)``.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - isEmpty: Whether the folder or zip is known to be empty.
    ///   - registry: The known types, with their conformance.
    public func keySharing2025Decision(
        for item: Item, isEmpty: Bool = false, registry: UniformTypeRegistry = .standard
    ) -> ItemDecision {
        let match = identifiers.first { registry.conforms(item.contentType, to: $0) }
        let selector = Self.selector(of: item)
        if isEmpty, let selector {
            return ItemDecision(
                item, match == nil ? .disabled : .enabled, .emptySelection,
                "no identity of the provider belongs to \(selector.rawValue), so it is empty",
                missing: match == nil ? [item.contentType] : [])
        }
        if let match {
            if item.kind == .folder, let companion = selector?.companionType, !asks(for: companion, registry)
            {
                return ItemDecision(
                    item, .enabled, .folderContentsDisabled,
                    "the folder can be opened, but its files have the type \(companion), which was not requested",
                    missing: [companion])
            }
            let detail =
                match == item.contentType ? "was requested" : "conforms to \(match), which was requested"
            return ItemDecision(item, .enabled, .requested, "its type \(item.contentType) \(detail)")
        }
        if item.kind == .pkcs12, let folderType = selector?.selectType(under: .keySharing2025),
            asks(for: folderType, registry)
        {
            return ItemDecision(
                item, .disabled, .companionMissing,
                "its folder's type \(folderType) was requested without the companion \(item.contentType)",
                missing: [item.contentType])
        }
        let opening = item.kind == .folder ? "; the folder can still be opened" : ""
        return ItemDecision(
            item, .disabled, .notRequested,
            "its type \(item.contentType) conforms to none of the requested types\(opening)",
            missing: [item.contentType])
    }

    private func asks(for type: String, _ registry: UniformTypeRegistry) -> Bool {
        identifiers.contains { registry.conforms(type, to: $0) }
    }

    private static func selector(of item: Item) -> IdentitySelector? {
        switch ItemIdentifier(item.identifier) {
        case .member(let selector, _), .folder(let selector), .zip(let selector): selector
        case .identity, nil: nil
        }
    }
}
