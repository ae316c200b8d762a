import Testing

@testable import Conformance

@Suite("Usability of a consumer", .timeLimit(.minutes(10)))
struct UsabilityTests {
    private func answers(
        _ runs: [(end: ProcessEnd, errors: String)], refusals: Set<Int32>? = nil
    ) -> [UsabilityCheck.Answer] {
        var reading = AnswerReading()
        reading.refusals = refusals
        var check = UsabilityCheck(reading: reading)
        return runs.enumerated().map { number, run in
            let result = ProcessResult(end: run.end, seconds: 1, output: [], errors: Array(run.errors.utf8))
            return check.add(result, varying: ["/run/\(number)", "file-\(number).p12"])
        }
    }

    @Test("A program that does not start or exits with a usage error ends the run immediately")
    func wrongCommands() {
        for end in [ProcessEnd.notStarted(2), .exit(64), .exit(126), .exit(127)] {
            guard case .unusable(let consumer)? = answers([(end, "usage: tool\n")]).first else {
                Issue.record("\(end) is usable")
                continue
            }
            #expect(consumer.stderr == "usage: tool\n")
        }
        #expect(answers([(.exit(64), "")], refusals: [64]) == [.usable])
    }

    @Test("Three identical failures end the run, and any other result shows that the consumer runs")
    func threeFailures() {
        let failure = (end: ProcessEnd.exit(2), errors: "no option -x")
        let last = answers([failure, failure, failure])
        #expect(last.prefix(2) == [.open, .open])
        let unusable = UnusableConsumer(
            reason: "failed in the same way on the first 3 valid files, with exit code 2",
            stderr: "no option -x")
        #expect(last.last == .unusable(unusable))
        #expect(answers([failure, failure, (.exit(0), "")]).last == .usable)
        #expect(answers([failure, failure, (.exit(1), "no option -x")]).last == .usable)
        #expect(answers([failure, failure, (.exit(2), "another")]).last == .usable)
        #expect(answers([failure, (.signal(6), "")]).last == .usable)
        #expect(answers([(.exit(1), "")]) == [.usable])
        #expect(answers([(.overTime, "")]) == [.usable])
    }

    @Test("Messages that differ only in file names and run folders count as equal")
    func varyingNames() {
        let runs = (0..<3).map {
            (end: ProcessEnd.exit(2), errors: "cannot open /run/\($0)/out, file-\($0).p12")
        }
        guard case .unusable? = answers(runs).last else {
            Issue.record("the names count as a difference")
            return
        }
    }
}
