/// Functions that explain why each item is enabled, disabled or absent under the types that a consumer asks
/// for.
///
/// Every row comes from the functions that filter: ``TypeRequest/decide(_:isEmpty:registry:)`` for what a
/// picker shows, ``SortedIdentities/decide(_:)`` for what belongs to a selection. Facts about certificates
/// are enough; no provider is needed.
///
/// ```swift
/// let request = try TypeRequest(["purebred2025.zip.signature"], mechanism: .keySharing2025)
/// let rows = Explanation.keySharing2025(items: [], identities: identities, request: request)
/// let sentences = rows.map { "\($0.identifier): \($0.message)" }
/// ```
public enum Explanation {
    /// The rows for types that cannot be asked for (docs/rules.md R2.13). An error that is not about a type
    /// gives no row.
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
                type: problem.name, reason, problem.reason, missing: problem.candidates)
        }
    }

    /// Explains what a request leads to that names types which cannot be asked for: a row for each of these types, then
    /// one for every item, of which none can be picked (docs/rules.md R2.13).
    ///
    /// - Parameters:
    ///   - problems: the errors of the request, as ``TypeRequest/problems(with:mechanism:registry:)`` gives them.
    ///   - items: the items of the provider: what a 2025 provider lists, or a legacy provider's identities.
    ///   - mechanism: the mechanism of the request. A legacy provider refuses such a request and lists nothing.
    public static func refusal(
        for problems: [RequestError], items: [Item], mechanism: Mechanism
    ) -> [ItemDecision] {
        let types = problems.map(\.name).joined(separator: ", ")
        return rows(for: problems)
            + items.map { item in
                ItemDecision(
                    item, mechanism == .legacy ? .absent : .disabled, .invalidRequest,
                    "the request is refused as a whole, because \(types) cannot be asked for")
            }
    }

    /// Explains a request of the 2025 mechanism: a row for every listed item, then one for every identity
    /// that the folders and zips asked for leave out.
    ///
    /// - Parameters:
    ///   - items: the items that the provider lists, containers before their contents; empty where only
    ///     identities are to be explained.
    ///   - identities: every identity that the provider holds.
    ///   - request: the requested types.
    public static func keySharing2025(
        items: [Item], identities: [IdentitySummary], request: TypeRequest
    ) -> [ItemDecision] {
        let identities = SortedIdentities(identities, under: .keySharing2025)
        let listed = items.map { item in
            request.decide(item, isEmpty: isEmpty(item, identities))
        }
        let asked = Selector.allCases.filter { selector in
            [
                selector.selectType(.keySharing2025), selector.companionType,
                selector.zipType(.keySharing2025),
            ].contains(where: request.identifiers.contains)
        }
        return listed + absentFromRoot(items, identities)
            + asked.flatMap { absent(from: $0, identities, request) }
    }

    /// The rows of identities without a file at the root, where a provider lists only the most recent ones
    /// there (docs/rules.md R3.2).
    private static func absentFromRoot(_ items: [Item], _ identities: SortedIdentities) -> [ItemDecision] {
        guard !items.isEmpty else { return [] }
        let listed = Set(items.map(\.identifier))
        let selection = Selector.all.selection(.keySharing2025)
        let wholeType = [Selector.noFilter.selectType(.keySharing2025), Selector.noFilter.companionType]
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

    /// Explains a request of the legacy mechanism: a row for every identity of the provider, listed or not,
    /// then one for every type of a request that names no identity.
    ///
    /// - Parameters:
    ///   - identities: every identity that the provider holds.
    ///   - request: the requested types.
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
            let holds = "it holds what was asked for, \(members.count) of \(decisions.count) identities"
            return [ItemDecision(archive, .enabled, .requested, holds)] + rows
        }
        let reason = "it names no identity of the provider, so nothing is listed"
        let lifting = "it only lifts \u{201C}most recent\u{201D} from the types that stand beside it"
        let noFilters = [Selector.noFilter.selectType(.legacy), Selector.noFilter.zipType(.legacy)]
        return rows
            + request.identifiers.map { type in
                ItemDecision(type: type, .emptySelection, noFilters.contains(type) ? lifting : reason)
            }
    }

    /// Whether the item is a folder or zip that no identity belongs to.
    private static func isEmpty(_ item: Item, _ identities: SortedIdentities) -> Bool {
        switch ItemIdentifier(item.identifier) {
        case .folder(let selector), .zip(let selector):
            identities.members(of: selector.selection(.keySharing2025)).isEmpty
        case .identity, .member, nil: false
        }
    }

    /// The rows of identities that the folder and zip of `selector` leave out.
    private static func absent(
        from selector: Selector, _ identities: SortedIdentities, _ request: TypeRequest
    ) -> [ItemDecision] {
        let selection = selector.selection(.keySharing2025)
        let unfiltered = unfilteredTypes(insteadOf: selector, request)
        return identities.decide(selection).compactMap { decision in
            guard decision.outcome != .member else { return nil }
            let identity = decision.identity
            let explained = row(
                decision, .file(identity, in: selector, under: .keySharing2025), under: .keySharing2025,
                selection: selection,
                container: "\u{201C}\(selector.folderName)\u{201D}", everyGeneration: unfiltered,
                named: namingTypes(identity.type(.keySharing2025), insteadOf: selector, request))
            // Omitted: an identity of another type is not expected here, and is explained at the root.
            return explained.reason == .notRequested ? nil : explained
        }
    }

    private static func legacyRow(
        _ decision: Membership, _ item: Item, _ wanted: LegacyRequest
    ) -> ItemDecision {
        let type: (Selector) -> String = {
            wanted.shape == .archive ? $0.zipType(.legacy) : $0.selectType(.legacy)
        }
        return row(
            decision, item, under: .legacy, selection: wanted.selection,
            container: wanted.shape == .archive ? "the archive" : "the list",
            everyGeneration: [type(.noFilter)],
            named: [type(selector(naming: decision.identity.type(.legacy)))])
    }

    /// The row of one identity that was held against a selection.
    ///
    /// - Parameters:
    ///   - container: the folder, list or archive that the selection fills, in words.
    ///   - everyGeneration: the types to ask for to reach older identities of the type too.
    ///   - named: the types to ask for to reach the identity's type.
    private static func row(
        _ decision: Membership, _ item: Item, under mechanism: Mechanism, selection: Selection,
        container: String,
        everyGeneration: [String], named: [String]
    ) -> ItemDecision {
        let own = decision.identity.classification(mechanism)
        switch decision.outcome {
        case .member:
            return ItemDecision(item, .enabled, .requested, "it is of type \(own.type), which was asked for")
        case .olderGeneration(let newest):
            return ItemDecision(
                item, .absent, .olderGeneration,
                "\(container) holds only the most recent \(own.type) identity, and \(newest.prefix(8))\u{2026} is newer",
                missing: everyGeneration)
        case .typeNotSelected:
            let because = "\(decision.identity.facts.summary); \(own.rule.sentence)"
            if own.type == .unknown {
                return ItemDecision(
                    item, .absent, .typeUnknown, "its type is unknown (\(because))", missing: named)
            }
            let other: Mechanism = mechanism == .legacy ? .keySharing2025 : .legacy
            let otherType = decision.identity.type(other)
            if otherType != own.type, selection.extents[otherType] != nil {
                return ItemDecision(
                    item, .absent, .classifiedDifferently,
                    "the \(mechanism) mechanism takes it for \(own.type), the \(other) one for \(otherType) (\(because))",
                    missing: named)
            }
            return ItemDecision(
                item, .absent, .notRequested, "\(container) holds no \(own.type) identities", missing: named)
        }
    }

    /// The types that reach every generation, as folder or as zip, whichever the request has for `selector`.
    private static func unfilteredTypes(insteadOf selector: Selector, _ request: TypeRequest) -> [String] {
        types(of: .noFilter, insteadOf: selector, request)
    }

    /// The types that reach identities of `type`, as folder or as zip, whichever the request has for
    /// `selector`.
    private static func namingTypes(
        _ type: CredentialType, insteadOf selector: Selector, _ request: TypeRequest
    ) -> [String] {
        types(of: type == .unknown ? .noFilter : self.selector(naming: type), insteadOf: selector, request)
    }

    /// The types of `other`: the folder's two where the request names a folder of `selector`, else the zip's.
    private static func types(
        of other: Selector, insteadOf selector: Selector, _ request: TypeRequest
    ) -> [String] {
        let asksForFolder =
            request.identifiers.contains(selector.selectType(.keySharing2025))
            || request.identifiers.contains(selector.companionType)
        return asksForFolder
            ? [other.selectType(.keySharing2025), other.companionType] : [other.zipType(.keySharing2025)]
    }

    /// The narrowest selector that names identities of `type`.
    private static func selector(naming type: CredentialType) -> Selector {
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
