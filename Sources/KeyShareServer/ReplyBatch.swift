internal import CLinux
internal import Glibc
internal import NIOCore

/// The replies of several connections, which go to the kernel by one system call.
///
/// A client that shares a core with the server runs as soon as the system call that wrote its reply has ended. With a call
/// for each reply it would run for one reply at a time, and the switches between the two would cost more than the replies.
final class ReplyBatch {
    /// The number of replies of one system call.
    static let limit = 64

    /// The kernel's queue of writes (`clinux_open_write_queue`); 0 where the system permits none.
    private var queue: UInt64 = 0
    private var connections: [ConnectionHandler] = []

    /// Makes an empty batch. Where the system permits no queue, each reply is written by a call of its own.
    init() {
        _ = unsafe clinux_open_write_queue(UInt32(Self.limit), &queue)
    }

    deinit {
        clinux_close_write_queue(queue)
    }

    /// Whether another reply has to wait until this batch is sent.
    var isFull: Bool { connections.count >= Self.limit }

    /// Adds a connection that has begun a write; the batch ends the write in `send()`.
    func add(_ connection: ConnectionHandler) {
        connections.append(connection)
    }

    /// Gives the kernel as many bytes of every reply as it takes without waiting, and tells the connections.
    func send() {
        guard !connections.isEmpty else { return }
        var writes: [clinux_write] = unsafe []
        unsafe writes.reserveCapacity(connections.count)
        unsafe make(&writes)
        for (index, connection) in connections.enumerated() {
            let written = unsafe writes[index].written
            // The kernel did not tell how much it took, so that nothing can follow.
            if written == Int64(-EIO) { connection.close(.peerClosed) }
            connection.endWrite(after: Int(max(written, 0)))
        }
        connections.removeAll(keepingCapacity: true)
    }

    /// Describes the writes of the connections that `writes` lacks, and has all of them made. The bytes of a reply stay where
    /// they are for as long as the closure that got them runs, so that no copy of a secret is made.
    private func make(_ writes: inout [clinux_write]) {
        guard unsafe writes.count < connections.count else {
            let count = unsafe UInt32(writes.count)
            return unsafe writes.withUnsafeMutableBufferPointer { writes in
                unsafe clinux_write_all(&queue, writes.baseAddress, count)
            }
        }
        let connection = unsafe connections[writes.count]
        unsafe connection.bytesInFlight.withUnsafeReadableBytes { bytes in
            // A channel that was closed since has no descriptor, and the kernel refuses the write.
            let descriptor = connection.socket.descriptor ?? -1
            unsafe writes.append(
                clinux_write(descriptor: descriptor, bytes: bytes.baseAddress, count: bytes.count, written: 0)
            )
            unsafe make(&writes)
        }
    }
}
