internal import CommandSupport
internal import DeviceSimulation
internal import Diagnostics
internal import Foundation
internal import KeyShareProvider
internal import LoopbackHTTP
internal import Scenarios
internal import Synchronization
internal import TestCredentials

/// Answers the requests to the page's server.
///
/// A failed action is answered with a normal response in the format of the commands. Only a request that the page never
/// sends gets a status of 4xx.
final class WebRoutes: Sendable {
    /// The data that the page shows: a device or a recording.
    enum Source: Sendable {
        case live(LivePage)
        case replay(Recording)
    }

    private let source: Source
    /// The access control; nil until the port is known.
    private let access = Mutex<WebAccess?>(nil)

    init(_ source: Source) {
        self.source = source
    }

    /// The page of a device; nil for a recording.
    var live: LivePage? {
        if case .live(let page) = source { page } else { nil }
    }

    /// Sets the access control. Until then, every request is rejected.
    func open(_ access: WebAccess) {
        self.access.withLock { $0 = access }
    }

    /// Answers a request to the server.
    @Sendable func answer(_ request: HTTPRequest) async -> HTTPAnswer {
        guard let access = access.withLock({ $0 }) else {
            return .response(.text(503, "the server is starting", mayBeStored: false))
        }
        switch access.judge(request) {
        case .send(let response): return .response(response)
        case .answer: break
        }
        if request.method != .post, let file = PageFiles.response(request.path) { return .response(file) }
        switch (request.method, request.path) {
        case (.get, "/api/session"): return json(SessionDocument(token: access.token, isReplay: live == nil))
        case (.get, "/api/recording"):
            guard case .replay(let recording) = source else { return missing }
            return json(recording)
        case (.get, "/api/events"):
            guard let live else { return missing }
            let number = request.field("last-event-id").flatMap(Int.init) ?? 0
            let (backlog, news) = live.journal.open(after: number)
            return .stream(
                HTTPResponse(
                    contentType: "text/event-stream", body: backlog, mayBeStored: false,
                    fields: WebAccess.fields),
                news)
        case (.get, "/api/state"):
            guard let live else { return missing }
            return json(await live.session.document(android: await live.android.document()))
        case (.post, let path):
            guard let live else { return missing }
            return await change(path, request.body, live)
        default: return missing
        }
    }

    /// Carries out a POST request of a page.
    private func change(_ path: String, _ body: [UInt8], _ live: LivePage) async -> HTTPAnswer {
        let session = live.session
        do {
            switch path {
            case "/api/picker":
                let asked = try Self.read(PickerRequest.self, body)
                let extent = try Self.read(PickerExtent.self, body)
                return json(try await session.picker(asked, hasRows: extent.rows))
            case "/api/details":
                return json(try await session.details(of: try Self.read(Named.self, body).name))
            case "/api/import": try await session.beginImport(try Self.read(PickerRequest.self, body))
            case "/api/answer":
                let answer = try Self.read(Answer.self, body)
                await session.questions.answer(answer.number, answer.allow)
            case "/api/device": try await session.perform(try Self.read(DeviceChange.self, body).action)
            case "/api/presence/set":
                try await session.setPresence(try Self.read(PresenceChange.self, body).answer)
            case "/api/presence/answer":
                let answer = try Self.read(PresenceAnswer.self, body)
                try await session.answer(question: answer.number, answer.answer)
            case "/api/provider/start":
                let fault = try Self.read(FaultChoice.self, body).fault
                try await session.process.start(fault: fault)
            case "/api/provider/stop": await session.process.stop()
            case "/api/provision":
                let choice = try Self.read(ScenarioChoice.self, body)
                try await session.provision(choice.scenario, replacing: choice.replacing)
            case "/api/consumer/clear": try await session.clearConsumer()
            default:
                guard try await Self.changeAndroid(path, body, live.android) else { return missing }
            }
            live.journal.announceChange()
            return json(Done())
        } catch {
            return json(FailureDocument(CommandFailure(error)))
        }
    }

    private var missing: HTTPAnswer { .response(.text(404, "not found", mayBeStored: false)) }

    private func json(_ document: some Encodable) -> HTTPAnswer {
        let body = (try? DocumentCoding.encode(document, onOneLine: true)) ?? Data("{}".utf8)
        return .response(
            HTTPResponse(
                contentType: "application/json", body: Array(body), mayBeStored: false,
                fields: WebAccess.fields))
    }

    /// Decodes the body of a page's request.
    ///
    /// - Throws: `CommandFailure` (64) if the body is malformed.
    static func read<Value: Decodable>(_ type: Value.Type, _ body: [UInt8]) throws -> Value {
        guard CombiningMarks.areFew(inJSON: body) else {
            throw CommandFailure(.usage, "the page sent text with too many combining marks")
        }
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            throw CommandFailure(.usage, "the page sent an unknown request")
        }
    }
}

// MARK: - Messages of a page

extension WebRoutes {
    private struct Done: Encodable {}

    private struct Named: Decodable { let name: String }

    private struct PickerExtent: Decodable { let rows: Bool }

    private struct Answer: Decodable {
        let number: Int
        let allow: Bool
    }

    private struct DeviceChange: Decodable { let action: PhoneSession.DeviceAction }

    private struct PresenceChange: Decodable { let answer: UserPresence.Answer }

    private struct PresenceAnswer: Decodable {
        let number: Int
        let answer: AndroidSession.Answer
    }

    /// The name of a fault. An unknown name is rejected.
    private struct FaultChoice: Decodable {
        let fault: ProviderFault?

        private enum CodingKeys: CodingKey { case fault, tokenFault, aliasFault }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            let ofService = try values.decodeIfPresent(ServiceFault.self, forKey: .fault)
            let ofToken = try values.decodeIfPresent(TokenFault.self, forKey: .tokenFault)
            let ofAliases = try values.decodeIfPresent(AliasFault.self, forKey: .aliasFault)
            fault =
                ofService.map { .service($0.name) } ?? ofToken.map { .token($0.name) }
                ?? ofAliases.map { .aliases($0.name) }
        }
    }

    /// The name of a built-in scenario. A page cannot specify a file.
    private struct ScenarioChoice: Decodable {
        let scenario: String
        let replacing: Bool

        private enum CodingKeys: CodingKey { case scenario, replacing }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            let name = try values.decode(String.self, forKey: .scenario)
            do throws(ProvisioningError) {
                scenario = try Scenario.named(name).name
            } catch {
                throw CommandFailure(.usage, code: error.code.rawValue, error.reason)
            }
            replacing = try values.decode(Bool.self, forKey: .replacing)
        }
    }

    /// The data of a page that does not change: its token, and the choices.
    private struct SessionDocument: Encodable {
        struct Choice: Encodable {
            let name: String
            let explanation: String
        }

        let token: String
        let isReplay: Bool
        let types = TypeChoices.all
        let faults = ServiceFault.allCases.map { Choice(name: $0.name, explanation: $0.explanation) }
        let tokenFaults = TokenFault.allCases.map { Choice(name: $0.name, explanation: $0.explanation) }
        let aliasFaults = AliasFault.allCases.map { Choice(name: $0.name, explanation: $0.explanation) }
        let scenarios = Scenario.builtIn.map { Choice(name: $0.name, explanation: $0.description) }
    }
}
