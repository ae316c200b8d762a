internal import NIOCore

/// The connections that have sent something within one turn of the event loop, which are answered together at its end.
///
/// All of them had sent it before the answers begin, so that one look at the device and its keychain holds for all, and
/// their replies go to the kernel together (`ReplyBatch`).
final class AnswerRound {
    private let service: any ProviderService
    private let eventLoop: any EventLoop
    private let batch = ReplyBatch()
    private var readers: [ConnectionHandler] = []

    init(service: any ProviderService, eventLoop: any EventLoop) {
        self.service = service
        self.eventLoop = eventLoop
    }

    /// Answers what a connection has sent: at once where it is the only one of the server, and else at the end of this turn
    /// of the event loop.
    func answer(_ reader: ConnectionHandler) {
        if reader.registry.isSingle {
            service.withOneLook {
                reader.registry.endOldGrants()
                reader.answer(at: .now())
            }
            return
        }
        readers.append(reader)
        if readers.count == 1 {
            eventLoop.assumeIsolated().execute { [self] in answerAll() }
        }
    }

    /// Answers what was read so far in this turn of the event loop. Whatever judges a connection by what it has sent calls
    /// this first.
    func answerAll() {
        guard !readers.isEmpty else { return }
        let readers = readers
        // Whoever sends something from here on belongs to the next round.
        self.readers.removeAll(keepingCapacity: true)
        service.withOneLook {
            readers[0].registry.endOldGrants()
            let now = NIODeadline.now()
            var unfinished = readers.startIndex
            /// Writes the replies made so far, and then answers requests that unsent bytes had held back.
            func finish(before end: Int) {
                batch.send()
                for index in unfinished..<end { readers[index].answer(at: now) }
                unfinished = end
            }
            for (index, reader) in readers.enumerated() {
                reader.beginAnswer(at: now, in: batch)
                // Nobody's reply waits for signatures of others.
                if batch.isFull || reader.computed > 0 { finish(before: index + 1) }
            }
            finish(before: readers.endIndex)
        }
    }
}
