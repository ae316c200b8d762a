internal import Diagnostics
package import KeySharing

// KeySharing is public and depends on no module of this package, so the conformance is declared here.
extension RequestError: ReportableFailure {
    /// The text that the library calls `message`.
    package var reason: String { message }

    package static let codes: [Code] = [
        .undeclaredType, .deprecatedSpelling(use: "TYPE"), .malformedDeclarations, .mixedMechanisms,
        .otherMechanism(.legacy), .otherMechanism(.keySharing2025), .noSuchItem, .ambiguousName,
        .itemDisabled,
        .isFolder, .noSuchIdentity, .ambiguousLabel,
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        let (status, hint): (ExitStatus, String?) =
            switch code {
            case .undeclaredType: (.usage, .types)
            case .deprecatedSpelling(let modern): (.usage, "use \(modern)")
            case .malformedDeclarations: (.malformed, nil)
            case .mixedMechanisms: (.usage, "request types of only one mechanism")
            case .otherMechanism(.legacy): (.usage, "add --mechanism legacy")
            case .otherMechanism(.keySharing2025):
                (.usage, "request a legacy type, or omit --mechanism legacy")
            case .noSuchItem: (.noSuchItem, .items)
            case .ambiguousName, .isFolder: (.noSuchItem, nil)
            case .itemDisabled: (.refused, nil)
            case .noSuchIdentity: (.noSuchItem, "to list the identities: keyshare-consumer list")
            case .ambiguousLabel: (.noSuchItem, "use a longer prefix")
            }
        return FailureMeaning(status, code.name, hint: hint)
    }

    package var particularHint: String? {
        switch code {
        case .ambiguousName:
            "use an identifier: " + candidates.prefix(3).joined(separator: ", ")
        case .itemDisabled:
            candidates.isEmpty ? nil : "request it with --uti " + candidates.joined(separator: " --uti ")
        case .ambiguousLabel:
            "use a longer prefix: "
                + candidates.prefix(3).map { String($0.prefix(max(16, name.count + 4))) }.joined(
                    separator: ", ")
                + (candidates.count > 3 ? ", \u{2026}" : "")
        case .isFolder: hintOfFolder
        case .undeclaredType:
            // The prefix determines the mechanism, so only types of that mechanism are suggested.
            NearMatch.of(name, among: mechanismsOfName.flatMap(\.requestableTypes)).map {
                "did you mean \u{201C}\($0)\u{201D}? " + .types
            }
        case .deprecatedSpelling, .malformedDeclarations, .mixedMechanisms, .otherMechanism,
            .noSuchItem, .noSuchIdentity:
            nil
        }
    }
}

extension String {
    /// The hint that lists the uniform types.
    fileprivate static let types = "to list the types: keyshare-consumer browse --help"
}

extension RequestError {
    /// The mechanism whose types begin like the name; all mechanisms if none do.
    private var mechanismsOfName: [Mechanism] {
        Mechanism(owning: name).map { [$0] } ?? Mechanism.allCases
    }

    /// The hint for a folder: use one of its files, or request the types that enable these files.
    private var hintOfFolder: String {
        if CommandMain.programName == "keyshare-provider" {
            return "name one of its files, or \u{201C}\(name).zip\u{201D}"
        }
        if candidates.isEmpty {
            return "import one of its files; to list them: keyshare-consumer browse \(name.quotedForShell)"
        }
        return "its files are disabled: request them with --uti " + candidates.joined(separator: " --uti ")
    }
}
