internal import LocalSockets
internal import Glibc
internal import PrivateFiles
internal import Synchronization

/// A listening socket in the file system, whose folder was checked and whose lock is held.
///
/// Until `close()`, a listener owns three things: the lock and its file, which ensure that a path has one server; the
/// socket's name in the folder; and the listening descriptor, unless `takeDescriptor()` transferred it.
final class Listener: Sendable {
    /// The path of the socket.
    let path: String
    /// The lock that ensures that the path has one server; nil for an inherited socket.
    private let lock: FileLock?
    /// Identifies the socket's file, so that a later file of the same name is not removed; nil for an inherited socket,
    /// whose name belongs to the service manager.
    private let identity: FileIdentity?
    private let state: Mutex<State>

    private struct State {
        var descriptor: CInt?
        var isOpen = true
    }

    /// Opens the socket at `path`. Creates the folder if it is missing (one level, mode 0700), and replaces the socket
    /// of a server that has ended. Any other file with that name is left unchanged.
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

    /// Uses a socket that is already listening. The service manager that created the socket still owns its name.
    ///
    /// - Parameter descriptor: The listening descriptor. The listener closes it unless `takeDescriptor()` transfers it.
    ///   If the initializer throws, the descriptor stays open.
    /// - Throws: `SocketError`: `notASocket` if the descriptor is not a listening UNIX-domain stream socket with a name
    ///   in a folder, `unsafeFolder` if other users may enter that folder, `system`.
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
                .notASocket, "the descriptor \(descriptor) is not a listening socket with a path")
        }
        try Self.checkFolder(of: path)
        // A child process must not inherit the descriptor, and accept(2) must not block.
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

    /// Transfers the listening descriptor to the caller, who must close it. Returns nil on a second call.
    func takeDescriptor() -> CInt? {
        state.withLock { $0.descriptor.take() }
    }

    /// Removes the socket from the folder, so that no new consumer connects. The lock is kept.
    func unlinkSocket() {
        if let identity, FileIdentity(path: path)?.isSameFile(as: identity) == true {
            unsafe unlink(path)
        }
    }

    /// Removes the socket, the lock and the lock file, and closes the descriptor unless it was transferred.
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

// MARK: - Opening the socket

extension Listener {
    /// Creates the socket's folder, or rejects an existing folder that other users may enter. The mode of an existing
    /// folder is never changed, because the user may have named a folder that other users need.
    private static func checkFolder(of path: String) throws(SocketError) {
        let folder = PrivateFolder.parent(of: path)
        do throws(FileError) {
            try PrivateFolder.makeOrRequireClosed(folder)
        } catch {
            throw switch error.code {
            case .symbolicLink, .notAFolder:
                SocketError(.unsafeFolder, "\(folder) is not a folder, or is a symbolic link")
            case .foreignOwner: SocketError(.unsafeFolder, "the folder \(folder) belongs to another user")
            case .exposedFolder:
                SocketError(
                    .unsafeFolder, "other users have access to the folder \(folder); its mode must be 0700")
            case .cannotCreate:
                SocketError(.system, "the folder \(folder) cannot be created", errno: error.errno)
            default: SocketError(.system, "the folder \(folder) cannot be examined", errno: error.errno)
            }
        }
    }

    /// Acquires the lock that ensures that a socket path has one server.
    private static func lock(_ path: String) throws(SocketError) -> FileLock {
        let lock: FileLock?
        do throws(FileError) {
            lock = try FileLock.acquireIfFree(path)
        } catch {
            throw SocketError(.system, "the lock \(path) cannot be acquired", errno: error.errno)
        }
        guard let lock else { throw SocketError(.alreadyRunning, "another provider holds \(path)") }
        return lock
    }

    /// Removes the socket of a server that has ended. Because this process holds the lock, a socket at `path` belongs
    /// to a server that has ended or to one that uses no lock. A running server accepts a connection.
    ///
    /// - Throws: `SocketError`: `notASocket`, `alreadyRunning` if the socket accepts a connection, `system`.
    private static func clearStaleSocket(at path: String) throws(SocketError) {
        guard let facts = FileIdentity(path: path) else { return }
        guard facts.type == S_IFSOCK else {
            throw SocketError(.notASocket, "\(path) exists and is not a socket; it was left unchanged")
        }
        let probe = try makeSocket()
        defer { Glibc.close(probe) }
        let reason = unsafe SocketPath.withAddress(of: path) { address, length in
            unsafe connect(probe, address, length) == 0 ? 0 : errno
        }
        switch reason {
        // EAGAIN means that the queue is full, so a server is running.
        case 0, EAGAIN, EINPROGRESS:
            throw SocketError(.alreadyRunning, "another provider is listening on \(path)")
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
        // The name in the folder gets the mode of the socket, less the umask. Setting the mode on the socket avoids a
        // umask of 0177 around the bind, which would affect the files of all threads.
        let reason =
            fchmod(descriptor, 0o600) != 0
            ? errno
            : unsafe SocketPath.withAddress(of: path) { address, length in
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
            throw SocketError(.system, "cannot listen on \(path)", errno: reason)
        }
        return descriptor
    }

    /// The path of a socket in the file system; nil for a socket that is unnamed or has an abstract name (unix(7)), and for
    /// a path that is not UTF-8.
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
        return name.first == UInt8(ascii: "/") ? String(validating: name, as: UTF8.self) : nil
    }

    private static func makeSocket() throws(SocketError) -> CInt {
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else {
            throw SocketError(.system, "a socket cannot be created", errno: errno)
        }
        return descriptor
    }
}
