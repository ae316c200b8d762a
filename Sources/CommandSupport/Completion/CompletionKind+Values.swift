package import ArgumentParser
internal import KeySharing

extension CompletionKind {
    /// Candidates that a function of the line gives.
    package static func values(_ candidates: @escaping @Sendable (CompletionRequest) -> [String])
        -> CompletionKind
    {
        .custom { candidates(CompletionRequest($0, $1, $2)) }
    }

    /// Candidates that a function of the line gives, which may have to ask another process.
    package static func answers(
        _ candidates: @escaping @Sendable (CompletionRequest) async -> [String]
    ) -> CompletionKind {
        .custom { await candidates(CompletionRequest($0, $1, $2)) }
    }

    /// The uniform types that `--uti` takes, but for those on the line already. Types of one mechanism are left out
    /// where the line has one of the other, or names the other.
    package static let uniformTypes = CompletionKind.values { request in
        let given = request.values(of: "--uti").compactMap(Mechanism.init(owning:))
        let named = request.values(of: "--mechanism").compactMap(Mechanism.init(rawValue:))
        let mechanisms = (named + given).first.map { [$0] } ?? [.keySharing2025, .legacy]
        return request.remaining(mechanisms.flatMap(\.requestableTypes), of: "--uti")
    }

    /// The types of a comma-separated `--types`.
    package static let credentialTypes = CompletionKind.values { request in
        request.list(
            of: CredentialType.allCases.filter { $0 != .multi && $0 != .unknown }.map(\.rawValue))
    }

    /// The containers that can be opened.
    package static let containers = CompletionKind.list(Selector.allCases.map(\.folderName))
}
