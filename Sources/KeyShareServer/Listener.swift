internal import LocalSockets
internal import Glibc
internal import PrivateFiles
internal import Synchronization

/// A provider's socket on disk: its folder checked, its lock held, bound and listening.
///
/// Owns three things until `close()`: the lock (so that there is one server for a path) with its file, the name
/// in the folder, and the listening descriptor, which `takeDescriptor()` may hand on.
final class Listener: Sendable {
    let path: String
    /// Nil where somebody else holds the name.
    private let lock: FileLock?
    /// Which file the socket is, so that a later one of the same name is never removed; nil where the name is
    /// somebody else's.
    private let identity: FileIdentity?
    private let state: Mutex<State>

    private struct State {
        var descriptor: CInt?
        var isOpen = true
    }

    /// Connections that wait for an accept; the kernel cuts it to its own limit.
    static let backlog: CInt = 1_024

    /// Takes the socket at `path`: makes its folder (one level, 0700) where it is missing, replaces the
    /// socket of a server that is gone, and leaves everything else alone.
    ///
    /// - Throws: `SocketError`, by the reasons its codes name.
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

    /// Takes a socket that listens already, made and named by whoever started this process; the name is theirs,
    /// and stays.
    ///
    /// - Parameter descriptor: closed by this object unless it is taken, and not where this throws.
    /// - Throws: `SocketError`: `notASocket` where it is no listening stream socket of the UNIX domain with a
    ///   name in a folder, `unsafeFolder` where others may enter that folder.
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
        // A child must not have it, and no accept may wait.
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

    /// Hands the listening descriptor to the caller, who must close it; nil the second time.
    func takeDescriptor() -> CInt? {
        state.withLock { $0.descriptor.take() }
    }

    /// Takes the socket's name out of the folder, so that nobody new comes; the lock stays.
    func unlinkSocket() {
        if let identity, FileIdentity(path: path)?.isSameFile(as: identity) == true {
            unsafe unlink(path)
        }
    }

    /// Gives back the name, the lock with its file and, unless it was taken, the descriptor.
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

    /// The lock is ours, so a socket that is there belongs to a server that is gone, or to one that keeps
    /// no lock: whether it answers tells them apart.
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
        // EAGAIN: its queue is full, so there is somebody.
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
        // The name in the folder gets the mode of the socket, less the umask. Setting it here needs no umask
        // of 0177 round the bind, which would be the whole process's, other threads' new files included.
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
        guard listen(descriptor, backlog) == 0 else {
            let reason = errno
            unsafe unlink(path)
            Glibc.close(descriptor)
            throw SocketError(.system, "\(path) cannot be listened on", errno: reason)
        }
        return descriptor
    }

    /// Where a socket is in the file system; nil for one without a name, or with an abstract one.
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

    /// `path` is at most 107 bytes by now, so it fits with the zero behind it.
    private static func withAddress(
        of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: path.utf8.prefix(field.count - 1))
        }
        return unsafe withUnsafeBytes(of: &address) { bytes in
            // A whole sockaddr_un stands behind the pointer, which is what the length says.
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { address in
                guard let start = address.baseAddress else { return EINVAL }
                return unsafe body(start, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
