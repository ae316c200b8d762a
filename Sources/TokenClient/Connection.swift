internal import CLinux
private import Glibc
internal import KeyShareProtocol
internal import SecretMemory
internal import Synchronization

/// A time on the monotonic clock, in nanoseconds.
package struct Deadline: Sendable {
    let nanoseconds: UInt64

    /// Returns the time that is this many milliseconds from now.
    package static func after(milliseconds: UInt64) -> Deadline {
        Deadline(nanoseconds: now &+ milliseconds &* 1_000_000)
    }

    /// Returns this time, or the time that is this many milliseconds from now if that is earlier.
    func atMost(milliseconds: UInt64) -> Deadline {
        Deadline(nanoseconds: min(nanoseconds, Deadline.after(milliseconds: milliseconds).nanoseconds))
    }

    /// The current time of the clock.
    static var now: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(truncatingIfNeeded: time.tv_sec) &* 1_000_000_000
            &+ UInt64(truncatingIfNeeded: time.tv_nsec)
    }

    /// The number of milliseconds left; at least 0.
    var millisecondsLeft: Int32 {
        let now = Self.now
        guard nanoseconds > now else { return 0 }
        return Int32(clamping: (nanoseconds - now) / 1_000_000 + 1)
    }
}

/// A connection to a provider, with one request at a time. The descriptor is closed when the connection is destroyed.
struct Connection: ~Copyable, Sendable {
    /// The body of a reply.
    enum Reply: Sendable {
        case plain([UInt8])
        /// The bytes of a signature, a plaintext or a secret. This is the only copy.
        case secret(SecretBytes)
    }

    let descriptor: Int32
    /// The socket's inode number, which shows whether the host program has closed the descriptor and reused its number.
    let inode: UInt64
    private var lastID: UInt32 = 0
    /// The socket's receive timeout, in milliseconds; 0 for no timeout.
    private var receiveTimeout: Int32 = 0
    private var buffer = [UInt8](repeating: 0, count: Wire.replyLimit)

    private init(descriptor: Int32, inode: UInt64) {
        self.descriptor = descriptor
        self.inode = inode
    }

    /// Connects to a socket. The kernel reports the server's user, who must be the user of this process.
    ///
    /// - Throws: `absent`, `timedOut`.
    static func connect(path: String, deadline: Deadline) throws(TokenClientError) -> Connection {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .absent("a socket cannot be created: \(Self.text(errno))") }
        var status = stat()
        let inode = unsafe fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
        // The descriptor is closed with this value if a later step fails.
        let connection = Connection(descriptor: descriptor, inode: inode)
        Self.setTimeout(descriptor, SO_SNDTIMEO, milliseconds: deadline.millisecondsLeft)
        while !Self.connect(descriptor, to: path) {
            switch errno {
            case EINTR where deadline.millisecondsLeft > 0: continue
            case EAGAIN, EINPROGRESS, ETIMEDOUT, EINTR: throw .timedOut
            default: throw .absent("no provider is listening on \(path): \(Self.text(errno))")
            }
        }
        var (uid, gid, pid): (UInt32, UInt32, Int32) = (0, 0, 0)
        guard unsafe clinux_peer_credentials(descriptor, &uid, &gid, &pid) == 0, uid == geteuid() else {
            throw .absent("the provider that listens on \(path) belongs to another user")
        }
        return connection
    }

    deinit {
        // The host program may have closed the descriptor and reused its number.
        if isOurs { close(descriptor) }
    }

    /// Whether the descriptor still refers to this socket. It does not if the host program closed all descriptors.
    var isOurs: Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && UInt64(status.st_ino) == inode
    }

    /// Sends a request and waits for its reply.
    ///
    /// - Parameters:
    ///   - request: The request. It is not overwritten.
    ///   - hasSecret: Whether the body of the reply is kept as a secret.
    ///   - deadline: The deadline for the reply.
    /// - Throws: `TokenClientError`. The connection is unusable then, except after `token` and `provider`.
    mutating func reply(
        to request: TokenRequest, hasSecret: Bool, deadline: Deadline
    ) throws(TokenClientError) -> Reply {
        lastID = lastID == .max ? 1 : lastID + 1
        var request = request
        request.setID(lastID)
        defer { request.wipe() }
        try send(request.frame, deadline)
        let length = try receive(deadline)
        defer { wipe(length) }
        var header = ReplyReader(buffer[4..<9])
        let type = try header.integer(as: UInt8.self)
        let id = try header.integer(as: UInt32.self)
        if type == Wire.MessageType.failure.rawValue, id == lastID || id == 0 {
            throw try failure(buffer[9..<length])
        }
        guard type == request.type.rawValue | 0x80, id == lastID else {
            throw .malformed("the reply has type \(type) and answers request \(id)")
        }
        let body = buffer[9..<length]
        return hasSecret ? .secret(SecretBytes(body)) : .plain(Array(body))
    }

    private func failure(_ body: ArraySlice<UInt8>) throws(TokenClientError) -> TokenClientError {
        var reader = ReplyReader(body)
        let code = try reader.integer(as: UInt16.self)
        let reason = try reader.text()
        guard code == Wire.tokenFailureCode else { return .provider(code: code, reason: reason) }
        let tokenCode = Int(Int16(bitPattern: try reader.integer(as: UInt16.self)))
        return .token(code: tokenCode, obstacle: try reader.text(), reason: reason)
    }

    private func send(_ frame: [UInt8], _ deadline: Deadline) throws(TokenClientError) {
        var sent = 0
        while sent < frame.count {
            let count = unsafe frame.withUnsafeBytes { bytes in
                // The host program's SIGPIPE handler must not be called.
                unsafe Glibc.send(
                    descriptor, bytes.baseAddress.map { unsafe $0 + sent }, bytes.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else {
                try retry(deadline)
            }
        }
    }

    /// Receives a whole frame into the buffer.
    ///
    /// - Returns: The frame's length, at least 9.
    private mutating func receive(_ deadline: Deadline) throws(TokenClientError) -> Int {
        var (got, needed) = (0, 4)
        var deadline = deadline
        var hasBegun = false
        limitReceiving(to: deadline.millisecondsLeft)
        while got < needed {
            let descriptor = descriptor
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe recv(descriptor, bytes.baseAddress.map { unsafe $0 + got }, bytes.count - got, 0)
            }
            if count > 0 {
                got += count
            } else if count == 0 {
                throw .lost
            } else {
                try retry(deadline)
                limitReceiving(to: deadline.millisecondsLeft)
            }
            if needed == 4, got >= 4 {
                let length = buffer[0..<4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                guard length >= 5, length <= UInt32(Wire.replyLimit - 4) else {
                    throw .malformed("a frame has an invalid length of \(length) bytes")
                }
                needed = Int(length) + 4
            }
            // The rest of a frame arrives promptly after its beginning, even if the provider prompted the user before.
            if got < needed, got > 0, !hasBegun {
                hasBegun = true
                deadline = deadline.atMost(milliseconds: TokenClient.replyTime)
                limitReceiving(to: deadline.millisecondsLeft)
            }
            // A provider that sends single bytes slowly must not block the caller forever.
            guard got >= needed || deadline.millisecondsLeft > 0 else { throw .timedOut }
        }
        guard got == needed else { throw .malformed("bytes follow the reply") }
        return got
    }

    /// Sets the receive timeout. A current timeout that is up to 50 ms longer is kept: most requests have the same
    /// timeout, and setting it each time costs a system call.
    private mutating func limitReceiving(to milliseconds: Int32) {
        guard receiveTimeout == 0 || !(0...50).contains(receiveTimeout - milliseconds) else { return }
        Self.setTimeout(descriptor, SO_RCVTIMEO, milliseconds: milliseconds)
        receiveTimeout = milliseconds
    }

    private mutating func wipe(_ length: Int) {
        unsafe buffer.withUnsafeMutableBytes { bytes in
            if let start = bytes.baseAddress { unsafe explicit_bzero(start, min(length, bytes.count)) }
        }
    }

    /// Returns after an interrupted call, and throws after any other failure.
    private func retry(_ deadline: Deadline) throws(TokenClientError) {
        switch errno {
        case EINTR where deadline.millisecondsLeft > 0: return
        case EAGAIN where deadline.millisecondsLeft > 0: return
        case EINTR, EAGAIN: throw .timedOut
        default: throw .lost
        }
    }

    private static func connect(_ descriptor: Int32, to path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: path.utf8.prefix(field.count - 1))
        }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe Glibc.connect(descriptor, address, length) == 0
            }
        }
    }

    private static func setTimeout(_ descriptor: Int32, _ option: Int32, milliseconds: Int32) {
        // A timeout of zero would mean no timeout.
        let milliseconds = max(milliseconds, 1)
        var time = timeval(
            tv_sec: time_t(milliseconds / 1_000), tv_usec: suseconds_t(milliseconds % 1_000) * 1_000)
        unsafe setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    private static func text(_ number: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 128)
        return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return "error \(number)" }
            guard unsafe strerror_r(number, start, buffer.count) == 0 else { return "error \(number)" }
            return unsafe String(cString: start)
        }
    }
}

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

    /// Records the descriptor of a connection that was opened within a `body`, so that ``interrupt()`` finds it.
    func record(_ connection: inout Connection?) {
        if let inode = connection?.inode { self.inode.store(inode, ordering: .releasing) }
        descriptor.store(Int(connection?.descriptor ?? -1), ordering: .sequentiallyConsistent)
    }

    /// Interrupts a thread that is waiting on the connection.
    func interrupt() {
        let descriptor = descriptor.load(ordering: .sequentiallyConsistent)
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
        defer { record(&connection) }
        return try body(&connection)
    }
}
