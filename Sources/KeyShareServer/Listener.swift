internal import LocalSockets
internal import Glibc
internal import PrivateFiles
internal import Synchronization

/// A listening socket in the file system, with its folder checked and its lock held.
///
/// Until `close()`, a listener owns three things: the lock and its file, so that there is one server for a path; the
/// socket's name in the folder; and the listening descriptor, which `takeDescriptor()` may hand on.
final class Listener: Sendable {
    /// The path of the socket.
    let path: String
    /// The lock by which there is one server for a path; nil for an inherited socket.
    private let lock: FileLock?
    /// The file that the socket is, so that a later file of that name is not removed; nil for an inherited socket,
    /// whose name belongs to the service manager.
    private let identity: FileIdentity?
    private let state: Mutex<State>

    private struct State {
        var descriptor: CInt?
        var isOpen = true
    }

    /// Takes the socket at `path`. The folder is made where it is missing (one level, mode 0700), and the socket of a
    /// server that is gone is replaced; any other file of that name is left alone.
    ///
    /// - Throws: `SocketError`: `pathTooLong`, `unsafeFolder`, `notASocket`, `alreadyRunning`, `system`.
    init(path: String) throws(SocketError) {
        try SocketPath.check(path)
        try Self.checkFolder(of: path)
        let lock = try Self.lock(path + ".lock")
        do throws(SocketError) {
            try Self.clearStaleSocket(at: path)
            let descriptor = try Self.bind(path)
            guard let identity = FileIdentity(path: path) else {
                Glibc.close(descriptor)
                throw SocketError(.system, "the socket vanished from \(path)", errno: ENOENT)
            }
            self.identity = identity
            self.state = Mutex(State(descriptor: descriptor))
        } catch {
            lock.releaseAndRemoveFile()
            throw error
        }
        self.lock = lock
        self.path = path
    }

    /// Takes a socket that listens already. The service manager that made it keeps its name.
    ///
    /// - Parameter descriptor: The listening descriptor. The listener closes it unless it is taken; where this throws,
    ///   it stays open.
    /// - Throws: `SocketError`: `notASocket` where the descriptor is no listening stream socket of the UNIX domain with
    ///   a name in a folder, `unsafeFolder` where others may enter that folder, `system`.
    init(inherited descriptor: CInt) throws(SocketError) {
        func option(_ name: CInt) -> CInt? {
            var value: CInt = 0
            var length = socklen_t(MemoryLayout<CInt>.size)
            return unsafe getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
        }
        guard option(SO_DOMAIN) == AF_UNIX, option(SO_TYPE) == CInt(SOCK_STREAM.rawValue),
            option(SO_ACCEPTCONN) == 1, let path = Self.name(of: descriptor)
        else {
            throw SocketError(
                .notASocket, "the descriptor \(descriptor) is no listening socket with a name in a folder")
        }
        try Self.checkFolder(of: path)
        // A child process must not inherit the descriptor, and an accept must not block.
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else {
            throw SocketError(.system, "the inherited socket cannot be set up", errno: errno)
        }
        self.path = path
        lock = nil
        identity = nil
        state = Mutex(State(descriptor: descriptor))
    }

    deinit {
        close()
    }

    /// Hands the listening descriptor to the caller, who must close it; nil on a second call.
    func takeDescriptor() -> CInt? {
        state.withLock { $0.descriptor.take() }
    }

    /// Removes the socket from the folder, so that no new consumer connects. The lock stays.
    func unlinkSocket() {
        if let identity, FileIdentity(path: path)?.isSameFile(as: identity) == true {
            unsafe unlink(path)
        }
    }

    /// Removes the socket, the lock and the lock's file, and closes the descriptor unless it was taken.
    func close() {
        let (wasOpen, descriptor) = state.withLock { state in
            defer { state.isOpen = false }
            return (state.isOpen, state.descriptor.take())
        }
        guard wasOpen else { return }
        unlinkSocket()
        lock?.releaseAndRemoveFile()
        if let descriptor { Glibc.close(descriptor) }
    }
}

// MARK: - Taking the socket

extension Listener {
    /// Makes the socket's folder, or refuses an existing one that others may enter; an open folder is never closed
    /// here, because the user may have named one that others need.
    private static func checkFolder(of path: String) throws(SocketError) {
        let folder = PrivateFolder.parent(of: path)
        do throws(FileError) {
            try PrivateFolder.makeOrRequireClosed(folder)
        } catch {
            throw switch error.code {
            case .symbolicLink, .notAFolder:
                SocketError(.unsafeFolder, "\(folder) is no folder, or a symbolic link to one")
            case .foreignOwner: SocketError(.unsafeFolder, "the folder \(folder) belongs to another user")
            case .exposedFolder:
                SocketError(
                    .unsafeFolder, "the folder \(folder) is open to others; it must have mode 0700")
            case .cannotCreate:
                SocketError(.system, "the folder \(folder) cannot be made", errno: error.errno)
            default: SocketError(.system, "the folder \(folder) cannot be examined", errno: error.errno)
            }
        }
    }

    /// Takes the lock by which there is one server for a socket's path.
    private static func lock(_ path: String) throws(SocketError) -> FileLock {
        let lock: FileLock?
        do throws(FileError) {
            lock = try FileLock.acquireIfFree(path)
        } catch {
            throw SocketError(.system, "the lock \(path) cannot be taken", errno: error.errno)
        }
        guard let lock else { throw SocketError(.alreadyRunning, "another provider holds \(path)") }
        return lock
    }

    /// Removes the socket of a server that is gone. This process holds the lock, so a socket at `path` belongs to a
    /// server that is gone or to one without a lock; the latter answers a connection.
    ///
    /// - Throws: `SocketError`: `notASocket`, `alreadyRunning` where the socket answers, `system`.
    private static func clearStaleSocket(at path: String) throws(SocketError) {
        guard let facts = FileIdentity(path: path) else { return }
        guard facts.type == S_IFSOCK else {
            throw SocketError(.notASocket, "\(path) is there, and no socket; it was left alone")
        }
        let probe = try makeSocket()
        defer { Glibc.close(probe) }
        let reason = unsafe withAddress(of: path) { address, length in
            unsafe connect(probe, address, length) == 0 ? 0 : errno
        }
        switch reason {
        // EAGAIN means that the queue is full, so that a server is there.
        case 0, EAGAIN, EINPROGRESS:
            throw SocketError(.alreadyRunning, "another provider answers at \(path)")
        case ECONNREFUSED:
            guard unsafe unlink(path) == 0 || errno == ENOENT else {
                throw SocketError(.system, "the stale socket \(path) cannot be removed", errno: errno)
            }
        default:
            throw SocketError(.system, "\(path) cannot be examined", errno: reason)
        }
    }

    private static func bind(_ path: String) throws(SocketError) -> CInt {
        let descriptor = try makeSocket()
        // The name in the folder gets the mode of the socket, less the umask. The mode is set on the socket because a
        // umask of 0177 round the bind would hold for the files of all threads of the process.
        let reason =
            fchmod(descriptor, 0o600) != 0
            ? errno
            : unsafe withAddress(of: path) { address, length in
                unsafe Glibc.bind(descriptor, address, length) == 0 ? 0 : errno
            }
        guard reason == 0 else {
            Glibc.close(descriptor)
            throw SocketError(.system, "\(path) cannot be bound", errno: reason)
        }
        guard listen(descriptor, AcceptQueue.long) == 0 else {
            let reason = errno
            unsafe unlink(path)
            Glibc.close(descriptor)
            throw SocketError(.system, "\(path) cannot be listened on", errno: reason)
        }
        return descriptor
    }

    /// The path of a socket in the file system; nil for a socket without a name, or with an abstract one (unix(7)).
    private static func name(of descriptor: CInt) -> String? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = unsafe withUnsafeMutableBytes(of: &address) { bytes in
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { address in
                unsafe getsockname(descriptor, address.baseAddress, &length)
            }
        }
        guard result == 0 else { return nil }
        let name = unsafe withUnsafeBytes(of: &address.sun_path) { unsafe [UInt8]($0.prefix { $0 != 0 }) }
        return name.first == UInt8(ascii: "/") ? String(decoding: name, as: UTF8.self) : nil
    }

    private static func makeSocket() throws(SocketError) -> CInt {
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else {
            throw SocketError(.system, "no socket can be made", errno: errno)
        }
        return descriptor
    }

    /// Calls `body` with the address of `path`, which has at most 107 bytes by now and fits with a NUL behind it.
    private static func withAddress(
        of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: path.utf8.prefix(field.count - 1))
        }
        return unsafe withUnsafeBytes(of: &address) { bytes in
            // The pointer refers to a whole sockaddr_un, and the length says so.
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { address in
                guard let start = address.baseAddress else { return EINVAL }
                return unsafe body(start, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
