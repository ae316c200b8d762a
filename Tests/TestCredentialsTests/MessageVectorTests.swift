@testable import TestCredentials
@testable import TestVectors
import Foundation
import KeySharing
import OpenSSL
import TestSupport
import Testing

@Suite("Message vectors", .timeLimit(.minutes(10)))
struct MessageVectorTests {
    private let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private func suite(_ seed: String, width: Int = 2) async throws -> MessageVectorSuite {
        let date = try Date("2026-01-01T00:00:00Z", strategy: .iso8601)
        return try await MessageVectorSuite(
            MessageVector.all,
            .init(at: date, password: TestVectorSuite.usualPassword, from: .seeded(Seed(seed))),
            scratch: scratch.path, width: width)
    }

    @Test("Each message vector has a unique name, a description, a reason and an expected behaviour")
    func areDescribed() {
        let all = MessageVector.all
        #expect(all.count == 44)
        let names = all.map(\.name) + TestVector.all.map(\.name)
        #expect(Set(names).count == names.count)
        for vector in all {
            #expect(vector.name.hasPrefix("message-"))
            #expect(vector.name.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "-" })
            #expect(vector.summary.hasSuffix(".") && vector.reason.hasSuffix("."))
            #expect(!vector.expectedBehaviour.isEmpty && !vector.expectedBehaviour.hasSuffix("."))
            let expected = vector.entry(password: nil).expected
            #expect(vector.isValid == (expected.path.answer == .accept))
            // Every additional check can only lead to more rejections.
            #expect(expected.parse.answer != .refuse || expected.identity.answer == .refuse, "\(vector.name)")
            #expect(expected.identity.answer != .refuse || expected.path.answer == .refuse, "\(vector.name)")
            #expect(expected.path.answer != .accept || vector.check == nil, "\(vector.name)")
        }
        let valid = all.prefix { $0.isValid }.count
        #expect(all.count(where: \.isValid) == valid)
    }

    @Test("The same seed and date result in the same bytes, including signatures and encrypted content")
    func areReproducible() async throws {
        let (first, second) = (try await suite("1"), try await suite("1", width: 1))
        #expect(first.files.map(\.name) == second.files.map(\.name))
        for (one, other) in zip(first.files, second.files) {
            #expect(one.bytes == other.bytes, "\(one.name)")
        }
        let third = try await suite("2")
        for (one, other) in zip(first.files, third.files) where one.name != "expected.json" {
            #expect(one.bytes != other.bytes, "\(one.name)")
        }
        #expect(first.expectations == third.expectations)
    }

    @Test("expected.json lists every message with its file, the date and the recipient's password")
    func expectations() async throws {
        let suite = try await suite("1")
        let files = Dictionary(uniqueKeysWithValues: suite.files.map { ($0.name, $0.bytes) })
        let document = try JSONDecoder().decode(
            MessageVectorSuite.Expectations.self, from: Data(try #require(files["expected.json"])))
        #expect(document == suite.expectations)
        #expect(document.date == "2026-01-01T00:00:00Z" && document.version == 1)
        #expect(document.messages.map(\.name) == MessageVector.all.map(\.name))
        for message in document.messages {
            let text = String(decoding: try #require(files[message.file]), as: UTF8.self)
            // Messages travel through mail servers, which limit lines and require CR LF.
            #expect(
                text.components(separatedBy: "\r\n").allSatisfy {
                    $0.utf8.count <= 998 && !$0.contains("\n")
                },
                "\(message.name)")
        }
        let listed = [document.trust, document.revocations, document.recipient.file, "expected.json"]
        #expect(Set(files.keys) == Set(document.messages.map(\.file) + listed))
    }
}
