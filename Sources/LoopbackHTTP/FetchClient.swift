internal import Foundation
package import LocalSockets
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// An HTTP client that fetches URLs found in certificates, from this machine and from hosts that the user has permitted
/// by name.
///
/// The URLs are untrusted, so the client restricts its connections:
///
/// - Only `http:` is fetched.
/// - A host name is resolved once, and the client connects to the resolved address.
/// - A redirect must comply with the same rules, and must not lead to a different private address.
package struct FetchClient: Sendable {
    /// The limits of time, size and redirects.
    package struct Limits: Sendable {
        /// The maximum number of bytes of a response's content.
        package var responseBytes = 16 << 20
        /// The maximum time for one URL, including its redirects.
        package var time: Duration = .seconds(5)
        /// The maximum number of redirects for one URL.
        package var redirections = 3

        /// Creates the default limits.
        package init() {}
    }

    private let hosts: Set<String>
    private let limits: Limits
    private let resolve: @Sendable (_ host: String, _ port: Int) throws -> SocketAddress

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - hosts: The names or addresses of the permitted hosts other than this machine, as in URLs; case is ignored.
    ///   - limits: The limits of time, size and redirects.
    package init(hosts: some Sequence<String> = [], limits: Limits = Limits()) {
        self.init(hosts: hosts, limits: limits) {
            try SocketAddress.makeAddressResolvingHost($0, port: $1)
        }
    }

    init(
        hosts: some Sequence<String>, limits: Limits,
        resolve: @escaping @Sendable (_ host: String, _ port: Int) throws -> SocketAddress
    ) {
        self.hosts = Set(hosts.map(Self.plain))
        self.limits = limits
        self.resolve = resolve
    }

    /// Fetches a URL and returns the response's content.
    ///
    /// - Parameters:
    ///   - url: The URL, as in the certificate.
    ///   - body: The content of a POST request; nil for a GET request.
    ///   - contentType: The value of `Content-Type` for `body`.
    /// - Throws: `SocketError`: `hostNotPermitted` if the host of `url` is not permitted; `notLoopback` for any other
    ///   URL that is not permitted; `malformedReply` for any status other than 200 and for an invalid redirect; the errors
    ///   of `HTTPExchange`.
    package func fetch(
        _ url: String, posting body: [UInt8]? = nil, of contentType: String = ""
    ) async throws(SocketError) -> [UInt8] {
        let end = ContinuousClock.now + limits.time
        var target = try Target(url)
        var origin: SocketAddress?
        for _ in 0...max(0, limits.redirections) {
            let address = try await address(of: target, before: end, from: origin)
            let remaining = max(.milliseconds(1), end - .now)
            let response = try await HTTPExchange.send(
                target.head(posting: body, of: contentType), body: body ?? [], to: address,
                named: target.name, .init(responseBytes: limits.responseBytes, time: remaining))
            let status = Int(response.head.status.code)
            if status == 200 { return response.body.map { Array($0.readableBytesView) } ?? [] }
            let mayFollow = body == nil ? [301, 302, 303, 307, 308] : [307, 308]
            guard mayFollow.contains(status), let location = response.head.headers.first(name: "Location")
            else { throw SocketError(.malformedReply, "\(target.name) returned the HTTP status \(status)") }
            target = try Target(location, relativeTo: target)
            origin = address
        }
        throw SocketError(.malformedReply, "\(target.name): more than \(limits.redirections) redirects")
    }

    // MARK: - Permitted destinations

    /// Resolves the host of `target`, and returns its address if the client may connect to it.
    ///
    /// - Parameter origin: The address of the server that sent the redirect; nil for a certificate's URL.
    private func address(
        of target: Target, before end: ContinuousClock.Instant, from origin: SocketAddress?
    ) async throws(SocketError) -> SocketAddress {
        let isNamed = hosts.contains(target.host)
        let literal = try? SocketAddress(ipAddress: target.host, port: target.port)
        guard isNamed || target.host == "localhost" || literal?.reach == .loopback else {
            guard origin == nil else {
                throw SocketError(
                    .notLoopback, "a redirect leads to \(target.host), which was not allowed")
            }
            throw SocketError(
                .hostNotPermitted,
                "\(target.host) is another machine, and fetching from it was not allowed")
        }
        let address: SocketAddress
        if let literal { address = literal } else { address = try await resolved(target, before: end) }
        guard isNamed || address.reach == .loopback else {
            throw SocketError(.notLoopback, "\(target.host) resolves to another machine")
        }
        if let origin, address.reach != .wide, address.ipAddress != origin.ipAddress {
            throw SocketError(
                .notLoopback, "a redirect leads to \(target.host), which is a private address")
        }
        return address
    }

    private func resolved(
        _ target: Target, before end: ContinuousClock.Instant
    ) async throws(SocketError) -> SocketAddress {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let found = loop.makePromise(of: SocketAddress.self)
        let timeout = loop.scheduleTask(in: TimeAmount(max(.zero, end - .now))) {
            found.fail(SocketError(.timedOut, "resolving the name \(target.host) timed out"))
        }
        // The system's resolver blocks, possibly for longer than the client's time limit.
        NIOThreadPool.singleton.runIfActive(eventLoop: loop) { [resolve] in
            try resolve(target.host, target.port)
        }.cascade(to: found)
        defer { timeout.cancel() }
        do {
            return try await found.futureResult.get()
        } catch let error as SocketError {
            throw error
        } catch {
            throw SocketError(.cannotConnect, "the name \(target.host) cannot be resolved")
        }
    }

    /// Returns a host in a form for comparisons: in lower case, without the brackets of an IPv6 address and without the
    /// trailing dot of an absolute name.
    private static func plain(_ host: String) -> String {
        var host = host.lowercased()
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        if host.hasSuffix("."), host.count > 1 { host.removeLast() }
        return host
    }

    /// A parsed `http:` URL. Its host may still be forbidden.
    private struct Target {
        let host: String
        let port: Int
        let uri: String
        private let url: URL

        init(_ text: String, relativeTo base: Target? = nil) throws(SocketError) {
            guard let url = URL(string: text, relativeTo: base?.url)?.absoluteURL,
                let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
                let host = parts.host, !host.isEmpty
            else { throw SocketError(.notLoopback, "\u{201C}\(text)\u{201D} is not a URL") }
            guard parts.scheme?.lowercased() == "http" else {
                throw SocketError(.notLoopback, "only http: URLs are fetched, not \(parts.scheme ?? "")")
            }
            guard parts.user == nil, parts.password == nil else {
                throw SocketError(.notLoopback, "URLs with a user name are not fetched")
            }
            let port = parts.port ?? 80
            guard (1...65_535).contains(port) else {
                throw SocketError(.notLoopback, "\(port) is not a valid port number")
            }
            self.url = url
            self.host = FetchClient.plain(host)
            self.port = port
            let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
            uri = path + (parts.percentEncodedQuery.map { "?" + $0 } ?? "")
        }

        /// The host and the port, as in a URL.
        var name: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

        func head(posting body: [UInt8]?, of contentType: String) -> HTTPRequestHead {
            var headers: HTTPHeaders = ["Host": name, "Connection": "close", "Accept": "*/*"]
            if let body {
                headers.add(name: "Content-Type", value: contentType)
                headers.add(name: "Content-Length", value: "\(body.count)")
            }
            return HTTPRequestHead(
                version: .http1_1, method: body == nil ? .GET : .POST, uri: uri, headers: headers)
        }
    }
}

/// The scope of an IP address: the hosts from which it can be reached (RFC 6890).
enum AddressReach: Sendable, Hashable {
    /// Only from this machine.
    case loopback
    /// Only from a private network, or from nowhere.
    case special
    /// From the public Internet.
    case wide
}

extension SocketAddress {
    /// The scope of the address. An address that is neither IPv4 nor IPv6 is special.
    var reach: AddressReach {
        switch self {
        case .v4(let address):
            return Self.reach(unsafe withUnsafeBytes(of: address.address.sin_addr) { unsafe Array($0) })
        case .v6(let address):
            let octets = unsafe withUnsafeBytes(of: address.address.sin6_addr) { unsafe Array($0) }
            // An IPv4 address inside IPv6 (RFC 4291 2.5.5.2, RFC 6052 2.1) has the scope of the IPv4 address.
            let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]
            let translated: [UInt8] = [0, 0x64, 0xFF, 0x9B] + Array(repeating: 0, count: 8)
            if octets.starts(with: mapped) { return Self.reach(Array(octets.suffix(4))) }
            if octets.starts(with: translated) { return Self.reach(throughGateway: octets.suffix(4)) }
            if octets.dropLast().allSatisfy({ $0 == 0 }) { return octets.last == 1 ? .loopback : .special }
            // Global unicast is 2000::/3 (RFC 4291 2.4). In it, 2001:db8::/32 is for examples and 2002::/16 wraps IPv4.
            if octets[0] & 0xE0 != 0x20 { return .special }
            if octets.starts(with: [0x20, 0x01, 0x0D, 0xB8]) { return .special }
            if octets.starts(with: [0x20, 0x02]) { return Self.reach(throughGateway: octets[2..<6]) }
            return .wide
        default:
            return .special
        }
    }

    /// The scope of an IPv4 address to which a gateway forwards packets. Its loopback is not that of this machine.
    private static func reach(throughGateway octets: ArraySlice<UInt8>) -> AddressReach {
        reach(Array(octets)) == .wide ? .wide : .special
    }

    private static func reach(_ octets: [UInt8]) -> AddressReach {
        switch (octets[0], octets[1]) {
        case (127, _): .loopback
        case (0, _), (10, _), (169, 254), (172, 16...31), (192, 168), (100, 64...127), (198, 18...19),
            (224..., _):
            .special
        case (192, 0) where octets[2] == 0 || octets[2] == 2, (198, 51) where octets[2] == 100,
            (203, 0) where octets[2] == 113:
            .special
        default: .wide
        }
    }
}
