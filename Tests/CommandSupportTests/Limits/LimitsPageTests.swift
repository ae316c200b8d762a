import Foundation
import TestSupport
import Testing

@Suite("The page of limits")
struct LimitsPageTests {
    /// `docs/limits.md` as the code has it.
    private static func page() -> String {
        var page = """
            # Limits

            What somebody outside can ask for, what asking costs him, and how much of it is done. Whatever is over a
            limit is refused before the work begins, with exit code 10 where a command reads it. This page is made from
            the values in the code (`Tests/CommandSupportTests/Limits`); do not edit it. To make it anew, run the tests
            `LimitsPageTests` with `KEYSHARE_UPDATE_GOLDEN=1`.

            """
        for (title, limits) in Limit.areas {
            page +=
                "\n## \(title)\n\n| who | asks for | and pays | bound | in the code |\n|---|---|---|---|---|\n"
            for limit in limits {
                let code = limit.code.split(separator: ", ").map { "`\($0)`" }.joined(separator: ", ")
                page += "| \(limit.asker) | \(limit.work) | \(limit.price) | \(limit.bound) | \(code) |\n"
            }
        }
        return page
    }

    @Test("The page of limits in docs is made from the values in the code")
    func documentation() throws {
        let path = PackageFolder.path + "/docs/limits.md"
        let page = Self.page()
        if ProcessInfo.processInfo.environment["KEYSHARE_UPDATE_GOLDEN"] == "1" {
            try Data(page.utf8).write(to: URL(fileURLWithPath: path))
        }
        let written = try String(contentsOfFile: path, encoding: .utf8)
        #expect(page == written, "set KEYSHARE_UPDATE_GOLDEN=1 to write docs/limits.md anew")
    }

    @Test("Sizes, numbers and times are written for people")
    func words() {
        #expect(
            [1, 1_024, 65_536, 1 << 20, 4_097].map(Limit.size) == [
                "1 bytes", "1 KiB", "64 KiB", "1 MiB", "4,097 bytes",
            ])
        #expect(Limit.number(2_000_000) == "2,000,000")
        #expect([.seconds(2), .milliseconds(500)].map(Limit.time) == ["2 s", "0.5 s"])
    }
}
