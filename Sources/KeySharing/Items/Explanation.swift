/// Explains why each item is enabled, disabled or absent under the types that a consumer requests.
///
/// The rows come from the functions that also filter items.
/// ``TypeRequest/keySharing2025Decision(for:isEmpty:registry:)`` decides what a picker shows, and
/// ``SortedIdentities/decide(_:)`` decides which identities belong to a selection. Neither needs a provider.
///
/// ```swift
/// let request = try TypeRequest(["purebred2025.zip.signature"], under: .keySharing2025)
/// let rows = Explanation.keySharing2025(items: [], identities: identities, request: request)
/// let sentences = rows.map { "\($0.identifier): \($0.message)" }
/// ```
public enum Explanation {
    /// Returns a row for each type that cannot be requested (docs/rules.md R2.13). Errors that are not about a type
    /// are omitted.
    public static func rows(for problems: [RequestError]) -> [ItemDecision] {
        problems.compactMap { problem in
            let reason: ItemDecision.Reason
            switch problem.code {
            case .undeclaredType: reason = .undeclaredType
            case .deprecatedSpelling: reason = .deprecatedSpelling
            case .mixedMechanisms: reason = .mixedMechanisms
            case .otherMechanism: reason = .otherMechanism
            case .malformedDeclarations, .noSuchItem, .ambiguousName, .itemDisabled, .isFolder,
                .noSuchIdentity,
                .ambiguousLabel:
                return nil
            }
            return ItemDecision(
                type: problem.name, reason, problem.message, missing: problem.candidates)
        }
    }

    /// Explains a request with invalid types. Such a request enables no item (docs/rules.md R2.13). Returns a row for
    /// each invalid type, then a row for each item.
    ///
    /// - Parameters:
    ///   - problems: The errors of the request, as returned by ``TypeRequest/problems(with:under:registry:)``.
    ///   - items: The items that a 2025 provider lists, or a legacy provider's identities.
    ///   - mechanism: The mechanism of the request. A legacy provider rejects such a request and lists nothing.
    public static func refusal(
        for problems: [RequestError], items: [Item], under mechanism: Mechanism
    ) -> [ItemDecision] {
        let types = problems.map(\.name).joined(separator: ", ")
        return rows(for: problems)
            + items.map { item in
                ItemDecision(
                    item, mechanism == .legacy ? .absent : .disabled, .invalidRequest,
                    "the request is rejected as a whole, because \(types) cannot be requested")
            }
    }

    /// Explains a request of the 2025 mechanism. Returns a row for each listed item, then a row for each identity that
    /// the requested folders and zips omit.
    ///
    /// - Parameters:
    ///   - items: The items that the provider lists, containers before their contents. Empty to explain only the
    ///     identities.
    ///   - identities: All identities of the provider.
    ///   - request: The requested types.
    public static func keySharing2025(
        items: [Item], identities: [IdentitySummary], request: TypeRequest
    ) -> [ItemDecision] {
        let identities = SortedIdentities(identities, under: .keySharing2025)
        let listed = items.map { item in
            request.keySharing2025Decision(for: item, isEmpty: isEmpty(item, identities))
        }
        let asked = IdentitySelector.allCases.filter { selector in
            [
                selector.selectType(under: .keySharing2025), selector.companionType,
                selector.zipType(under: .keySharing2025),
            ].contains(where: request.identifiers.contains)
        }
        return listed + absentFromRoot(items, identities)
            + asked.flatMap { absent(from: $0, identities, request) }
    }

    /// Returns the rows of identities without a file at the root. They are missing because a provider lists only the
    /// most recent identities there (docs/rules.md R3.2).
    private static func absentFromRoot(_ items: [Item], _ identities: SortedIdentities) -> [ItemDecision] {
        guard !items.isEmpty else { return [] }
        let listed = Set(items.map(\.identifier))
        let selection = IdentitySelector.all.selection(under: .keySharing2025)
        let wholeType = [
            IdentitySelector.noFilter.selectType(under: .keySharing2025),
            IdentitySelector.noFilter.companionType,
        ]
        let hidden = identities.decide(selection).filter {
            $0.outcome != .member && !listed.contains($0.identity.label)
        }
        return hidden.map { decision in
            row(
                decision, .file(decision.identity, under: .keySharing2025), under: .keySharing2025,
                selection: selection,
                container: "this provider's root", everyGeneration: wholeType, named: wholeType)
        }
    }

    /// Explains a request of the legacy mechanism. Returns a row for each identity of the provider, whether listed or
    /// not. The row of a requested archive comes first. If the request selects no identity, a row for each of its types
    /// comes last.
    ///
    /// - Parameters:
    ///   - identities: All identities of the provider.
    ///   - request: The requested types.
    public static func legacy(identities: [IdentitySummary], request: TypeRequest) -> [ItemDecision] {
        let wanted = LegacyRequest(types: request.identifiers)
        let decisions = SortedIdentities(identities, under: .legacy).decide(wanted.selection)
        let rows = decisions.map { decision in
            legacyRow(decision, .file(decision.identity, under: .legacy), wanted)
        }
        let members = decisions.filter { $0.outcome == .member }.map(\.identity)
        if let newest = members.map(\.notBefore).max() {
            guard wanted.shape == .archive else { return rows }
            let archive = LegacyRequest.archive(for: request.identifiers, created: newest)
            let holds = "it contains the requested identities, \(members.count) of \(decisions.count)"
            return [ItemDecision(archive, .enabled, .requested, holds)] + rows
        }
        let reason = "it selects no identity of the provider, so nothing is listed"
        let lifting = "it only extends the other requested types to older identities"
        let noFilters = [
            IdentitySelector.noFilter.selectType(under: .legacy),
            IdentitySelector.noFilter.zipType(under: .legacy),
        ]
        return rows
            + request.identifiers.map { type in
                ItemDecision(type: type, .emptySelection, noFilters.contains(type) ? lifting : reason)
            }
    }

    /// Returns whether the item is a folder or zip to which no identity belongs.
    private static func isEmpty(_ item: Item, _ identities: SortedIdentities) -> Bool {
        switch ItemIdentifier(item.identifier) {
        case .folder(let selector), .zip(let selector):
            identities.members(of: selector.selection(under: .keySharing2025)).isEmpty
        case .identity, .member, nil: false
        }
    }

    /// Returns the rows of identities that the folder and zip of `selector` omit.
    private static func absent(
        from selector: IdentitySelector, _ identities: SortedIdentities, _ request: TypeRequest
    ) -> [ItemDecision] {
        let selection = selector.selection(under: .keySharing2025)
        let unfiltered = unfilteredTypes(insteadOf: selector, request)
        return identities.decide(selection).compactMap { decision in
            guard decision.outcome != .member else { return nil }
            let identity = decision.identity
            let explained = row(
                decision, .file(identity, in: selector, under: .keySharing2025), under: .keySharing2025,
                selection: selection,
                container: "\u{201C}\(selector.folderName)\u{201D}", everyGeneration: unfiltered,
                named: namingTypes(identity.type(under: .keySharing2025), insteadOf: selector, request))
            // Omits identities of a different type. They are not expected here, and the rows of the root explain them.
            return explained.reason == .notRequested ? nil : explained
        }
    }

    private static func legacyRow(
        _ decision: Membership, _ item: Item, _ wanted: LegacyRequest
    ) -> ItemDecision {
        let type: (IdentitySelector) -> String = {
            wanted.shape == .archive ? $0.zipType(under: .legacy) : $0.selectType(under: .legacy)
        }
        return row(
            decision, item, under: .legacy, selection: wanted.selection,
            container: wanted.shape == .archive ? "the archive" : "the list",
            everyGeneration: [type(.noFilter)],
            named: [type(selector(naming: decision.identity.type(under: .legacy)))])
    }

    /// Returns the row for the decision whether an identity belongs to a selection.
    ///
    /// - Parameters:
    ///   - container: A phrase for the folder, list or archive that contains the selection.
    ///   - everyGeneration: The types that also select older identities of the identity's type.
    ///   - named: The types that select the identity's type.
    private static func row(
        _ decision: Membership, _ item: Item, under mechanism: Mechanism, selection: Selection,
        container: String,
        everyGeneration: [String], named: [String]
    ) -> ItemDecision {
        let own = decision.identity.classification(under: mechanism)
        switch decision.outcome {
        case .member:
            return ItemDecision(item, .enabled, .requested, "it is of type \(own.type), which was requested")
        case .olderGeneration(let newest):
            return ItemDecision(
                item, .absent, .olderGeneration,
                "\(container) contains only the most recent \(own.type) identity, and \(newest.prefix(8))\u{2026} is newer",
                missing: everyGeneration)
        case .typeNotSelected:
            let because = "\(decision.identity.facts.summary); \(own.rule.message)"
            if own.type == .unknown {
                return ItemDecision(
                    item, .absent, .typeUnknown, "its type is unknown (\(because))", missing: named)
            }
            let other: Mechanism = mechanism == .legacy ? .keySharing2025 : .legacy
            let otherType = decision.identity.type(under: other)
            if otherType != own.type, selection.extents[otherType] != nil {
                return ItemDecision(
                    item, .absent, .classifiedDifferently,
                    "the \(mechanism) mechanism treats it as \(own.type), the \(other) one as \(otherType) (\(because))",
                    missing: named)
            }
            return ItemDecision(
                item, .absent, .notRequested, "\(container) contains no \(own.type) identities",
                missing: named)
        }
    }

    /// Returns the types that select every generation: folder types if the request names the folder of `selector`,
    /// otherwise the zip type.
    private static func unfilteredTypes(insteadOf selector: IdentitySelector, _ request: TypeRequest)
        -> [String]
    {
        types(of: .noFilter, insteadOf: selector, request)
    }

    /// Returns the types that select identities of `type`: folder types if the request names the folder of `selector`,
    /// otherwise the zip type.
    private static func namingTypes(
        _ type: CredentialType, insteadOf selector: IdentitySelector, _ request: TypeRequest
    ) -> [String] {
        types(of: type == .unknown ? .noFilter : self.selector(naming: type), insteadOf: selector, request)
    }

    /// Returns the types of `other`: both folder types if the request names a folder type of `selector`, otherwise the
    /// zip type.
    private static func types(
        of other: IdentitySelector, insteadOf selector: IdentitySelector, _ request: TypeRequest
    ) -> [String] {
        let asksForFolder =
            request.identifiers.contains(selector.selectType(under: .keySharing2025))
            || request.identifiers.contains(selector.companionType)
        return asksForFolder
            ? [other.selectType(under: .keySharing2025), other.companionType]
            : [other.zipType(under: .keySharing2025)]
    }

    /// Returns the narrowest selector that selects identities of `type`.
    private static func selector(naming type: CredentialType) -> IdentitySelector {
        switch type {
        case .encryption: .encryption
        case .device: .device
        case .signature: .signature
        case .authentication: .authentication
        case .multi: .allUser
        case .unknown: .all
        }
    }
}
