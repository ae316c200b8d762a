import SecretMemory
import Testing

@testable import KeyShareProvider

@Suite("Export cache", .timeLimit(.minutes(10)))
struct ExportCacheTests {
    private let password = SecretBytes(utf8: "first")
    private let other = SecretBytes(utf8: "second")

    private func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }

    @Test("A file is found only under its name and password")
    func found() {
        let cache = ExportCache(capacity: 10)
        #expect(cache.file("a", password: password) == nil)
        cache.keep(bytes(3), as: "a", password: password)
        #expect(cache.file("a", password: password) == bytes(3))
        #expect(cache.file("a", password: other) == nil)
        #expect(cache.file("b", password: password) == nil)
    }

    @Test("The size of a cached file is available without the password")
    func sizes() {
        let cache = ExportCache(capacity: 10)
        cache.keep(bytes(3), as: "a", password: password)
        #expect(cache.size(of: "a") == 3)
        #expect(cache.size(of: "b") == nil)
    }

    @Test("Caching a file under a new password removes all files of the old password")
    func newPassword() {
        let cache = ExportCache(capacity: 10)
        cache.keep(bytes(3), as: "a", password: password)
        cache.keep(bytes(4), as: "b", password: other)
        #expect(cache.size(of: "a") == nil)
        #expect(cache.file("b", password: other) == bytes(4))
        #expect(cache.file("b", password: password) == nil)
    }

    @Test("The oldest files are removed when the capacity is exceeded")
    func capacity() {
        let cache = ExportCache(capacity: 10)
        for name in ["a", "b", "c"] { cache.keep(bytes(4), as: name, password: password) }
        #expect(["a", "b", "c"].map { cache.size(of: $0) } == [nil, 4, 4])
        cache.keep(bytes(10), as: "d", password: password)
        #expect(["a", "b", "c", "d"].map { cache.size(of: $0) } == [nil, nil, nil, 10])
    }

    @Test("A file that is larger than the capacity is not cached and removes no other files")
    func tooLarge() {
        let cache = ExportCache(capacity: 10)
        cache.keep(bytes(4), as: "a", password: password)
        cache.keep(bytes(11), as: "b", password: password)
        #expect(["a", "b"].map { cache.size(of: $0) } == [4, nil])
    }

    @Test("Caching a file again replaces the earlier file, whose size no longer counts")
    func replaced() {
        let cache = ExportCache(capacity: 10)
        cache.keep(bytes(8), as: "a", password: password)
        cache.keep(bytes(2), as: "a", password: password)
        cache.keep(bytes(8), as: "b", password: password)
        #expect(["a", "b"].map { cache.size(of: $0) } == [2, 8])
    }

    @Test("After all files are removed, the cache has room for new ones")
    func removed() {
        let cache = ExportCache(capacity: 10)
        cache.keep(bytes(8), as: "a", password: password)
        cache.removeAll()
        #expect(cache.size(of: "a") == nil)
        cache.keep(bytes(8), as: "b", password: password)
        #expect(cache.file("b", password: password) == bytes(8))
    }
}

@Suite("Unique file names", .timeLimit(.minutes(10)))
struct UniqueFilenamesTests {
    @Test("A repeated file name gets a number before its extension")
    func numbering() {
        var names = UniqueFilenames()
        let claimed = ["a.p12", "a.p12", "b.p12", "a.p12", "a-2.p12"].map { names.claim($0) }
        #expect(claimed == ["a.p12", "a-2.p12", "b.p12", "a-3.p12", "a-2-2.p12"])
    }
}
