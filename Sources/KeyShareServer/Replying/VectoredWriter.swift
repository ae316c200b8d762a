internal import CLinux
internal import Glibc
internal import NIOCore

/// Writes the replies of several connections with one system call.
///
/// A client that shares a core with the server runs as soon as the system call that wrote its reply returns. With one
/// call for each reply, the client would run after each of them, and the switches would cost more than the replies.
final class VectoredWriter {
    /// The maximum number of replies in one system call.
    static let limit = 64

    /// The kernel's queue of writes (`clinux_open_write_queue`); 0 if the system does not permit one.
    private var queue: UInt64 = 0
    private var connections: [ConnectionHandler] = []

    /// Creates an empty batch. If the system permits no queue, each reply is written with a separate call.
    init() {
        _ = unsafe clinux_open_write_queue(UInt32(Self.limit), &queue)
    }

    deinit {
        clinux_close_write_queue(queue)
    }

    /// Whether the batch must be submitted before another reply is added.
    var isFull: Bool { connections.count >= Self.limit }

    /// Adds a connection with a pending write, which `submit()` performs and ends.
    func addWrite(of connection: ConnectionHandler) {
        connections.append(connection)
    }

    /// Writes as many bytes of every reply as the kernel accepts without blocking, and notifies the connections.
    func submit() {
        guard !connections.isEmpty else { return }
        var writes: [clinux_write] = unsafe []
        unsafe writes.reserveCapacity(connections.count)
        unsafe submitWrites(&writes)
        for (index, connection) in connections.enumerated() {
            let written = unsafe writes[index].written
            // The kernel did not report how much it wrote, so no further bytes can follow.
            if written == Int64(-EIO) { connection.close(.peerClosed) }
            connection.writer.endWrite(after: Int(max(written, 0)))
        }
        connections.removeAll(keepingCapacity: true)
    }

    /// Appends the missing writes to `writes`, and then submits all of them. Each closure keeps the bytes of its reply
    /// in place while it runs, so no copy of a secret is made.
    private func submitWrites(_ writes: inout [clinux_write]) {
        guard unsafe writes.count < connections.count else {
            let count = unsafe UInt32(writes.count)
            return unsafe writes.withUnsafeMutableBufferPointer { writes in
                unsafe clinux_write_all(&queue, writes.baseAddress, count)
            }
        }
        let connection = unsafe connections[writes.count]
        unsafe connection.writer.bytesInFlight.withUnsafeReadableBytes { bytes in
            // A channel that was closed in the meantime has no descriptor, and the kernel rejects the write.
            let descriptor = connection.writer.descriptor ?? -1
            unsafe writes.append(
                clinux_write(descriptor: descriptor, bytes: bytes.baseAddress, count: bytes.count, written: 0)
            )
            unsafe submitWrites(&writes)
        }
    }
}
