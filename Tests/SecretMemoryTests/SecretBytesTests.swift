import SecretMemory
import Testing

@Suite("Secret bytes")
struct SecretBytesTests {
    private struct Refusal: Error {}

    private func octets(_ secret: SecretBytes) -> [UInt8] {
        unsafe secret.withUnsafeBytes { unsafe Array($0) }
    }

    @Test("The bytes are those that were copied, or that the initializer wrote")
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

    @Test("An initializer that claims to have written too much gets no more than the capacity")
    func excess() {
        let secret = unsafe SecretBytes(capacity: 2) { buffer in
            unsafe buffer.copyBytes(from: [1, 2] as [UInt8])
            return 3
        }
        #expect(octets(secret) == [1, 2])
    }

    @Test("An error of the initializer is thrown on")
    func refusal() {
        #expect(throws: Refusal.self) {
            try unsafe SecretBytes(capacity: 2) { _ throws(Refusal) in throw Refusal() }
        }
    }

    @Test("No bytes are a value, too")
    func empty() {
        let secret = SecretBytes([UInt8]())
        #expect(secret.isEmpty)
        #expect(octets(secret) == [])
        #expect(secret.withTransientArray { $0 } == [])
    }

    @Test("Values are equal if their bytes are, wherever the difference is")
    func equality() {
        let secret = SecretBytes([1, 2, 3])
        #expect(secret == SecretBytes([1, 2, 3]))
        for other in [[0, 2, 3], [1, 2, 4], [1, 2], [1, 2, 3, 0], []] as [[UInt8]] {
            #expect(secret != SecretBytes(other))
        }
    }

    @Test("Printing and reflecting show nothing of the bytes")
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
