import CommandSupport
import Foundation
import LoopbackHTTP
import TestSupport
import Testing

@testable import WebView

@Suite("Recordings", .timeLimit(.minutes(10)))
struct RecordingTests {
    private func read(_ text: String) throws -> Recording {
        let scratch = try ScratchFolder()
        return try Recording(file: try scratch.write(Array(text.utf8), as: "recording.json"))
    }

    private func recording(_ events: String, _ extra: String = "") -> String {
        #"{"format": "keyshare-recording", "version": 1, "events": [\#(events)]\#(extra)}"#
    }

    @Test("A recording with the maximum number of events and every field is within the limits")
    func largest() throws {
        let event = """
            {"number": 1, "time": 1.5, "duration": 1, "kind": "read", "connection": 1, "process": 2, "client": "a",
             "subject": "a,b:{[\\"\\\\", "received": 1, "sent": 2, "outcome": "ok", "message": "m"}
            """
        #expect(try read(recording(event)).events.first?.subject == "a,b:{[\"\\")
        let ten = Array(recording(Array(repeating: event, count: 10).joined(separator: ",")).utf8)
        #expect(RecordingSize.isWithinLimits(ten, events: 10))
        #expect(!RecordingSize.isWithinLimits(ten, events: 5))
    }

    @Test("A recording with a string that is slow to compare is rejected")
    func marks() throws {
        let marks = String(repeating: #"\u0301"#, count: 31)
        let failure = #expect(throws: CommandFailure.self) {
            try read(recording("", #", "a\#(marks)": 0"#))
        }
        #expect(failure?.status == CommandFailure(.malformed, "").status)
        #expect(throws: Never.self) { try read(recording("", #", "a\#(marks.dropLast(6))": 0"#)) }
    }

    @Test("A recording with more than the maximum number of events is rejected")
    func tooManyEvents() throws {
        let event =
            #"{"number":1,"time":1,"kind":"a","subject":"","outcome":"","message":""}"#
        let events = Array(repeating: event, count: WebLimits.recordedEvents + 1).joined(separator: ",")
        let failure = #expect(throws: CommandFailure.self) { try read(recording(events)) }
        #expect(failure?.status == CommandFailure(.tooLarge, "").status)
    }

    @Test("The page of a recording is also rejected without the cookie, and before the server has an address")
    func access() async throws {
        let routes = WebRoutes(.replay(try read(recording(""))))
        func status(_ fields: [String: [String]]) async -> Int? {
            let request = HTTPRequest(method: .get, path: "/api/recording", fields: fields)
            guard case .response(let response) = await routes.answer(request) else { return nil }
            return response.status
        }
        let fields = ["host": ["127.0.0.1:8080"]]
        #expect(await status(fields) == 503)
        let access = WebAccess(host: "127.0.0.1:8080", port: 8_080)
        routes.open(access)
        #expect(await status(fields) == 403)
        let entrance = HTTPRequest(
            method: .get, path: "/", query: "key=" + access.secret, fields: fields)
        guard case .send(let response) = access.judge(entrance),
            let cookie = response.fields["Set-Cookie"]?.split(separator: ";").first
        else {
            Issue.record("the page does not open")
            return
        }
        #expect(await status(fields.merging(["cookie": [String(cookie)]]) { $1 }) == 200)
    }

    @Test("A recording in UTF-16 is rejected before it is decoded")
    func utf16() throws {
        let scratch = try ScratchFolder()
        let bytes = Array(try #require(recording("").data(using: .utf16LittleEndian)))
        let file = try scratch.write(bytes, as: "recording.json")
        let error = #expect(throws: CommandFailure.self) { try Recording(file: file) }
        #expect(error?.code == CommandFailure.Kind.tooLarge.rawValue)
    }

    @Test("A recording with too many values is rejected before it is decoded")
    func manyValues() throws {
        let zeros = String(repeating: "0,", count: (WebLimits.recordedEvents + 2) * 32) + "0"
        let error = #expect(throws: CommandFailure.self) { try read(recording("", #", "x": [\#(zeros)]"#)) }
        #expect(error?.code == CommandFailure.Kind.tooLarge.rawValue)
    }

    @Test("Objects with many members and deep nesting are rejected before they are decoded")
    func manyMembers() throws {
        func members(_ count: Int) -> String {
            "{" + (0..<count).map { "\"\($0)\": 0" }.joined(separator: ",") + "}"
        }
        #expect(try read(recording("", #", "x": \#(members(64))"#)).events.isEmpty)
        #expect(throws: CommandFailure.self) { try read(recording("", #", "x": \#(members(65))"#)) }
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(try read(recording("", #", "x": \#(nested(7))"#)).events.isEmpty)
        #expect(throws: CommandFailure.self) { try read(recording("", #", "x": \#(nested(8))"#)) }
    }
}
