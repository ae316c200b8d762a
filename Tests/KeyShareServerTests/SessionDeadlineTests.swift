import KeyShareProtocol
import KeyShareServer
import KeyShareWire
import NIOCore
import TestSupport
import Testing

@Suite("The deadlines of the protocol session", .timeLimit(.minutes(10)))
struct SessionDeadlineTests {
    private let identifier = WireSamples.identifier
    private let item = WireSamples.items[0]

    @Test("A hello must be complete after two seconds, even if single bytes keep arriving")
    func helloDeadline() {
        var peer = ScriptedPeer(greeted: false)
        peer.pass(.seconds(1))
        _ = peer.give([0])
        peer.pass(.milliseconds(999))
        #expect(peer.session.expire(at: peer.now) == nil)
        peer.pass(.milliseconds(1))
        #expect(peer.session.deadline == peer.now)
        #expect(peer.session.expire(at: peer.now) == .helloTimeout)
    }

    @Test("A frame must be complete five seconds after its first byte, even if single bytes keep arriving")
    func frameDeadline() throws {
        var peer = ScriptedPeer()
        peer.pass(.seconds(30))
        let bytes = try WireSamples.bytes(.stopAccessing(identifier: "x"))
        _ = peer.give(Array(bytes[..<4]))
        peer.pass(.seconds(4))
        #expect(peer.give([bytes[4]]) == [])
        #expect(peer.session.expire(at: peer.now) == nil)
        peer.pass(.seconds(1))
        #expect(peer.session.expire(at: peer.now) == .frameTimeout)
    }

    @Test("A frame's deadline ends when the frame is complete, and the next frame has its own")
    func finishedFrame() throws {
        var peer = ScriptedPeer()
        let bytes = try WireSamples.bytes(.stopAccessing(identifier: "x"))
        _ = peer.give(Array(bytes[..<4]))
        peer.pass(.seconds(4))
        #expect(peer.give(Array(bytes[4...]) + [0]).count == 1)
        peer.pass(.seconds(4))
        #expect(peer.session.expire(at: peer.now) == nil)
        peer.pass(.seconds(1))
        #expect(peer.session.expire(at: peer.now) == .frameTimeout)
    }

    @Test("A connection may be idle for one minute, not counting the time spent on its requests")
    func idleDeadline() throws {
        var peer = ScriptedPeer()
        peer.pass(.seconds(59))
        #expect(try peer.ask(.item(identifier: "i")).count == 1)
        peer.pass(.seconds(600))
        #expect(peer.session.deadline == nil)
        #expect(peer.session.expire(at: peer.now) == nil)
        _ = peer.complete(.failed(ProviderFailure(.usage, "")))
        peer.pass(.seconds(59))
        #expect(peer.session.expire(at: peer.now) == nil)
        peer.pass(.seconds(1))
        #expect(peer.session.expire(at: peer.now) == .idleTimeout)
    }

    @Test("A connection is closed if its client reads none of the waiting bytes for five seconds")
    func stalledDeadline() {
        var peer = ScriptedPeer()
        peer.session.queued(100, at: peer.now)
        peer.pass(.seconds(4))
        peer.session.sent(50, at: peer.now)
        peer.pass(.seconds(4))
        #expect(peer.session.expire(at: peer.now) == nil)
        #expect(peer.session.idleSince == nil)
        peer.pass(.seconds(1))
        #expect(peer.session.expire(at: peer.now) == .stalled)
    }

    @Test("Further replies do not postpone the deadline of a client that reads nothing")
    func stalledWithReplies() {
        var peer = ScriptedPeer()
        peer.session.queued(100, at: peer.now)
        for _ in 0..<4 {
            peer.pass(.seconds(1))
            peer.session.queued(100, at: peer.now)
            #expect(peer.session.expire(at: peer.now) == nil)
        }
        peer.pass(.seconds(1))
        #expect(peer.session.expire(at: peer.now) == .stalled)
    }

    @Test("A client that has read all bytes is not considered stalled")
    func nothingUnsent() {
        var peer = ScriptedPeer()
        peer.session.queued(100, at: peer.now)
        peer.session.sent(100, at: peer.now)
        peer.pass(.seconds(10))
        #expect(peer.session.expire(at: peer.now) == nil)
    }

    @Test("A frame that began before the session stopped reading does not time out")
    func heldBackFrame() throws {
        var peer = ScriptedPeer()
        #expect(peer.give([0, 0]) == [])
        peer.pass(.seconds(1))
        peer.session.queued(100_000, at: peer.now)
        #expect(peer.give([]) == [])
        peer.pass(.seconds(4))
        #expect(peer.session.expire(at: peer.now) == nil)
        peer.pass(.seconds(1))
        #expect(peer.session.expire(at: peer.now) == .stalled)
    }

    @Test("After a deadline has passed, no request is answered")
    func afterDeadline() throws {
        var peer = ScriptedPeer()
        peer.pass(.seconds(60))
        #expect(peer.session.expire(at: peer.now) == .idleTimeout)
        #expect(try peer.ask(.stopAccessing(identifier: "x")) == [])
        #expect(peer.session.deadline == nil && !peer.session.canReceive)
    }

    @Test("An incomplete frame does not time out while the session has stopped reading")
    func blockedFrame() throws {
        var peer = ScriptedPeer { $0.outstandingRequests = 1 }
        let bytes = try WireSamples.bytes(.item(identifier: "i"))
        #expect(peer.give(bytes + bytes.prefix(5)).count == 1)
        peer.pass(.seconds(100))
        #expect(peer.session.expire(at: peer.now) == nil)
    }
}
