import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite("Completion requests", .timeLimit(.minutes(10)))
struct CompletionRequestTests {
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
