import Testing

@testable import CommandSupport

@Suite("The progress bar", .timeLimit(.minutes(10)))
struct ProgressBarTests {
    private func bar(_ times: [Int]) -> ProgressBar {
        let start = ContinuousClock.now
        var rest = times[...]
        return ProgressBar(
            Console(isJSON: false, verbosity: .quiet, environment: [:]), "identities", total: 10_000
        ) { start + .milliseconds(rest.popFirst() ?? 0) }
    }

    @Test("The progress bar is drawn at most ten times a second, with the rate since the first drawing")
    func intervals() {
        var bar = bar([0, 99, 100, 150, 1000])
        #expect(bar.line(2000)?.contains("2,000 of 10,000 identities") == true)
        #expect(bar.line(2010) == nil)
        // Earlier work does not count towards the rate: two hundred in a tenth of a second.
        #expect(bar.line(2200)?.hasSuffix("2,200 of 10,000 identities, 2,000/s, 4 s left") == true)
        #expect(bar.line(2300) == nil)
        #expect(bar.line(4000)?.hasSuffix("4,000 of 10,000 identities, 2,000/s, 3 s left") == true)
    }

    @Test("The progress bar fills the available width, and is omitted if only the numbers fit")
    func width() {
        func line(_ columns: Int) -> String {
            ProgressBar.line(25, of: 100, "identities", rate: 0, columns: columns)
        }
        #expect(line(45) == "[#####----------------] 25 of 100 identities")
        #expect(
            line(200) == "[" + String(repeating: "#", count: 10) + String(repeating: "-", count: 30)
                + "] 25 of 100 identities")
        #expect(line(30) == "25 of 100 identities")
        #expect(line(10) == "25 of 100")
        #expect(ProgressBar.line(3, of: 0, "identities", rate: 0, columns: 0) == "")
    }

    @Test(
        "The remaining time is shown in its two largest units",
        arguments: [
            (0.2, "1 s"), (59, "59 s"), (60, "1 min 0 s"), (3599, "59 min 59 s"), (7800, "2 h 10 min"),
            (.infinity, "277777 h 46 min"),
        ])
    func durations(seconds: Double, text: String) {
        #expect(ProgressBar.duration(seconds) == text)
    }
}
