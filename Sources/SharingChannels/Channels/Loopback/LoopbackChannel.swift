internal import DeviceSimulation
internal import Diagnostics
package import Foundation
internal import LocalSockets
internal import LoopbackHTTP
internal import OpenSSL
internal import SecretMemory
package import SimulatedKeychain
internal import StandardExtensions

/// A channel over HTTP on 127.0.0.1. The sender listens on a random port and opens a URL in the receiver. The URL
/// contains the port and a key.
///
/// The content is sealed with the key. The key's digest is the one-time token that the request must carry. An app that
/// only finds the port has no token. A program that takes over the port after the sender has exited has no key, so it
/// cannot seal any content. The sender keeps all data in memory, for at most one minute.
package final class LoopbackChannel: SharingChannel {
    /// The channel's name, `loopback-http`.
    package let name = "loopback-http"
    /// A token is valid for one request, so a credential can be received only once.
    package let isOneTime = true
    private let ends: ChannelEndpoints
    private let offer: OneTimeOffer
    private let server: OfferServer

    /// Creates the channel between two apps.
    ///
    /// - Parameters:
    ///   - ends: The apps and their device.
    ///   - now: The clock that measures the one minute of an offer.
    package init(_ ends: ChannelEndpoints, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now })
    {
        self.ends = ends
        offer = OneTimeOffer(now: now)
        server = OfferServer(offer)
    }

    /// Starts listening, if it is not listening yet, and opens the URL in the receiver. An earlier token becomes
    /// invalid.
    ///
    /// - Throws: `SharingChannelError`: `expired`, `damaged`, `failed`.
    package func send(_ credential: Credential, now: Date) async throws(SharingChannelError) {
        guard now < credential.expires else { throw SharingChannelError.expired }
        do {
            let key = MasterKey.random()
            let sealed = try SealingKey(key).seal(credential.encoded, associatedData: Self.context)
            let port = try await server.port()
            try ends.device.open(Self.url(port: port, key: key), in: ends.receiver)
            offer.set(sealed, token: Self.token(for: key))
        } catch {
            throw SharingChannelError(error)
        }
        ends.announce()
    }

    /// Fetches the content from the port in the URL with which `app` was opened. An app without a URL is assumed to
    /// have found the port by a port scan, and sends a request without a token.
    ///
    /// - Throws: `SharingChannelError`: `notRunning`, `denied`, `alreadyUsed`, `expired`, `damaged`, `failed`.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) async throws(SharingChannelError) -> Credential? {
        let url = try SharingChannelError.wrapping { try ends.device.openedURL(by: app) }
        guard let url else {
            guard let port = await server.openPort() else { return nil }
            return try Credential(SecretBytes(try await Self.fetch(port: port, token: nil)), at: now)
        }
        guard let (port, key) = Self.parts(of: url) else {
            throw SharingChannelError(
                .damaged,
                "the URL that \(app.bundleIdentifier) was opened with does not belong to this channel")
        }
        let sealed = try await Self.fetch(port: port, token: Self.token(for: key))
        let plain = try SharingChannelError.wrapping {
            try SealingKey(key).open(sealed, associatedData: Self.context)
        }
        guard let plain else {
            throw SharingChannelError(.damaged, "the received content was not sealed by the sender")
        }
        return try Credential(plain, at: now)
    }

    /// Deletes the receiver's record of the URL and stops listening.
    ///
    /// - Throws: `SharingChannelError`: `damaged`, `failed`.
    package func remove() async throws(SharingChannelError) {
        try SharingChannelError.wrapping { try ends.device.forgetOpenedURL(of: ends.receiver) }
        await server.close()
    }

    /// Stops listening. A receiver that uses the URL afterwards fails with `notRunning`.
    package func stop() async {
        await server.close()
    }

    /// Fetches the sealed content from the sender at `port`.
    private static func fetch(port: Int, token: SecretBytes?) async throws(SharingChannelError) -> [UInt8] {
        let response: HTTPResponse
        do throws(SocketError) {
            response = try await LoopbackClient.send(
                OneTimeOffer.request(token: token), to: LoopbackAddress("\(OfferServer.host):\(port)"))
        } catch {
            guard error.code == .notRunning else {
                throw SharingChannelError(
                    .failed, "the sender at port \(port) does not respond: \(error)", cause: error)
            }
            throw SharingChannelError(
                .notRunning, "no process listens at \(OfferServer.host):\(port) any more", cause: error)
        }
        switch response.status {
        case 200: return response.body
        case 401:
            throw SharingChannelError(.denied, "the request's token is unknown or missing")
        case 410: throw SharingChannelError(.alreadyUsed, "the one-time token has been used")
        default: throw SharingChannelError(.failed, "the sender responded with status \(response.status)")
        }
    }

    private static let context = Array("loopback-http".utf8)

    /// The token for `key`: a digest, which does not reveal the key.
    private static func token(for key: SecretBytes) -> SecretBytes {
        unsafe key.withUnsafeBytes { unsafe SecretBytes(utf8: Digest.sha256($0).upperHex) }
    }

    /// The URL with port and key. The key is the fragment, which HTTP clients do not send (RFC 9110, 7.1).
    private static func url(port: Int, key: SecretBytes) -> SecretBytes {
        let start = Array("http://\(OfferServer.host):\(port)\(OneTimeOffer.path)#".utf8)
        return unsafe SecretBytes(capacity: start.count + key.count) { buffer in
            unsafe buffer.copyBytes(from: start)
            unsafe key.withUnsafeBytes {
                unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[start.count...]).copyMemory(from: $0)
            }
            return start.count + key.count
        }
    }

    /// Returns the port and the key in a URL of this channel. Returns nil for any other URL.
    private static func parts(of url: SecretBytes) -> (port: Int, key: SecretBytes)? {
        unsafe url.withUnsafeBytes { bytes in
            guard let hash = unsafe bytes.firstIndex(of: UInt8(ascii: "#")),
                let start = URLComponents(string: unsafe String(decoding: bytes[..<hash], as: UTF8.self)),
                start.host == OfferServer.host, let port = start.port
            else { return nil }
            let key = unsafe bytes[(hash + 1)...]
            return unsafe key.count == SealingKey.byteCount ? (port, SecretBytes(key)) : nil
        }
    }
}
