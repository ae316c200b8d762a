import Glibc
import SecretMemory
import Testing

/// Reads memory after its owner has released it. The kernel reads it, so that an address that is no longer mapped is not
/// an error.
@Suite("Memory of secrets", .timeLimit(.minutes(10)))
struct WipingTests {
    private static let count = 4_096
    /// The secret's bytes, inverted, so that this copy is not mistaken for the secret.
    private let complement = (0..<count).map { _ in UInt8.random(in: 0...254) }

    /// Whether memory ends with the last 1,024 bytes of the secret. The allocator overwrites the first bytes. The bytes are
    /// read into the stack, because new memory might be the memory that was released.
    private func remains(at address: UInt) -> Bool {
        let file = unsafe open("/proc/self/mem", O_RDONLY)
        defer { close(file) }
        let end = complement.suffix(1_024)
        return unsafe withUnsafeTemporaryAllocation(byteCount: end.count, alignment: 16) { found in
            let place = Int(bitPattern: address) + Self.count - end.count
            guard unsafe pread(file, found.baseAddress, end.count, place) == end.count else { return false }
            return unsafe zip(found, end).allSatisfy { $0 == ~$1 }
        }
    }

    private func secret() -> SecretBytes {
        unsafe SecretBytes(capacity: Self.count) { buffer in
            for place in complement.indices { unsafe buffer[place] = ~complement[place] }
            return complement.count
        }
    }

    @Test("The memory of a secret is overwritten when its last copy is released")
    func released() {
        var secret: SecretBytes? = secret()
        var copy = secret
        let address = unsafe secret?.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } ?? 0
        #expect(remains(at: address))
        secret = nil
        #expect(remains(at: address), "the copy still needs the memory")
        #expect(copy != nil)
        copy = nil
        #expect(!remains(at: address))
    }

    @Test("A transient array is overwritten after its use, even if its user throws")
    func transient() throws {
        struct Refusal: Error {}
        let secret = secret()
        var address: UInt = 0
        secret.withTransientArray { bytes in
            unsafe bytes.withUnsafeBytes { address = UInt(bitPattern: $0.baseAddress) }
            #expect(remains(at: address))
        }
        #expect(!remains(at: address))
        #expect(throws: Refusal.self) {
            try secret.withTransientArray { bytes throws(Refusal) in
                unsafe bytes.withUnsafeBytes { address = UInt(bitPattern: $0.baseAddress) }
                throw Refusal()
            }
        }
        #expect(!remains(at: address))
    }

    @Test("The memory of a secret is also overwritten beyond the bytes that the secret contains")
    func beyondTheCount() {
        var secret: SecretBytes? = unsafe SecretBytes(capacity: Self.count) { buffer in
            for place in complement.indices { unsafe buffer[place] = ~complement[place] }
            return 1
        }
        let address = unsafe secret?.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } ?? 0
        #expect(remains(at: address))
        secret = nil
        #expect(!remains(at: address))
    }
}
