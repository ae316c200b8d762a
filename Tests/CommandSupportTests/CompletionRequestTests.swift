import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite("Completion requests", .timeLimit(.minutes(10)))
struct CompletionRequestTests {
    @Test("The word at the cursor is no value of an option")
    func valuesElsewhere() {
        let words = ["keyshare-consumer", "import", "--device=a", "--device", "b", "--device=", "--device"]
        #expect(CompletionRequest(words, 4, "b").values(of: "--device") == ["a", ""])
        #expect(CompletionRequest(words, 5, "--device=").values(of: "--device") == ["a", "b"])
    }

    @Test("A symbolic link is completed only if the linked file exists")
    func links() throws {
        let scratch = try ScratchFolder()
        let file = try scratch.write([], as: "present.p12")
        let (link, dangling) = (scratch.path("linked.p12"), scratch.path("dangling.p12"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        try FileManager.default.createSymbolicLink(
            atPath: dangling, withDestinationPath: scratch.path("missing.p12"))
        let typed = scratch.path + "/"
        let request = CompletionRequest(["keyshare-consumer", "import", "--file", typed], 3, typed)
        #expect(request.paths(extensions: ["p12"]) == [link, file])
    }
}
