import Testing

@testable import KeyShareProvider

@Suite("File names in an archive")
struct UniqueFilenamesTests {
    @Test("are numbered before the extension where they repeat")
    func numbering() {
        var names = UniqueFilenames()
        let claimed = ["a.p12", "a.p12", "b.p12", "a.p12", "a-2.p12"].map { names.claim($0) }
        #expect(claimed == ["a.p12", "a-2.p12", "b.p12", "a-3.p12", "a-2-2.p12"])
    }
}
