import Foundation
import TestSupport
import Testing

@Suite("docs/limits.md", .timeLimit(.minutes(10)))
struct LimitsPageTests {
    /// The expected text of `docs/limits.md`.
    private static func page() -> String {
        var page = """
            # Limits

            Untrusted input can consume memory, disk space, time and connections. Each row of the tables contains the
            sender of the input, the resource that it consumes, the cost to the sender of exhausting that resource,
            the limit, and the limit's name in the code. Input above a limit is rejected before the work begins. A
            command that reads such input fails with exit code 10.

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
