package import ArgumentParser
internal import KeySharing

extension CompletionKind {
    /// Candidates that a function computes from the command line.
    package static func values(_ candidates: @escaping @Sendable (CompletionRequest) -> [String])
        -> CompletionKind
    {
        .custom { candidates(CompletionRequest($0, $1, $2)) }
    }

    /// Candidates that a function computes from the command line and may have to request from another process.
    package static func answers(
        _ candidates: @escaping @Sendable (CompletionRequest) async -> [String]
    ) -> CompletionKind {
        .custom { await candidates(CompletionRequest($0, $1, $2)) }
    }

    /// The uniform types for `--uti`, without those that are already on the line. If the line names a mechanism or one
    /// of its types, types of the other mechanism are omitted.
    package static let uniformTypes = CompletionKind.values { request in
        let given = request.values(of: "--uti").compactMap(Mechanism.init(owning:))
        let named = request.values(of: "--mechanism").compactMap(Mechanism.init(rawValue:))
        let mechanisms = (named + given).first.map { [$0] } ?? [.keySharing2025, .legacy]
        return request.remaining(mechanisms.flatMap(\.requestableTypes), of: "--uti")
    }

    /// The types for the comma-separated list of `--types`.
    package static let credentialTypes = CompletionKind.values { request in
        request.list(
            of: CredentialType.allCases.filter { $0 != .multi && $0 != .unknown }.map(\.rawValue))
    }

    /// The names of the containers that can be listed.
    package static let containers = CompletionKind.list(IdentitySelector.allCases.map(\.folderName))
}
