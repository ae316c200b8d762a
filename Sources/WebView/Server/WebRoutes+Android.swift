internal import CommandSupport
internal import DeviceSimulation

extension WebRoutes {
    /// Carries out a POST request of a page about an Android phone.
    ///
    /// - Returns: False for an unknown path.
    /// - Throws: The failure of the action; `CommandFailure` (64) if the body is malformed.
    static func changeAndroid(_ path: String, _ body: [UInt8], _ session: AndroidSession) async throws -> Bool
    {
        switch path {
        case "/api/aliases/query": try await session.begin(.query, try read(AliasRequest.self, body))
        case "/api/aliases/choose": try await session.begin(.choose, try read(AliasRequest.self, body))
        case "/api/aliases/answer":
            let answer = try read(DialogAnswer.self, body)
            try await session.answer(answer.number, answer.answer, selecting: answer.alias)
        case "/api/aliases/permission":
            let change = try read(PermissionChange.self, body)
            try await session.decide(
                about: change.app, permission: change.permission.permission, revoking: nil)
        case "/api/aliases/revoke":
            let grant = try read(KeyGrant.self, body)
            try await session.decide(about: grant.app, permission: nil, revoking: grant.alias)
        case "/api/aliases/install": try await session.install()
        case "/api/aliases/reset": try await session.reset()
        default: return false
        }
        return true
    }

    private struct DialogAnswer: Decodable {
        let number: Int
        let answer: AndroidSession.Answer
        let alias: String?
    }

    private struct PermissionChange: Decodable {
        let app: String
        let permission: AliasAccess.Decision
    }

    private struct KeyGrant: Decodable {
        let app: String
        let alias: String
    }
}
