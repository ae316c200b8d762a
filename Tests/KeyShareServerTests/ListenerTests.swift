import TestSupport
import LocalSockets
import KeyShareClient
@testable import KeyShareServer
import Foundation
import Glibc
import Logging
import Synchronization
import Testing

@Suite("The server's socket", .timeLimit(.minutes(10)))
struct ListenerTests {
    private let scratch: ScratchFolder
    private var folder: String { scratch.path }

    init() throws {
        scratch = try ScratchFolder()
    }

    @Test("The socket and its folder are created with access only for the owner")
    func fresh() async throws {
        let server = try server(at: folder + "/new/provider.sock")
        #expect(try mode(of: folder + "/new") == 0o700)
        #expect(try mode(of: server.path) == 0o600)
        #expect(try mode(of: server.path + ".lock") == 0o600)
    }

    @Test("A server that ends removes its socket, and the next server can create it")
    func takeTurns() async throws {
        let path = folder + "/provider.sock"
        for _ in 1...3 {
            _ = try server(at: path)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        }
    }

    @Test("If many servers start and stop concurrently, only one at a time owns the socket")
    func contended() async throws {
        let path = folder + "/provider.sock"
        let turns = Turns()
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { [turns] in
                    for _ in 0..<500 { takeTurn(at: path, turns) }
                }
            }
            await group.waitForAll()
        }
        #expect(turns.count.load(ordering: .relaxed) > 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(left == [])
    }

    @Test("A server does not remove a lock file that has replaced its own")
    func replacedLock() async throws {
        let path = folder + "/provider.sock"
        do {
            let first = try server(at: path)
            try FileManager.default.removeItem(atPath: first.path + ".lock")
            try Data().write(to: URL(filePath: first.path + ".lock"))
        }
        #expect(FileManager.default.fileExists(atPath: path + ".lock"))
    }

    @Test("A server ignores SIGPIPE, so a client that disconnects cannot end the process")
    func brokenPipe() throws {
        signal(SIGPIPE) { _ in }
        let server = try server(at: folder + "/provider.sock")
        var action = sigaction()
        unsafe sigaction(SIGPIPE, nil, &action)
        let handler = unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        // SIG_IGN (signal(7))
        #expect(handler == 1)
        withExtendedLifetime(server) {}
    }

    @Test("A listener that is closed twice does not remove the files of the next one")
    func closedTwice() throws {
        let path = folder + "/provider.sock"
        let first = try Listener(path: path)
        first.close()
        let second = try Listener(path: path)
        first.close()
        for file in [path, path + ".lock"] { #expect(FileManager.default.fileExists(atPath: file)) }
        second.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }

    @Test("A second server on the same socket fails, and the first continues to serve")
    func second() async throws {
        try await withServer { path, _ in
            #expect(code { try server(at: path) } == .alreadyRunning)
            let client = try await ProviderClient.connect(path: path, clientName: "test")
            await client.close()
        }
    }

    @Test("A socket with a running server is not replaced, even if its lock is missing")
    func foreignServer() async throws {
        try await withServer { path, _ in
            try FileManager.default.removeItem(atPath: path + ".lock")
            #expect(code { try server(at: path) } == .alreadyRunning)
            #expect(FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("A stale socket is replaced")
    func stale() async throws {
        let path = folder + "/provider.sock"
        try makeStaleSocket(at: path)
        let server = try server(at: path)
        _ = try RawPeer(path: server.path)
    }

    @Test("A file that is not a socket is not changed", arguments: ["file", "folder", "link"])
    func noSocket(kind: String) async throws {
        let path = folder + "/provider.sock"
        switch kind {
        case "file": try Data("precious".utf8).write(to: URL(filePath: path))
        case "folder":
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        default: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "target")
        }
        #expect(code { try server(at: path) } == .notASocket)
        #expect(!FileManager.default.fileExists(atPath: path + ".lock"))
        #expect(
            try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType != nil)
        if kind == "file" {
            #expect(try Data(contentsOf: URL(filePath: path)) == Data("precious".utf8))
        }
    }

    @Test("A server does not remove a socket that has replaced its own")
    func replaced() async throws {
        let path = folder + "/provider.sock"
        do {
            let first = try server(at: path)
            try FileManager.default.removeItem(atPath: first.path)
            try makeStaleSocket(at: path)
        }
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test(
        "A folder that other users can enter is rejected, and so is a symbolic link to a folder",
        arguments: [0o755, 0o710, 0o701, 0o770])
    func openFolder(mode: Int) async throws {
        let inner = folder + "/inner"
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        unsafe chmod(inner, mode_t(mode))
        #expect(code { try server(at: inner + "/provider.sock") } == .unsafeFolder)
        unsafe chmod(inner, 0o700)
        try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "inner")
        #expect(code { try server(at: folder + "/link/provider.sock") } == .unsafeFolder)
        #expect(try FileManager.default.contentsOfDirectory(atPath: inner) == [])
    }

    @Test("A folder of another user is rejected", .enabled(if: geteuid() == 0, "needs root"))
    func foreignFolder() async throws {
        unsafe chown(folder, 65_534, 65_534)
        #expect(code { try server(at: folder + "/provider.sock") } == .unsafeFolder)
    }

    @Test("A path that is too long for a socket address is rejected, and the longest valid path is accepted")
    func longPath() async throws {
        let room = 107 - folder.utf8.count - 1
        _ = try server(at: folder + "/" + String(repeating: "x", count: room))
        for path in [folder + "/" + String(repeating: "x", count: room + 1), "", folder + "/a\0b"] {
            #expect(code { try server(at: path) } == .pathTooLong)
        }
    }

    @Test("Starting in a folder that cannot be created fails with the error code system")
    func noParent() async throws {
        #expect(code { try server(at: folder + "/a/b/provider.sock") } == .system)
    }

    @Test("Only a listening stream socket with an absolute path in a closed folder can be inherited")
    func inherited() throws {
        try FileManager.default.createDirectory(
            atPath: folder + "/open", withIntermediateDirectories: false)
        unsafe chmod(folder + "/open", 0o755)
        let stream = CInt(SOCK_STREAM.rawValue)
        let cases: [(name: String, type: CInt, listens: Bool, code: SocketError.Code?)] = [
            ("/provider.sock", stream, true, nil), ("/silent.sock", stream, false, .notASocket),
            ("/packets.sock", CInt(SOCK_SEQPACKET.rawValue), true, .notASocket),
            ("/open/provider.sock", stream, true, .unsafeFolder),
        ]
        for (name, type, listens, code) in cases {
            let descriptor = try bound(folder + name, type)
            if listens { try #require(listen(descriptor, 1) == 0) }
            #expect(inheritanceError(descriptor) == code, "\(name)")
        }
        // The abstract socket has no path in the file system.
        let abstract = socket(AF_UNIX, stream, 0)
        let name = folder.replacing("/", with: " ")
        let result = unsafe SocketPath.withAddress(of: " " + name, isAbstract: true) { address, length in
            unsafe bind(abstract, address, length)
        }
        try #require(result == 0 && listen(abstract, 1) == 0)
        #expect(inheritanceError(abstract) == .notASocket)
    }

    @Test("A socket whose path is not UTF-8 is not inherited")
    func inheritedInvalidPath() throws {
        let path = Array((folder + "/s").utf8) + [0xFF]
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
        let result = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0 && listen(descriptor, 1) == 0)
        #expect(inheritanceError(descriptor) == .notASocket)
    }

    private func bound(_ path: String, _ type: CInt) throws -> CInt {
        let descriptor = socket(AF_UNIX, type, 0)
        let result = unsafe SocketPath.withAddress(of: path) { address, length in
            unsafe bind(descriptor, address, length)
        }
        try #require(result == 0)
        return descriptor
    }

    /// Creates a server with an inherited descriptor, which is closed afterwards.
    private func inheritanceError(_ descriptor: CInt) -> SocketError.Code? {
        let copy = dup(descriptor)
        close(descriptor)
        do throws(SocketError) {
            _ = try ProviderServer(
                path: "", inherited: copy, service: StandInProvider(count: 0), logger: Logger(label: "test"))
            return nil
        } catch {
            close(copy)
            return error.code
        }
    }

    @Test("A server can run only once, and fails with alreadyRan if it is run again")
    func runsOnce() async throws {
        let server = try server(at: folder + "/provider.sock")
        let first = Task { try await server.run() }
        first.cancel()
        try await first.value
        await #expect(throws: SocketError(.alreadyRan, "")) { try await server.run() }
    }

    /// The number of servers that own the socket now, and the number of times that a server has owned it.
    private final class Turns: Sendable {
        let holders = Atomic(0)
        let count = Atomic(0)
    }

    private func takeTurn(at path: String, _ turns: Turns) {
        do throws(SocketError) {
            let server = try server(at: path)
            #expect(turns.holders.add(1, ordering: .relaxed).newValue == 1)
            turns.count.add(1, ordering: .relaxed)
            turns.holders.subtract(1, ordering: .relaxed)
            withExtendedLifetime(server) {}
        } catch {
            #expect(error.code == .alreadyRunning, "\(error)")
        }
    }

    private func server(at path: String) throws(SocketError) -> ProviderServer {
        try ProviderServer(
            path: path, service: StandInProvider(count: 1), limits: .withoutDeadlines,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func code(_ body: () throws -> ProviderServer) -> SocketError.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? SocketError)?.code
        }
    }

    private func mode(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
}
