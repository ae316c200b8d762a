import Foundation
import Glibc
import KeyShareProtocol
import KeyShareWire
import Synchronization
import TestSupport

/// A provider whose replies a test defines. Each connection has its own thread.
final class ScriptedProvider: Sendable {
    /// A request that the provider received.
    struct Request: Sendable {
        let type: UInt8
        let id: UInt32
        let body: [UInt8]
        /// The number of the connection, from 1.
        let connection: Int

        /// Encodes a reply to this request.
        func reply(_ reply: ProviderReply) throws -> [UInt8] { try WireSamples.bytes(reply, id: id) }

        /// Encodes a reply to this request from its body. By default, the type belongs to this request.
        func frame(type: UInt8? = nil, _ body: [UInt8] = []) -> [UInt8] {
            WireSamples.frame(type: type ?? self.type | 0x80, id: id, body: body)
        }
    }

    /// The socket could not be created, bound or set to listen.
    struct ListenFailed: Error {
        let errno: CInt
    }

    /// Returns the bytes to send; nil ends the connection.
    typealias Script = @Sendable (Request) throws -> [UInt8]?

    /// The path of the provider's socket.
    let path: String
    private let scratch: ScratchFolder
    private let listener: CInt
    private let script: Script
    private let microsecondsPerByte: UInt32
    private let state = Mutex<(requests: [Request], connections: Int, ended: Int)>(([], 0, 0))

    /// The features of a provider with a token that accepts logins.
    static let features = [
        Wire.Feature.token, Wire.Feature.tokenObjects, Wire.Feature.tokenLogin,
    ]

    /// Serves in a scratch folder. The provider answers a hello with `welcome`, and everything else as `script` defines.
    convenience init(welcome: Welcome = ScriptedProvider.welcome(), _ script: @escaping Script) throws {
        try self.init(pace: 0) { request in
            guard request.type == Wire.MessageType.hello.rawValue else { return try script(request) }
            return try request.reply(.welcome(welcome))
        }
    }

    /// Serves in a scratch folder. The script also answers the hello.
    ///
    /// - Parameters:
    ///   - microsecondsPerByte: The time after each byte of a reply; 0 to send replies whole.
    ///   - script: The script.
    init(pace microsecondsPerByte: UInt32, all script: @escaping Script) throws {
        self.microsecondsPerByte = microsecondsPerByte
        scratch = try ScratchFolder()
        path = scratch.path("provider.sock")
        self.script = script
        listener = try Self.listen(at: path)
        Thread.detachNewThread { [listener, weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                guard let self else {
                    Glibc.close(connection)
                    return
                }
                let number = self.state.withLock { state in
                    state.connections += 1
                    return state.connections
                }
                Thread.detachNewThread { self.serve(connection, number) }
            }
        }
    }

    deinit { stop() }

    /// Stops listening. Existing connections remain.
    func stop() {
        shutdown(listener, CInt(SHUT_RDWR))
    }

    /// The requests that were received, in order.
    var requests: [Request] { state.withLock { $0.requests } }

    /// The number of connections that were accepted.
    var connections: Int { state.withLock { $0.connections } }

    /// The number of connections that the client or the script has ended.
    var ended: Int { state.withLock { $0.ended } }

    /// Returns a welcome with these features.
    static func welcome(_ features: [String] = ScriptedProvider.features) -> Welcome {
        Welcome(
            version: Wire.tokenVersion, serverName: "scripted", services: [],
            requestLimit: Wire.longRequestLimit, features: features)
    }

    /// Creates a listening socket.
    static func listen(at path: String, backlog: CInt = 64) throws -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: path.utf8.prefix(field.count - 1))
        }
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let result = unsafe withUnsafePointer(to: address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0, Glibc.listen(descriptor, backlog) == 0 else {
            throw ListenFailed(errno: errno)
        }
        return descriptor
    }

    private func serve(_ connection: CInt, _ number: Int) {
        while let header = Self.receive(9, from: connection) {
            let length = header[0..<4].reduce(0) { $0 << 8 | Int($1) }
            guard let body = Self.receive(length - 5, from: connection) else { break }
            let id = header[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let request = Request(type: header[4], id: id, body: body, connection: number)
            state.withLock { $0.requests.append(request) }
            guard let reply = try? script(request) else { break }
            guard send(reply, to: connection) else { break }
        }
        Glibc.close(connection)
        state.withLock { $0.ended += 1 }
    }

    private func send(_ reply: [UInt8], to connection: CInt) -> Bool {
        let size = microsecondsPerByte == 0 ? max(reply.count, 1) : 1
        for start in stride(from: 0, to: reply.count, by: size) {
            let part = Array(reply[start..<min(start + size, reply.count)])
            guard unsafe Glibc.send(connection, part, part.count, CInt(MSG_NOSIGNAL)) == part.count else {
                return false
            }
            if microsecondsPerByte > 0 { usleep(microsecondsPerByte) }
        }
        return true
    }

    private static func receive(_ count: Int, from connection: CInt) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe count == 0 ? 0 : recv(connection, buffer.baseAddress, count, CInt(MSG_WAITALL))
        }
        return got == count ? bytes : nil
    }
}

/// Runs a blocking call on its own thread, because the threads of the concurrency runtime are few.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}
