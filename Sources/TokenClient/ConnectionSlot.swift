private import Glibc
internal import Synchronization

/// A slot for a connection. A forked child can read the descriptor and inode without a lock.
final class ConnectionSlot: Sendable {
    private let connection = Mutex<Connection?>(nil)
    /// The descriptor; -1 if there is none.
    private let descriptor = Atomic<Int>(-1)
    private let inode = Atomic<UInt64>(0)

    /// Runs `body` with exclusive access to the connection.
    func with<Result>(
        _ body: (inout Connection?) throws(TokenClientError) -> sending Result
    ) throws(TokenClientError) -> sending Result {
        try connection.withLock { (connection) throws(TokenClientError) in
            try recordDescriptor(of: &connection, body)
        }
    }

    /// Runs `body` with the connection; returns nil if another thread is using it.
    func withIfFree<Result>(
        _ body: (inout Connection?) throws(TokenClientError) -> sending Result
    ) throws(TokenClientError) -> sending Result? {
        try connection.withLockIfAvailable { (connection) throws(TokenClientError) in
            try recordDescriptor(of: &connection, body)
        }
    }

    /// Interrupts a thread that is waiting on the connection.
    func interrupt() {
        let descriptor = descriptor.load(ordering: .acquiring)
        if descriptor >= 0, isStill(descriptor) { shutdown(Int32(descriptor), Int32(SHUT_RDWR)) }
    }

    /// Closes the inherited descriptor in a forked child, unless the child has reused its number. The rest of the
    /// parent's state is not touched, because its lock may be held by a thread that does not exist in the child.
    func closeInherited() {
        let descriptor = descriptor.load(ordering: .acquiring)
        if descriptor >= 0, isStill(descriptor) { close(Int32(descriptor)) }
    }

    private func isStill(_ descriptor: Int) -> Bool {
        var status = stat()
        return unsafe fstat(Int32(descriptor), &status) == 0
            && UInt64(status.st_ino) == inode.load(ordering: .acquiring)
    }

    private func recordDescriptor<Result>(
        of connection: inout Connection?,
        _ body: (inout Connection?) throws(TokenClientError) -> sending Result
    ) throws(TokenClientError) -> sending Result {
        defer {
            if let inode = connection?.inode { self.inode.store(inode, ordering: .releasing) }
            descriptor.store(Int(connection?.descriptor ?? -1), ordering: .releasing)
        }
        return try body(&connection)
    }
}
