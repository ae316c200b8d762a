import CommandSupport
import DeviceSimulation
import Foundation
import KeyShareProvider
import KeyShareServer
import KeySharing
import Logging
import LoopbackHTTP
import OpenSSL
import SimulatedKeychain
import TestCredentials
import TestSupport
import Testing

@testable import WebView

// One at a time: each test watches its device, and Linux permits a user 128 watchers (inotify(7)).
@Suite("The Android phone of the page", .serialized, .timeLimit(.minutes(10)))
struct AndroidPageTests {
    private let scratch: ScratchFolder
    private let device: Device
    private let live: LivePage
    private let routes: WebRoutes
    private let access = WebAccess(host: "127.0.0.1:8080", port: 8_080)
    private static let date = Date(timeIntervalSince1970: 1_790_000_000)
    private static let app = App.consumer.bundleIdentifier
    private static let signing = "Purebred Digital Signature Certificate"
    private static let authentication = "Purebred PIV Authentication Certificate"

    init() throws {
        scratch = try ScratchFolder()
        device = try Device(folder: scratch.path("device"))
        live = try LivePage(device, socket: scratch.path("provider.sock"), options: "")
        routes = WebRoutes(.live(live))
        routes.open(access)
    }

    /// Installs a signature and an authentication identity in KeyChain, and serves them while `body` runs.
    private func serving(_ body: () async throws -> Void) async throws {
        let store = try ProviderStore(device)
        _ = try await Provisioner(store).run(
            ProvisioningRequest(
                personCount: 1, types: [.signature, .authentication], generations: 1, algorithm: .p256,
                date: Self.date), from: .system)
        let aliases = try AliasStore(store) { Self.date }
        try aliases.add(
            try aliases.assignments(for: try store.identities(), includingOlder: false),
            announcing: .updateCompleted)
        let sleep: @Sendable (Duration) async throws -> Void = { _ in
            try await Task.sleep(for: .seconds(3600))
        }
        let provider = try Provider(
            store, profile: .modern, token: TokenExtension(store, now: { .now }, sleep: sleep),
            aliases: try AliasContentProvider(store, now: { Self.date }, sleep: sleep), now: { Self.date },
            putOnPasteboard: { _ in })
        let server = try ProviderServer(
            path: scratch.path("provider.sock"), service: provider, limits: .withoutDeadlines,
            logger: Logger(label: "test"))
        let running = Task { try await server.run() }
        let watching = Task { try await live.run() }
        defer {
            running.cancel()
            watching.cancel()
        }
        try await body()
    }

    /// Sends a request of the page.
    ///
    /// - Returns: The code of the failure in the response; nil for success.
    @discardableResult
    private func post(
        _ action: String, _ json: String, below path: String = "/api/aliases/"
    ) async throws -> String? {
        guard case .send(let entrance) = access.judge(request(.get, "/", query: "key=" + access.secret)),
            let cookie = entrance.fields["Set-Cookie"]?.split(separator: ";").first
        else {
            Issue.record("the page does not open")
            return nil
        }
        let answer = await routes.answer(
            request(
                .post, path + action,
                [
                    "cookie": [String(cookie)], "origin": ["http://127.0.0.1:8080"],
                    "x-keyshare-token": [access.token], "content-type": ["application/json"],
                ], body: Array(json.utf8)))
        guard case .response(let response) = answer else { return "stream" }
        guard response.status == 200 else { return "status \(response.status)" }
        return (try? JSONDecoder().decode(Failed.self, from: Data(response.body)))?.error.code
    }

    private struct Failed: Decodable {
        struct Body: Decodable { let code: String }

        let error: Body
    }

    private func request(
        _ method: HTTPRequest.Method, _ path: String, query: String = "", _ fields: [String: [String]] = [:],
        body: [UInt8] = []
    ) -> HTTPRequest {
        HTTPRequest(
            method: method, path: path, query: query,
            fields: fields.merging(["host": ["127.0.0.1:8080"]]) { $1 }, body: body)
    }

    /// Waits until the page's state satisfies a condition.
    private func state(where condition: (AndroidDocument) -> Bool) async throws -> AndroidDocument {
        let (_, news) = live.journal.open(after: 0)
        let now = await live.android.document()
        if condition(now) { return now }
        for await _ in news {
            let document = await live.android.document()
            if condition(document) { return document }
        }
        throw CancellationError()
    }

    private func isOver(_ document: AndroidDocument) -> Bool { document.requests.last?.isOver == true }

    @Test("A query asks for READ_ALIAS as a dialog, and returns the rows after the user allows it")
    func query() async throws {
        try UserPresence(device).set(.ask)
        try await serving {
            #expect(try await post("query", #"{"columns": ["type", "alias"]}"#) == nil)
            let asked = try await state { $0.dialogs.count == 1 }
            #expect(asked.dialogs[0].kind == "read-alias" && asked.dialogs[0].app == Self.app)
            #expect(asked.requests.map(\.isOver) == [false])
            let number = asked.dialogs[0].number
            #expect(try await post("answer", #"{"number": \#(number), "answer": "allow"}"#) == nil)
            let done = try await state(where: isOver)
            let request = try #require(done.requests.last)
            #expect(request.columns == ["alias", "type"] && request.count == 2 && request.failure == nil)
            #expect(request.rows.map { $0[0] } == [Self.signing, Self.authentication])
            #expect(request.command == "keyshare-consumer alias query --columns type,alias")
            #expect(done.apps.map(\.readAlias) == ["granted"] && done.dialogs.isEmpty)
            #expect(try await post("answer", #"{"number": \#(number), "answer": "deny"}"#) == "no-such-item")
            #expect(try await post("permission", #"{"app": "\#(Self.app)", "permission": "deny"}"#) == nil)
            #expect(try await post("query", "{}") == nil)
            let denied = try await state { isOver($0) && $0.requests.count == 2 }
            #expect(denied.requests.last?.failure?.code == "permission-denied")
        }
    }

    @Test("Confirming a key use answers only that question, and a permission prompt remains pending")
    func keyUse() async throws {
        let presence = UserPresence(device)
        let path = "/api/presence/"
        try presence.set(.ask)
        try await serving {
            #expect(try await post("query", "{}") == nil)
            let asked = try await state { $0.dialogs.count == 1 }
            let dialog = asked.dialogs[0].number
            #expect(await live.session.document(android: asked).presence.question == nil)
            let changes = try Notifications(device: device).observe(.presenceAnswered)
            async let outcome = presence.request(timeout: .seconds(60)) { _ in
                try await Task.sleep(for: .seconds(3600))
            }
            for await _ in changes where try presence.status().questionsWaiting == 2 { break }
            let question = try #require(await live.session.document(android: asked).presence.question)
            // These answers contain no number of a question.
            for body in [#"{"answer": "allow"}"#, #"{"answer": "allow", "waiting": true}"#] {
                #expect(try await post("answer", body, below: path) == "usage")
                #expect(try await post("presence", body, below: "/api/") == "status 404")
            }
            let ofDialog = #"{"number": \#(dialog), "answer": "allow"}"#
            #expect(try await post("answer", ofDialog, below: path) == "no-such-item")
            let noAnswer = #"{"number": \#(question), "answer": "ask"}"#
            #expect(try await post("answer", noAnswer, below: path) == "usage")
            #expect(try presence.status().questionsWaiting == 2)
            let allowed = #"{"number": \#(question), "answer": "allow"}"#
            try #require(try await post("answer", allowed, below: path) == nil)
            #expect(try await outcome == .confirmed)
            #expect(try presence.status().pendingDialogs.map(\.number) == [dialog])
            let document = await live.android.document()
            #expect(document.apps.map(\.readAlias) == ["undecided"])
            #expect(await live.session.document(android: document).presence.question == nil)
            #expect(try await post("answer", allowed, below: path) == "no-such-item")
            #expect(try await post("set", #"{"answer": "deny"}"#, below: path) == nil)
            #expect(try await state(where: isOver).requests.last?.failure?.code == "permission-denied")
        }
    }

    @Test(
        "In the chooser the user confirms the preselected alias, selects another one, or refuses",
        arguments: [
            (#""answer": "allow""#, signing, nil),
            (#""answer": "allow", "alias": "\#(authentication)""#, authentication, nil),
            (#""answer": "allow", "alias": "Unknown""#, nil, "alias-not-chosen"),
            (#""answer": "deny""#, nil, "alias-not-chosen"),
            (#""answer": "cancel""#, nil, "alias-not-chosen"),
        ] as [(String, String?, String?)])
    func choose(answer: String, alias: String?, failure: String?) async throws {
        try UserPresence(device).set(.ask)
        try await serving {
            let request =
                #"{"alias": "\#(Self.signing)", "keyTypes": ["EC"], "host": "mail\u002Eexample", "port": 443}"#
            #expect(try await post("choose", request) == nil)
            let asked = try await state { $0.dialogs.count == 1 }
            let dialog = asked.dialogs[0]
            #expect(dialog.kind == "choose-key" && dialog.preselected == Self.signing)
            #expect(dialog.offered.map(\.alias) == [Self.signing, Self.authentication])
            #expect(dialog.offered.map(\.subject) == asked.entries.map(\.subject))
            #expect(dialog.host == "mail.example" && dialog.port == 443)
            #expect(try await post("answer", #"{"number": \#(dialog.number), \#(answer)}"#) == nil)
            let done = try await state(where: isOver)
            let result = try #require(done.requests.last)
            #expect(result.aliases == [alias].compactMap(\.self) && result.failure?.code == failure)
            #expect(
                result.command
                    == "keyshare-consumer alias choose '\(Self.signing)' --key-type EC --host mail.example --port 443"
            )
            let granted = try await state { $0.apps.first?.keyGrants == result.aliases }
            guard let alias else { return }
            #expect(granted.apps.map(\.app) == [Self.app])
            let grant = #"{"app": "\#(Self.app)", "alias": "\#(alias)"}"#
            #expect(try await post("revoke", grant) == nil)
            #expect(await live.android.document().apps.first?.keyGrants == [])
            #expect(try await post("revoke", grant) == "no-such-item")
        }
    }

    @Test(
        "The dialogs and broadcasts of alias sharing are events for the sequence, without a key or a certificate"
    )
    func events() async throws {
        try UserPresence(device).set(.ask)
        try await serving {
            let (backlog, news) = live.journal.open(after: 0)
            var text = String(decoding: backlog, as: UTF8.self)
            var events = news.makeAsyncIterator()
            func read(until expected: [String]) async {
                while !expected.allSatisfy(text.contains), let part = await events.next() {
                    text += String(decoding: part, as: UTF8.self)
                }
            }
            await read(until: [#""kind":"serving""#])
            #expect(try await post("choose", #"{"alias": "\#(Self.signing)"}"#) == nil)
            await read(until: [#""kind":"dialogOpened""#, #""message":"choose-key""#])
            let number = try await state { $0.dialogs.count == 1 }.dialogs[0].number
            #expect(try await post("answer", #"{"number": \#(number), "answer": "allow"}"#) == nil)
            await read(until: [
                #""kind":"dialogAnswered""#,
                #""subject":"android.security.action.KEY_ACCESS_CHANGED""#,
            ])
            #expect(!text.contains("MII"))
        }
    }

    @Test("An entry has its type, the rule, and the type of key sharing 2025")
    func entries() async throws {
        try await serving {
            let document = await live.android.document()
            #expect(document.count == 2 && document.failure == nil)
            let entry = try #require(document.entries.first)
            #expect(entry.alias == Self.signing && entry.keyType == "EC")
            #expect(entry.classification.aliasType == "Digital Signature")
            #expect(entry.classification.aliasRule == "email-name-first")
            #expect(entry.classification.type == "signature")
            let page = await live.session.document(android: document)
            let json = String(decoding: try DocumentCoding.encode(page), as: UTF8.self)
            #expect(json.contains("email-name-first"))
        }
    }

    @Test(
        "A request that no page sends is rejected, and changes nothing",
        arguments: [
            ("query", "", "usage"), ("query", "[]", "usage"), ("query", #"{"columns": "alias"}"#, "usage"),
            ("query", #"{"columns": ["\u0000"]}"#, "usage"),
            ("query", #"{"columns": ["\u202Ealias"]}"#, "usage"),
            (
                "query", #"{"columns": [\#(Array(repeating: #""a""#, count: 65).joined(separator: ","))]}"#,
                "usage"
            ),
            ("choose", #"{"alias": ""}"#, "usage"),
            ("choose", #"{"alias": "\#(String(repeating: "a", count: 256))"}"#, "usage"),
            ("choose", #"{"host": "a\u2028b"}"#, "usage"), ("choose", #"{"port": 65536}"#, "usage"),
            ("choose", #"{"purpose": "everything"}"#, "usage"),
            ("answer", #"{"number": 1, "answer": "ask"}"#, "usage"),
            ("answer", #"{"number": 1, "answer": "allow"}"#, "no-such-item"),
            ("answer", #"{"number": 99999999999999999999, "answer": "allow"}"#, "usage"),
            ("permission", #"{"app": "com.example.unknown", "permission": "allow"}"#, "no-such-item"),
            ("permission", #"{"app": "\#(app)", "permission": "granted"}"#, "usage"),
            ("revoke", #"{"app": "com.example.unknown", "alias": "a"}"#, "no-such-item"),
            ("revoke", #"{"app": "\#(app)", "alias": "a"}"#, "no-such-item"), ("nothing", "{}", "status 404"),
        ])
    func badInput(action: String, body: String, code: String) async throws {
        #expect(try await post(action, body) == code)
        let document = await live.android.document()
        #expect(document.requests.isEmpty && document.apps.map(\.readAlias) == ["undecided"])
    }

    @Test("Eight requests wait at a time, and the page keeps the last twenty")
    func tooMany() async throws {
        // Without a provider, each request fails at once.
        for number in 1...25 {
            #expect(try await post("query", "{}") == nil)
            _ = try await state { $0.requests.last?.number == number && isOver($0) }
        }
        let document = await live.android.document()
        #expect(document.requests.map(\.number) == Array(6...25))
        #expect(document.requests.last?.failure?.code == "provider-not-running")
        try UserPresence(device).set(.ask)
        try await serving {
            for _ in 1...8 { #expect(try await post("query", "{}") == nil) }
            #expect(try await post("query", "{}") == "refused")
            _ = try await state { $0.dialogs.count == 8 }
        }
    }
}
