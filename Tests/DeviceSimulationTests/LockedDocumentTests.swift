import Dispatch
import PrivateFiles
import Synchronization
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

    @Test("No change is lost if many threads change a document at the same time")
    func concurrentChanges() throws {
        let scratch = try ScratchFolder()
        let path = scratch.path("document")
        let failures = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 64) { _ in
            let document = LockedDocument(path: path, limit: 100, initial: 0)
            if (try? document.change { $0 += 1 }) == nil { failures.add(1, ordering: .relaxed) }
        }
        #expect(failures.load(ordering: .relaxed) == 0)
        #expect(try LockedDocument(path: path, limit: 100, initial: 0).read() == 64)
    }
}
