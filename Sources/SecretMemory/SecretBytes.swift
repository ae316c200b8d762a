private import Glibc

/// Bytes that must not outlive their use, such as a password or a private key.
///
/// All copies of a value share one memory block, which is overwritten when the last copy is released. It is
/// overwritten with `explicit_bzero` (bzero(3)), because the optimizer may remove a `memset` on memory that
/// is about to be freed. A secret is never a `String` or `Data`: these types copy implicitly and cannot be
/// wiped.
///
/// Printing, interpolating or reflecting the value shows `<secret>`.
package struct SecretBytes: Sendable {
    private let storage: Storage

    /// Copies `bytes`. The caller still has to wipe the original.
    package init(_ bytes: some Collection<UInt8>) {
        let storage = Storage(capacity: bytes.count)
        unsafe storage.buffer.copyBytes(from: bytes)
        self.storage = storage
    }

    /// Creates a value from bytes that `initialize` writes directly into the value's memory, so that no other
    /// copy exists.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of bytes that `initialize` may write.
    ///   - initialize: Writes the bytes, and returns the number of bytes written.
    /// - Throws: The error of `initialize`. The memory is also wiped in that case.
    package init<Failure: Error>(
        capacity: Int,
        initializingWith initialize: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        let storage = Storage(capacity: capacity)
        storage.count = min(unsafe try initialize(unsafe storage.buffer), capacity)
        self.storage = storage
    }

    /// Copies the UTF-8 bytes of `text`. Use it only for text that is not wiped in any case, such as passwords in the
    /// source code of tests and defaults.
    package init(utf8 text: String) {
        self.init(Array(text.utf8))
    }

    /// The number of bytes.
    package var count: Int { storage.count }

    /// Whether the value contains no bytes.
    package var isEmpty: Bool { storage.count == 0 }

    /// Calls `body` with the bytes. The pointer must not be used after the call.
    ///
    /// - Throws: The error of `body`.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe try body(UnsafeRawBufferPointer(rebasing: storage.buffer[..<storage.count]))
    }

    /// The owner of the memory, which wipes it.
    ///
    /// `@unchecked Sendable`: `buffer` never changes. `count` and the bytes are written only in
    /// `SecretBytes.init`, before another thread can have a reference, and are only read afterwards.
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
    /// Compares in a time that depends only on the lengths, so that measuring the time does not help to guess a secret.
    package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe left.withUnsafeBytes { mine in
            unsafe right.withUnsafeBytes { theirs in
                // There is no early exit: all bytes are compared even after a difference.
                unsafe zip(mine, theirs).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
            }
        }
    }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text `<secret>`, whatever the bytes are.
    package var description: String { "<secret>" }
    /// The text `<secret>`, whatever the bytes are.
    package var debugDescription: String { "<secret>" }
    /// A mirror without children, so that `dump` shows no byte.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretBytes {
    /// Calls `body` with the bytes as an array, for parsers that accept only arrays, and wipes the array
    /// after the call.
    ///
    /// No copy or slice of the array may leave `body`, because it would not be wiped.
    ///
    /// - Throws: The error of `body`.
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
