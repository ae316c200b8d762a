import Foundation
import Glibc
import KeyShareProtocol
import Synchronization
@testable import TokenClient

/// A provider in this process that replies with the frames of an input. Each frame answers the first request
/// of its type; after the last frame, the replies are correct. A mutation of one frame is therefore reached
/// with valid frames before it.
final class LyingProvider: Sendable {
    /// The path of the provider's socket.
    static let path = "/tmp/ks-fuzz-\(getpid())"
    private let frames = Mutex<[[UInt8]]>([])

    /// Starts listening on a separate thread.
    init?() {
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        _ = unsafe unlink(Self.path)
        atexit { _ = unsafe unlink(LyingProvider.path) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: Self.path.utf8.prefix(field.count - 1))
        }
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(listener, address, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard listener >= 0, bound == 0, listen(listener, 64) == 0 else { return nil }
        Thread { [self] in serve(listener) }.start()
    }

    /// Sets the replies from an input, in order.
    func answer(with input: [UInt8]) {
        var rest = input[...]
        var found: [[UInt8]] = []
        while rest.count > 9 {
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            let frame = rest.prefix(max(9, 4 + length))
            found.append(Array(frame))
            rest = rest.dropFirst(frame.count)
        }
        frames.withLock { $0 = found }
    }

    private func serve(_ listener: Int32) {
        var peers: [Int32] = []
        while true {
            var waited = ([listener] + peers).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard unsafe poll(&waited, nfds_t(waited.count), -1) > 0 else { continue }
            for one in waited where one.revents != 0 {
                if one.fd == listener {
                    peers.append(accept(listener, nil, nil))
                } else if !exchange(one.fd) {
                    close(one.fd)
                    peers.removeAll { $0 == one.fd }
                }
            }
        }
    }

    /// Replies to one request. Returns false if the connection has ended.
    private func exchange(_ peer: Int32) -> Bool {
        guard let head = Self.receive(4, peer) else { return false }
        guard let request = Self.receive(head.reduce(0) { $0 << 8 | Int($1) }, peer), request.count >= 5
        else {
            return false
        }
        let lie = frames.withLock { frames -> [UInt8]? in
            // 0xFF is a failure, which can answer any request except the hello.
            let type = request[0] | 0x80
            let place = frames.firstIndex { $0[4] == type || ($0[4] == 0xFF && type != 0x81) }
            return place.map { frames.remove(at: $0) }
        }
        guard let lie else {
            return send(Self.frame(request[0] | 0x80, request[1..<5], Self.goodAnswer(to: request)), to: peer)
        }
        // Send a frame with this number unchanged and close the connection, so that the module does not wait.
        guard lie[5] != 0xFE else { return send(lie, to: peer) && false }
        return send(Self.frame(lie[4], request[1..<5], Array(lie[9...])), to: peer)
    }

    private func send(_ bytes: [UInt8], to peer: Int32) -> Bool {
        unsafe Glibc.send(peer, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    private static func receive(_ count: Int, _ peer: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return unsafe recv(peer, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
    }

    private static func frame(_ type: UInt8, _ id: ArraySlice<UInt8>, _ body: [UInt8]) -> [UInt8] {
        number(UInt32(5 + body.count)) + [type] + id + body
    }
}

// MARK: - Valid replies

extension LyingProvider {
    private static func goodAnswer(to request: [UInt8]) -> [UInt8] {
        switch Wire.MessageType(rawValue: request[0]) {
        case .hello:
            number(Wire.tokenVersion) + text("lying") + number(UInt16(0)) + number(UInt32(0))
                + number(UInt16(2)) + text(Wire.Feature.tokenObjects) + text(Wire.Feature.tokenLogin)
        case .tokenStatus:
            number(UInt64(7)) + number(UInt32(2)) + [1] + number(UInt64(0)) + number(UInt32(0))
                + text("0123456789ABCDEF")
        case .tokenLogin: [0, 2, 3] + number(UInt16(0))
        case .tokenObjects: goodPage
        case .useBegin: number(UInt32(1))
        case .useUpdate: []
        // Requests for elliptic-curve keys contain the curve's name.
        case .use where String(decoding: request, as: UTF8.self).contains("EC"):
            [UInt8](repeating: 1, count: 64)
        default: [UInt8](repeating: 1, count: 256)
        }
    }

    /// Seed inputs: valid replies, with a login on the protected path and with a PIN.
    static let seeds: [[UInt8]] = {
        let ticket = number(UInt16(16)) + [UInt8](repeating: 5, count: 16)
        let page = frame(0x95, [0, 0, 0, 0], goodPage)
        let signatures = [256, 64].flatMap { frame(0x8F, [0, 0, 0, 0], [UInt8](repeating: 2, count: $0)) }
        return [page, page + signatures]
            + [1, 2].map { (mode: UInt8) in
                let login = frame(0x96, [0, 0, 0, 0], [mode, 2, 3] + ticket)
                return login + login + login + page + signatures
            }
    }()

    /// A page with an RSA key and an elliptic-curve key.
    private static let goodPage: [UInt8] =
        number(UInt64(7)) + text("") + number(UInt16(2)) + identity(1, bits: 2_048, traits: 0b1011)
        + identity(2, bits: 256, traits: 0b1101) + [0]

    /// An identity in the encoding that `TokenCertificate` decodes.
    private static func identity(_ kind: UInt8, bits: UInt16, traits: UInt8) -> [UInt8] {
        let texts = text(String(repeating: kind == 1 ? "A" : "B", count: 64)) + text("label \(kind)")
        let octets = (0..<7).flatMap { text("part \($0) of \(kind)") }
        let dates = number(UInt64(1_700_000_000_000)) + number(UInt64(1_900_000_000_000))
        return texts + octets + dates + [kind] + number(bits) + text("first") + text("second") + [traits]
    }

    private static func text(_ text: String) -> [UInt8] { number(UInt16(text.utf8.count)) + Array(text.utf8) }

    private static func number(_ value: some FixedWidthInteger) -> [UInt8] {
        unsafe withUnsafeBytes(of: value.bigEndian) { unsafe Array($0) }
    }
}
