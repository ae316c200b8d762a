import Foundation
import OpenSSL
import SecretMemory
import Testing

@testable import TestCredentials

@Suite("Stored state of a provisioning run", .timeLimit(.minutes(10)))
struct RunRecordTests {
    @Test("A stored record that is read again has the same seed, start and state")
    func stored() throws {
        let record = RunRecord(began: 1_733_184_000, secret: "0a1b2c", isFinished: true)
        let read = try #require(RunRecord(try record.stored()))
        #expect(read.isFinished && read.secret == record.secret)
        #expect(read.beginning == Date(timeIntervalSince1970: 1_733_184_000))
    }

    @Test("A record of an earlier version can be read, whether finished or not")
    func earlier() throws {
        let begun = try #require(RunRecord(SecretBytes(utf8: "1733184000 0a1b2c")))
        #expect(begun.began == 1_733_184_000 && begun.secret == "0a1b2c" && !begun.isFinished)
        let finished = try #require(RunRecord(SecretBytes(utf8: "1733184000 0a1b2c finished")))
        #expect(finished.secret == "0a1b2c" && finished.isFinished)
        var (expected, drawn) = (
            RandomSource.seeded(Seed("1733184000 0a1b2c")).generator(),
            RandomSource.seeded(finished.seed).generator()
        )
        #expect(drawn.next() == expected.next())
    }

    @Test("Bytes that are not a record are rejected", arguments: ["", "1733184000", "x y", "{}", "1 2 3 4"])
    func other(text: String) {
        #expect(RunRecord(SecretBytes(utf8: text)) == nil)
    }
}
