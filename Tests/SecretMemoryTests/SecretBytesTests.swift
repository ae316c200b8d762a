import SecretMemory
import Testing

@Suite("Secret bytes", .timeLimit(.minutes(10)))
struct SecretBytesTests {
    private struct Refusal: Error {}

    private func octets(_ secret: SecretBytes) -> [UInt8] {
        unsafe secret.withUnsafeBytes { unsafe Array($0) }
    }

    @Test("A value contains the bytes that were copied or that its initializer wrote")
    func contents() {
        #expect(octets(SecretBytes([1, 2, 3])) == [1, 2, 3])
        #expect(octets(SecretBytes(utf8: "ä")) == [0xC3, 0xA4])
        let written = unsafe SecretBytes(capacity: 4) { buffer in
            unsafe buffer[0] = 7
            return 1
        }
        #expect(octets(written) == [7])
        #expect(written.count == 1)
    }

    @Test("The length is limited to the capacity if the initializer reports more bytes")
    func excess() {
        let secret = unsafe SecretBytes(capacity: 2) { buffer in
            unsafe buffer.copyBytes(from: [1, 2] as [UInt8])
            return 3
        }
        #expect(octets(secret) == [1, 2])
    }

    @Test("An error of the initializer is rethrown")
    func refusal() {
        #expect(throws: Refusal.self) {
            try unsafe SecretBytes(capacity: 2) { _ throws(Refusal) in throw Refusal() }
        }
    }

    @Test("An empty value is valid")
    func empty() {
        let secret = SecretBytes([UInt8]())
        #expect(secret.isEmpty)
        #expect(octets(secret) == [])
        #expect(secret.withTransientArray { $0 } == [])
    }

    @Test("Two values are equal if and only if all their bytes are equal")
    func equality() {
        let secret = SecretBytes([1, 2, 3])
        #expect(secret == SecretBytes([1, 2, 3]))
        for other in [[0, 2, 3], [1, 2, 4], [1, 2], [1, 2, 3, 0], []] as [[UInt8]] {
            #expect(secret != SecretBytes(other))
        }
    }

    @Test("Printing and reflection do not reveal the bytes")
    func printing() {
        let secret = SecretBytes(utf8: "correct horse")
        #expect("\(secret)" == "<secret>")
        #expect(String(reflecting: secret) == "<secret>")
        #expect(Mirror(reflecting: secret).children.isEmpty)
        var text = ""
        dump(secret, to: &text)
        #expect(text == "- <secret>\n")
    }
}
