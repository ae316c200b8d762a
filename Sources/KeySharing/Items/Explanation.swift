/// Why each item is enabled, disabled or absent under the types a consumer asks for.
///
/// Every row comes from the functions that filter for real: `TypeRequest.decide` for what a picker shows,
/// `SortedIdentities.decide` for what belongs to a selection.
public enum Explanation {
    /// The rows for types that cannot be asked for at all. An error that is not about a type gives no row.
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

    /// Explains the 2025 mechanism: every listed item, then the identities that are in none of the folders and
    /// zips asked for.
    ///
    /// - Parameters:
    ///   - items: everything the provider lists, containers before their contents; none where only identities
    ///     are explained.
    ///   - identities: what the provider says of every identity it holds.
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

    /// The identities without a file of their own at the root, where a provider lists but the most recent there.
    private static func absentFromRoot(_ items: [Item], _ identities: SortedIdentities) -> [ItemDecision] {
        guard !items.isEmpty else { return [] }
        let listed = Set(items.map(\.identifier))
        let selection = Selector.all.selection(.keySharing2025)
        let reach = [Selector.noFilter.selectType(.keySharing2025), Selector.noFilter.companionType]
        let hidden = identities.decide(selection).filter {
            $0.outcome != .member && !listed.contains($0.identity.label)
        }
        return hidden.map { decision in
            row(
                decision, .file(decision.identity, under: .keySharing2025), under: .keySharing2025,
                selection: selection,
                place: "this provider's root", everyOne: reach, named: reach)
        }
    }

    /// Explains the legacy mechanism: every identity of the provider, listed or not, then the types that name
    /// none.
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

    private static func isEmpty(_ item: Item, _ identities: SortedIdentities) -> Bool {
        switch ItemIdentifier(item.identifier) {
        case .folder(let selector), .zip(let selector):
            identities.members(of: selector.selection(.keySharing2025)).isEmpty
        case .identity, .member, nil: false
        }
    }

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
                place: "\u{201C}\(selector.folderName)\u{201D}", everyOne: unfiltered,
                named: namingTypes(identity.type(.keySharing2025), insteadOf: selector, request))
            // An identity of another type is nobody's surprise, and has its row at the root.
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
            place: wanted.shape == .archive ? "the archive" : "the list", everyOne: [type(.noFilter)],
            named: [type(selector(naming: decision.identity.type(.legacy)))])
    }

    private static func row(
        _ decision: Membership, _ item: Item, under mechanism: Mechanism, selection: Selection, place: String,
        everyOne: [String], named: [String]
    ) -> ItemDecision {
        let own = decision.identity.classification(mechanism)
        switch decision.outcome {
        case .member:
            return ItemDecision(item, .enabled, .requested, "it is of type \(own.type), which was asked for")
        case .olderGeneration(let newest):
            return ItemDecision(
                item, .absent, .olderGeneration,
                "\(place) holds only the most recent \(own.type) identity, and \(newest.prefix(8))\u{2026} is newer",
                missing: everyOne)
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
                item, .absent, .notRequested, "\(place) holds no \(own.type) identities", missing: named)
        }
    }

    /// The types by which a 2025 consumer reaches every generation the way it asked for `selector`.
    private static func unfilteredTypes(insteadOf selector: Selector, _ request: TypeRequest) -> [String] {
        types(of: .noFilter, inTheWay: selector, request)
    }

    private static func namingTypes(
        _ type: CredentialType, insteadOf selector: Selector, _ request: TypeRequest
    ) -> [String] {
        types(of: type == .unknown ? .noFilter : self.selector(naming: type), inTheWay: selector, request)
    }

    /// The zip type where the zip was asked for, the folder's two types otherwise.
    private static func types(
        of other: Selector, inTheWay selector: Selector, _ request: TypeRequest
    ) -> [String] {
        let asksForFolder =
            request.identifiers.contains(selector.selectType(.keySharing2025))
            || request.identifiers.contains(selector.companionType)
        return asksForFolder
            ? [other.selectType(.keySharing2025), other.companionType] : [other.zipType(.keySharing2025)]
    }

    /// The narrowest selector that names a type.
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

extension CertificateFacts {
    /// Key usage and kinds of names in words, for explanations.
    public var summary: String {
        var names: [String] = []
        if hasRFC822Name { names.append("an e-mail name") }
        if hasUTF8OtherName { names.append("a principal name") }
        if hasOtherOtherName { names.append("another otherName") }
        let usage = keyUsage.map { $0.names.isEmpty ? "empty" : $0.names.joined(separator: ", ") } ?? "absent"
        return
            "key usage \(usage); names: \(names.isEmpty ? "none of interest" : names.joined(separator: ", "))"
    }
}
