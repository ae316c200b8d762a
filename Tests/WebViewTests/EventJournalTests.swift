import CommandSupport
import Foundation
import KeyShareWire
import KeySharing
import TestSupport
import Testing

@testable import WebView

@Suite("The events of the device's page", .timeLimit(.minutes(10)))
struct EventJournalTests {
    private func event(_ kind: ProviderEvent.Kind, subject: String = "", failure: UInt16 = 0) -> SharingEvent
    {
        SharingEvent(
            ProviderEvent(
                kind, microseconds: 1_500, duration: 250, connection: 7, processID: 42, subject: subject,
                received: 64, sent: 43, failure: failure, message: failure == 0 ? "" : "why"))
    }

    @Test("A page that reconnects receives the events after the last one that it received, and then new ones")
    func backlog() async throws {
        let journal = EventJournal()
        journal.append([
            event(.opened), event(.request(0x01), subject: "somebody"),
            event(.request(0x07), subject: "PIV.zip"),
        ])
        let (backlog, news) = journal.open(after: 1)
        let text = String(decoding: backlog, as: UTF8.self)
        #expect(!text.contains("id: 1\n") && text.contains("id: 2\n") && text.contains("id: 3\n"))
        #expect(text.contains(#""kind":"fetchPassword""#) && text.contains(#""client":"somebody""#))
        journal.append([event(.request(0x08), failure: 4)])
        journal.end()
        var later = ""
        for await part in news { later += String(decoding: part, as: UTF8.self) }
        #expect(later.hasPrefix("id: 4\ndata: ") && later.contains(#""outcome":"notAvailable""#))
    }

    @Test("A page that opens receives at most the latest events, and a closed connection's name is forgotten")
    func limits() {
        let journal = EventJournal()
        journal.append((0..<WebLimits.events + 10).map { _ in event(.closed) })
        let text = String(decoding: journal.open(after: 0).backlog, as: UTF8.self)
        #expect(text.components(separatedBy: "\ndata: ").count == WebLimits.events + 1)
        #expect(!text.contains("id: 10\n") && text.contains("id: 11\n"))
        let other = EventJournal()
        other.append([event(.request(0x01), subject: "somebody"), event(.closed), event(.opened)])
        let lines = String(decoding: other.open(after: 0).backlog, as: UTF8.self)
            .split(separator: "\n").filter { $0.hasPrefix("data: ") }
        #expect(lines.map { $0.contains(#""client":"somebody""#) } == [true, true, false])
    }

    @Test("A page that does not read loses its oldest events, and gaps in the numbers show how many")
    func slowPage() async throws {
        let journal = EventJournal()
        let (_, news) = journal.open(after: 0)
        journal.append((0..<3_000).map { _ in event(.opened) })
        journal.end()
        var numbers: [Int] = []
        for await part in news {
            let text = String(decoding: part, as: UTF8.self)
            let line = try #require(text.split(separator: "\n").first)
            numbers.append(try #require(Int(line.dropFirst(4))))
        }
        #expect(numbers.count < 3_000 && numbers.last == 3_000)
        let first = 3_001 - numbers.count
        #expect(numbers == Array(first...3_000))
    }

    @Test("An unknown request is shown by its number")
    func unknownRequest() {
        #expect(event(.request(0x7E)).kind == "request-126")
        #expect(event(.closed).kind == "closed" && event(.closed).duration == nil)
    }

    @Test("A saved recording can be read, and the error for other files explains how to save one")
    func recording() throws {
        let scratch = try ScratchFolder()
        let json = try JSONEncoder().encode([event(.opened)])
        let text =
            #"{"format": "keyshare-recording", "version": 1, "events": \#(String(decoding: json, as: UTF8.self))}"#
        let file = try scratch.write(Array(text.utf8), as: "recording.json")
        #expect(try Recording(file: file).events == [event(.opened)])
        for other in [
            "", "[]", "{}", text.replacing("recording\"", with: "other\""), String(text.dropLast(2)),
            text.replacing("\"version\": 1", with: "\"version\": 2"),
        ] {
            let file = try scratch.write(Array(other.utf8), as: "other.json")
            let failure = #expect(throws: CommandFailure.self) { try Recording(file: file) }
            #expect(failure?.status == .malformed && failure?.hint?.contains("Save recording") == true)
        }
        let failure = #expect(throws: CommandFailure.self) { try Recording(file: "/nowhere/recording.json") }
        #expect(failure?.status == .inputOutput)
    }

    @Test("The page's commands are quoted for the shell, for any item name")
    func commands() throws {
        let json = #"{"mechanism": "legacy", "types": ["a b"], "items": ["All User.zip", "$(x)"]}"#
        let request = try JSONDecoder().decode(PickerRequest.self, from: Data(json.utf8))
        let lines = CommandLines(options: " --device /d")
        #expect(
            lines.importing(request)
                == "keyshare-consumer import 'All User.zip' '$(x)' --uti 'a b' --mechanism legacy --device /d"
        )
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(PickerRequest.self, from: Data(#"{"mechanism": "3", "types": []}"#.utf8))
        }
    }

    @Test("The matrix of types has one type for each selector and form")
    func matrix() throws {
        for (name, columns) in [("2025", ["folder", "files", "zip"]), ("legacy", ["files", "zip"])] {
            let types = try #require(TypeChoices.all[name]).types
            let cells = types.compactMap { type in type.selector.map { "\($0) \(type.form.rawValue)" } }
            let expected = IdentitySelector.allCases.flatMap { selector in
                columns.map { "\(selector.folderName) \($0)" }
            }
            #expect(cells.sorted() == expected.sorted(), "\(name)")
        }
        let types = try #require(TypeChoices.all["2025"]).types
        let general = types.filter { $0.selector == nil && $0.form == .files }.map(\.identifier)
        #expect(general == ["purebred2025.rsa.pkcs-12", "com.rsa.pkcs-12"])
    }

    @Test("Every preset request is valid")
    func presets() throws {
        for (name, choices) in TypeChoices.all {
            let known = choices.types.map(\.identifier)
            #expect(Set(known).count == known.count)
            for preset in choices.presets {
                #expect(preset.types.allSatisfy(known.contains), "\(name): \(preset.name)")
            }
        }
    }
}
