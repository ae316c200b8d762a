import Foundation
import Glibc
import Synchronization
@testable import TokenClient

/// A provider in this process that answers with the frames of an input, each to the first request that its type is for,
/// and with good answers once there is none left. So a change of one frame is met with everything before it in order.
final class LyingProvider: Sendable {
    /// Where the provider serves.
    static let path = "/tmp/ks-fuzz-\(getpid())"
    private let frames = Mutex<[[UInt8]]>([])

    /// Begins to serve, on a thread of its own.
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

    /// Takes the answers over that stand in an input one after the other.
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

    /// Answers one request; false where the connection is over.
    private func exchange(_ peer: Int32) -> Bool {
        guard let head = Self.receive(4, peer) else { return false }
        guard let request = Self.receive(head.reduce(0) { $0 << 8 | Int($1) }, peer), request.count >= 5
        else {
            return false
        }
        let lie = frames.withLock { frames -> [UInt8]? in
            // 0xFF is a failure, which answers everything but the greeting.
            let type = request[0] | 0x80
            let place = frames.firstIndex { $0[4] == type || ($0[4] == 0xFF && type != 0x81) }
            return place.map { frames.remove(at: $0) }
        }
        guard let lie else {
            return send(Self.frame(request[0] | 0x80, request[1..<5], Self.goodAnswer(to: request)), to: peer)
        }
        // A frame with this number is sent as it is, and ends the connection, lest the module waits for the rest.
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

// MARK: - Good answers

extension LyingProvider {
    private static func goodAnswer(to request: [UInt8]) -> [UInt8] {
        switch TokenRequestKind(rawValue: request[0]) {
        case .hello:
            number(TokenWire.version) + text("lying") + number(UInt16(0)) + number(UInt32(0))
                + number(UInt16(2)) + text(TokenWire.feature) + text(TokenWire.loginFeature)
        case .tokenStatus:
            number(UInt64(7)) + number(UInt32(2)) + [1] + number(UInt64(0)) + number(UInt32(0))
                + text("0123456789ABCDEF")
        case .tokenLogin: [0, 2, 3] + number(UInt16(0))
        case .tokenObjects: goodPage
        case .useBegin: number(UInt32(1))
        case .useUpdate: []
        // A curve's name stands in a request for one of its keys.
        case .use where String(decoding: request, as: UTF8.self).contains("EC"):
            [UInt8](repeating: 1, count: 64)
        case .use, .useEnd, nil: [UInt8](repeating: 1, count: 256)
        }
    }

    /// Inputs to start from: good answers, with a login on the protected path and with a PIN.
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

    /// A page with a key of RSA and one of a curve.
    private static let goodPage: [UInt8] =
        number(UInt64(7)) + text("") + number(UInt16(2)) + identity(1, bits: 2_048, traits: 0b1011)
        + identity(2, bits: 256, traits: 0b1101) + [0]

    /// An identity as `TokenIdentity` reads it.
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
