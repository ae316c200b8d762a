package import LocalSockets
internal import NIOCore
internal import NIOHTTP1
internal import SecretMemory

/// A client of HTTP servers on this machine.
///
/// It replaces Foundation's `URLSession`, which would send requests through a proxy if the environment specifies one.
package enum LoopbackClient {
    /// The limits of time and size.
    package struct Limits: Sendable {
        /// The maximum number of bytes of a response's content.
        package var responseBytes = 2 << 20
        /// The timeout for connecting, and also for receiving the response.
        package var time: Duration = .seconds(60)

        /// Creates the default limits.
        package init() {}
    }

    /// Sends one request on a separate connection, and returns the response.
    ///
    /// The value of `authorization` becomes a header field, which NIO stores as a `String` and does not wipe. Send only
    /// a token that is useless after the request.
    ///
    /// - Throws: `SocketError`: `notRunning` if no program listens at `address`, `timedOut`, `closed`,
    ///   `contentTooLarge`, `malformedReply` for bytes that are not HTTP, `cannotConnect`.
    package static func send(
        _ request: HTTPRequest, to address: LoopbackAddress, limits: Limits = Limits()
    ) async throws(SocketError) -> HTTPResponse {
        let target: SocketAddress
        do {
            target = try SocketAddress(ipAddress: address.host, port: address.port)
        } catch {
            throw SocketError(.cannotConnect, "\(address) is not an address: \(error)")
        }
        return HTTPResponse(
            try await HTTPExchange.send(
                head(of: request, for: address), body: request.body, to: target, named: "\(address)",
                .init(responseBytes: limits.responseBytes, time: limits.time)))
    }

    private static func head(of request: HTTPRequest, for address: LoopbackAddress) -> HTTPRequestHead {
        var headers: HTTPHeaders = ["Host": "\(address)", "Connection": "close"]
        if !request.body.isEmpty { headers.add(name: "Content-Length", value: "\(request.body.count)") }
        if let authorization = request.authorization {
            let value = unsafe authorization.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
            headers.add(name: "Authorization", value: value)
        }
        return HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: request.method.rawValue), uri: request.path,
            headers: headers)
    }
}

extension HTTPResponse {
    fileprivate init(_ response: NIOHTTPClientResponseFull) {
        let headers = response.head.headers
        self.init(
            status: Int(response.head.status.code), contentType: headers.first(name: "Content-Type") ?? "",
            body: response.body.map { Array($0.readableBytesView) } ?? [],
            mayBeStored: !headers["Cache-Control"].contains { $0.lowercased() == "no-store" })
    }
}
