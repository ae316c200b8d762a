private import Glibc

/// Bytes that must not outlive their use: a password, a private key, a sealed record's plaintext.
///
/// The memory belongs to this value and its copies, which share it; it is overwritten when the last of
/// them goes. `explicit_bzero` (bzero(3)) does that, because the optimiser may drop a `memset` on memory that
/// is about to be freed. Not a `String` and not `Data`: both copy freely and neither can be wiped.
///
/// Printing, interpolating or reflecting the value shows `<secret>`.
package struct SecretBytes: Sendable {
    private let storage: Storage

    /// Copies `bytes`. The caller's own copy stays the caller's to wipe.
    package init(_ bytes: some Collection<UInt8>) {
        let storage = Storage(capacity: bytes.count)
        unsafe storage.buffer.copyBytes(from: bytes)
        self.storage = storage
    }

    /// Lets `initialize` write up to `capacity` bytes and say how many it wrote.
    ///
    /// - Throws: what `initialize` throws; the memory is wiped then too.
    package init<Failure: Error>(
        capacity: Int,
        initializingWith initialize: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        let storage = Storage(capacity: capacity)
        storage.count = min(unsafe try initialize(unsafe storage.buffer), capacity)
        self.storage = storage
    }

    /// The UTF-8 bytes of `text`, for passwords that arrive as text from tests and defaults.
    package init(utf8 text: String) {
        self.init(Array(text.utf8))
    }

    /// How many bytes there are.
    package var count: Int { storage.count }

    /// Whether there are none.
    package var isEmpty: Bool { storage.count == 0 }

    /// Gives `body` the bytes; the pointer is good inside the call only.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe try body(UnsafeRawBufferPointer(rebasing: storage.buffer[..<storage.count]))
    }

    /// The memory itself. Written by the initialiser before anyone else sees the object, wiped by the end.
    ///
    /// `@unchecked Sendable`: `buffer` never changes, `count` and the bytes are written only inside
    /// `SecretBytes.init`, before the reference can reach a second thread; afterwards all access is reading.
    @safe private final class Storage: @unchecked Sendable {
        let buffer: UnsafeMutableRawBufferPointer
        var count: Int

        init(capacity: Int) {
            unsafe buffer = .allocate(byteCount: max(capacity, 1), alignment: 16)
            count = capacity
        }

        deinit {
            if let start = unsafe buffer.baseAddress { unsafe explicit_bzero(start, buffer.count) }
            unsafe buffer.deallocate()
        }
    }
}

extension SecretBytes: Equatable {
    /// Compares in a time that depends on the lengths only.
    package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe left.withUnsafeBytes { mine in
            unsafe right.withUnsafeBytes { theirs in
                // No early exit: every byte is looked at, whatever the first difference is.
                unsafe zip(mine, theirs).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
            }
        }
    }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `<secret>`.
    package var description: String { "<secret>" }
    /// Always `<secret>`.
    package var debugDescription: String { "<secret>" }
    /// Shows no child, so that `dump` shows no byte.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretBytes {
    /// Lends the bytes as an array, for parsers that take nothing else, and wipes it afterwards.
    ///
    /// No slice of the array may leave `body`: it would keep the bytes alive unwiped.
    package func withTransientArray<Result, Failure: Error>(
        _ body: ([UInt8]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var bytes = unsafe withUnsafeBytes { unsafe Array($0) }
        defer {
            unsafe bytes.withUnsafeMutableBytes { buffer in
                if let start = buffer.baseAddress { unsafe explicit_bzero(start, buffer.count) }
            }
        }
        return try body(bytes)
    }
}
