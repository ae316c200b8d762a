import Foundation
import TestSupport
import Testing

@Suite("docs/limits.md", .timeLimit(.minutes(10)))
struct LimitsPageTests {
    /// The expected text of `docs/limits.md`.
    private static func page() -> String {
        var page = """
            # Limits

            Untrusted input can exhaust memory, disk space, time or connections. Each row names the sender of the input, the
            resource that the input consumes, the cost to the sender, the limit, and the limit's name in the code.

            Unless its row says otherwise, input above a limit is rejected before the work begins. For a file, the exit code is
            usually 10, and the [stable name](exit-codes.md) is `limit` or `too-large`. A scenario or a list of persons with
            too many values fails with exit code 64.

            A *peer* is a process that is connected to the provider's socket. Its messages are *frames*; the first one is the
            *hello*.

            The page is generated from the values in the code (`Tests/CommandSupportTests/Limits`); do not edit it. To
            regenerate it, run the tests `LimitsPageTests` with `KEYSHARE_UPDATE_GOLDEN=1`.

            """
        for (title, limits) in Limit.areas {
            page +=
                "\n## \(title)\n\n| sender | resource | cost to the sender | limit | in the code |\n|---|---|---|---|---|\n"
            for limit in limits {
                let code = limit.code.split(separator: ", ").map { "`\($0)`" }.joined(separator: ", ")
                page += "| \(limit.asker) | \(limit.work) | \(limit.price) | \(limit.bound) | \(code) |\n"
            }
        }
        return page
    }

    @Test("docs/limits.md matches the values in the code")
    func documentation() throws {
        let path = PackageFolder.path + "/docs/limits.md"
        let page = Self.page()
        if ProcessInfo.processInfo.environment["KEYSHARE_UPDATE_GOLDEN"] == "1" {
            try Data(page.utf8).write(to: URL(fileURLWithPath: path))
        }
        let written = try String(contentsOfFile: path, encoding: .utf8)
        #expect(page == written, "set KEYSHARE_UPDATE_GOLDEN=1 to regenerate docs/limits.md")
    }

    @Test("Sizes, numbers and times are formatted with units and separators")
    func words() {
        #expect(
            [1, 1_024, 65_536, 1 << 20, 4_097].map(Limit.size) == [
                "1 bytes", "1 KiB", "64 KiB", "1 MiB", "4,097 bytes",
            ])
        #expect(Limit.number(2_000_000) == "2,000,000")
        #expect([.seconds(2), .milliseconds(500)].map(Limit.time) == ["2 s", "0.5 s"])
    }
}
