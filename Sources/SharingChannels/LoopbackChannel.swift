internal import SecretMemory
package import DeviceSimulation
package import Foundation
internal import OpenSSL

/// Over HTTP on 127.0.0.1: the sender listens at a random port, and the receiver is opened by a URL with the
/// port and a key.
///
/// What is fetched is sealed with the key, and the key's digest is the one-time token that the request must
/// bring: whoever finds the port has no token, and whoever takes the port of a sender that is gone can make
/// up nothing. Everything is in the sender's memory, for a minute at most.
package final class LoopbackChannel: SharingChannel {
    /// What the channel is called.
    package let name = "loopback-http"
    /// A token is used once.
    package let isOneTime = true
    private let ends: ChannelEndpoints
    private let offer: OneTimeOffer
    private let server: OfferServer

    /// The channel between `ends`.
    ///
    /// - Parameter now: by what the minute of an offer is measured.
    package init(_ ends: ChannelEndpoints, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now })
    {
        self.ends = ends
        offer = OneTimeOffer(now: now)
        server = OfferServer(offer)
    }

    /// Listens, unless it does already, and opens the receiver by the URL; an earlier token is void.
    package func send(_ credential: Credential, now: Date) async throws(SharingChannelError) {
        guard now < credential.expires else {
            throw SharingChannelError(.expired, "the credential's time is over")
        }
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

    /// Fetches from the port of the URL that `app` was opened by. An app that was opened by none is taken to
    /// have found the port, as by trying all that there are, and asks without a token.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) async throws(SharingChannelError) -> Credential? {
        let url = try SharingChannelError.wrapping { try ends.device.openedURL(by: app) }
        guard let url else {
            guard let port = await server.openPort() else { return nil }
            return try Credential(
                SecretBytes(try await LoopbackClient.fetch(port: port, token: nil)), at: now)
        }
        guard let (port, key) = Self.parts(of: url) else {
            throw SharingChannelError(
                .damaged, "the URL that \(app.bundleIdentifier) was opened by is none of this channel")
        }
        let sealed = try await LoopbackClient.fetch(port: port, token: Self.token(for: key))
        let plain = try SharingChannelError.wrapping {
            try SealingKey(key).open(sealed, associatedData: Self.context)
        }
        guard let plain else { throw SharingChannelError(.damaged, "what came was not sealed by the sender") }
        return try Credential(plain, at: now)
    }

    /// Has the receiver forget the URL, and stops listening.
    package func remove() async throws(SharingChannelError) {
        try SharingChannelError.wrapping { try ends.device.forgetOpenedURL(of: ends.receiver) }
        await server.close()
    }

    /// Stops listening; whoever comes by the URL finds nobody.
    package func stop() async {
        await server.close()
    }

    private static let context = Array("loopback-http".utf8)

    /// What a request must bring; says nothing about the key.
    private static func token(for key: SecretBytes) -> SecretBytes {
        unsafe key.withUnsafeBytes { unsafe SecretBytes(utf8: Digest.sha256($0).upperHex) }
    }

    /// The key stands in the fragment, which no client sends.
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
