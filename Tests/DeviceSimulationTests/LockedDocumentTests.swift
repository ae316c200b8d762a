import PrivateFiles
import TestSupport
import Testing

@testable import DeviceSimulation

@Suite("Documents that several processes change", .timeLimit(.minutes(10)))
struct LockedDocumentTests {
    @Test("A document is written up to its limit, and is unchanged by a change that would exceed the limit")
    func limit() throws {
        let scratch = try ScratchFolder()
        // ["aaaaaa"]
        let document = LockedDocument(path: scratch.path("document"), limit: 10, initial: [String]())
        try document.change { $0 = ["aaaaaa"] }
        #expect(throws: FileError(.damagedFile, path: "", "")) {
            try document.change { $0 = ["aaaaaaa"] }
        }
        #expect(try document.read() == ["aaaaaa"])
    }
}
