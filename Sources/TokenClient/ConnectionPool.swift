private import Glibc
internal import Synchronization

/// Where a connection is kept. What a process that was forked off has to know of it can be read without a lock.
final class ConnectionSlot: Sendable {
    private let connection = Mutex<Connection?>(nil)
    /// The descriptor; -1 for none.
    private let descriptor = Atomic<Int>(-1)
    private let inode = Atomic<UInt64>(0)

    /// Runs `body` with the connection once no other thread has it.
    func with<Result>(
        _ body: (inout Connection?) throws(TokenClientError) -> sending Result
    ) throws(TokenClientError) -> sending Result {
        try connection.withLock { (connection) throws(TokenClientError) in try note(&connection, body) }
    }

    /// Runs `body` with the connection; returns nil where another thread has it.
    func withIfFree<Result>(
        _ body: (inout Connection?) throws(TokenClientError) -> sending Result
    ) throws(TokenClientError) -> sending Result? {
        try connection.withLockIfAvailable { (connection) throws(TokenClientError) in
            try note(&connection, body)
        }
    }

    /// Ends the wait of a thread that has the connection.
    func interrupt() {
        let descriptor = descriptor.load(ordering: .acquiring)
        if descriptor >= 0, isStill(descriptor) { shutdown(Int32(descriptor), Int32(SHUT_RDWR)) }
    }

    /// Closes the descriptor that a process has inherited, unless the process has used its number for something else.
    /// Nothing else of the parent's state is touched: a lock in it may be held by a thread that does not exist here.
    func closeInherited() {
        let descriptor = descriptor.load(ordering: .acquiring)
        if descriptor >= 0, isStill(descriptor) { close(Int32(descriptor)) }
    }

    private func isStill(_ descriptor: Int) -> Bool {
        var status = stat()
        return unsafe fstat(Int32(descriptor), &status) == 0
            && UInt64(status.st_ino) == inode.load(ordering: .acquiring)
    }

    private func note<Result>(
        _ connection: inout Connection?,
        _ body: (inout Connection?) throws(TokenClientError) -> sending Result
    ) throws(TokenClientError) -> sending Result {
        defer {
            if let inode = connection?.inode { self.inode.store(inode, ordering: .releasing) }
            descriptor.store(Int(connection?.descriptor ?? -1), ordering: .releasing)
        }
        return try body(&connection)
    }
}
