internal import CLinux
private import Glibc
internal import SecretMemory

/// A moment of the monotonic clock, in nanoseconds.
package struct Deadline: Sendable {
    let nanoseconds: UInt64

    /// The moment so many milliseconds from now.
    package static func after(milliseconds: UInt64) -> Deadline {
        Deadline(nanoseconds: now &+ milliseconds &* 1_000_000)
    }

    /// This moment, or the one so many milliseconds from now where that is earlier.
    func atMost(milliseconds: UInt64) -> Deadline {
        Deadline(nanoseconds: min(nanoseconds, Deadline.after(milliseconds: milliseconds).nanoseconds))
    }

    /// The clock.
    static var now: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(truncatingIfNeeded: time.tv_sec) &* 1_000_000_000
            &+ UInt64(truncatingIfNeeded: time.tv_nsec)
    }

    /// How many milliseconds are left; at least 0.
    var millisecondsLeft: Int32 {
        let now = Self.now
        guard nanoseconds > now else { return 0 }
        return Int32(clamping: (nanoseconds - now) / 1_000_000 + 1)
    }
}

/// A connection to a provider, over which one request at a time is answered. The descriptor closes with it.
struct Connection: ~Copyable, Sendable {
    /// The body of a reply.
    enum Reply: Sendable {
        case plain([UInt8])
        /// The bytes of a signature, a plaintext or a secret, which are nowhere else any more.
        case secret(SecretBytes)
    }

    /// The descriptor; -1 once it is not ours any more.
    private(set) var descriptor: Int32
    /// The number of the socket in the kernel, by which a descriptor that the host has closed and used again is told
    /// from ours.
    let inode: UInt64
    private var lastID: UInt32 = 0
    /// The time-out for receiving that the socket has, in milliseconds; 0 for none.
    private var receiveTimeout: Int32 = 0
    private var buffer = [UInt8](repeating: 0, count: TokenWire.replyLimit)

    private init(descriptor: Int32, inode: UInt64) {
        self.descriptor = descriptor
        self.inode = inode
    }

    /// Connects to a socket. The kernel says who serves there; only the own user may.
    ///
    /// - Throws: `absent`, `timedOut`.
    static func open(path: String, deadline: Deadline) throws(TokenClientError) -> Connection {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .absent("no socket can be made: \(Self.text(errno))") }
        var status = stat()
        let inode = unsafe fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
        // Whatever goes wrong from here on, the descriptor closes with the value.
        let connection = Connection(descriptor: descriptor, inode: inode)
        Self.setTimeout(descriptor, SO_SNDTIMEO, milliseconds: deadline.millisecondsLeft)
        while !Self.connect(descriptor, to: path) {
            switch errno {
            case EINTR where deadline.millisecondsLeft > 0: continue
            case EAGAIN, EINPROGRESS, ETIMEDOUT, EINTR: throw .timedOut
            default: throw .absent("nobody serves on \(path): \(Self.text(errno))")
            }
        }
        var (uid, gid, pid): (UInt32, UInt32, Int32) = (0, 0, 0)
        guard unsafe clinux_peer_credentials(descriptor, &uid, &gid, &pid) == 0, uid == geteuid() else {
            throw .absent("another user serves on \(path)")
        }
        return connection
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Leaves the descriptor as it is, because its number is another file's by now.
    mutating func forget() { descriptor = -1 }

    /// Whether the descriptor is still this socket, which a program that closes all descriptors changes.
    var isOurs: Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && UInt64(status.st_ino) == inode
    }

    /// Sends a request and waits for its reply.
    ///
    /// - Parameters:
    ///   - request: the request. It is not overwritten.
    ///   - hasSecret: whether the body of the reply is kept as a secret.
    ///   - deadline: until when to wait.
    /// - Throws: `TokenClientError`; the connection is unusable then, except after `token` and `provider`.
    mutating func ask(
        _ request: TokenRequest, hasSecret: Bool, deadline: Deadline
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
        if type == TokenWire.failure, id == lastID || id == 0 { throw try failure(buffer[9..<length]) }
        guard type == request.kind.replyType, id == lastID else {
            throw .malformed("the reply has type \(type) and answers request \(id)")
        }
        let body = buffer[9..<length]
        return hasSecret ? .secret(SecretBytes(body)) : .plain(Array(body))
    }

    private func failure(_ body: ArraySlice<UInt8>) throws(TokenClientError) -> TokenClientError {
        var reader = ReplyReader(body)
        let code = try reader.integer(as: UInt16.self)
        let reason = try reader.text()
        guard code == TokenWire.tokenFailureCode else { return .provider(code: code, reason: reason) }
        let tokenCode = Int(Int16(bitPattern: try reader.integer(as: UInt16.self)))
        return .token(code: tokenCode, obstacle: try reader.text(), reason: reason)
    }

    private func send(_ frame: [UInt8], _ deadline: Deadline) throws(TokenClientError) {
        var sent = 0
        while sent < frame.count {
            let count = unsafe frame.withUnsafeBytes { bytes in
                // The host's handler of SIGPIPE is none of ours.
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
    /// - Returns: its length, at least 9.
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
                guard length >= 5, length <= UInt32(TokenWire.replyLimit - 4) else {
                    throw .malformed("a frame of \(length) bytes")
                }
                needed = Int(length) + 4
            }
            // A frame that has begun to come comes at once, however long the user was asked before.
            if got < needed, got > 0, !hasBegun {
                hasBegun = true
                deadline = deadline.atMost(milliseconds: TokenClient.replyTime)
                limitReceiving(to: deadline.millisecondsLeft)
            }
            // A provider that sends a byte now and then must not keep the caller for ever.
            guard got >= needed || deadline.millisecondsLeft > 0 else { throw .timedOut }
        }
        guard got == needed else { throw .malformed("bytes stand behind the reply") }
        return got
    }

    /// Sets the time-out for receiving, unless the socket has one that is hardly longer: most requests have one and the same,
    /// and a call of the system for each would cost more than it saves.
    private mutating func limitReceiving(to milliseconds: Int32) {
        guard receiveTimeout < milliseconds || receiveTimeout - milliseconds > 50 else { return }
        Self.setTimeout(descriptor, SO_RCVTIMEO, milliseconds: milliseconds)
        receiveTimeout = milliseconds
    }

    private mutating func wipe(_ length: Int) {
        unsafe buffer.withUnsafeMutableBytes { bytes in
            if let start = bytes.baseAddress { unsafe explicit_bzero(start, min(length, bytes.count)) }
        }
    }

    /// Goes on after an interrupted call, and throws after any other failure.
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
        // A time-out of zero would mean none.
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
