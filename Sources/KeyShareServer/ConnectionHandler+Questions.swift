internal import KeyShareWire
internal import KeySharing
internal import LocalSockets
internal import Logging
internal import NIOCore
internal import PersistentToken

// Questions to the provider, which are answered off the event loop or, for a key that is open, on it.

extension ConnectionHandler {
    /// Asks the provider off the event loop, and comes back with the outcome.
    func ask(_ work: SessionWork, token: Int, requestID: UInt32) {
        logger.debug("asked", metadata: ["request": "\(requestID)", "work": "\(work.logDescription)"])
        switch work {
        case .use(let use): return open(use, token: token)
        case .useOfMessage(let handle):
            do {
                return open(try messages.finish(handle), token: token)
            } catch let error as TokenError {
                return session.complete(token, with: .tokenFailed(error), at: now)
            } catch {
                let failure = (error as? ProviderFailure) ?? Session.noToken
                return session.complete(token, with: .failed(failure), at: now)
            }
        case .page, .item, .services, .grant, .content, .present, .choose, .facts, .identities, .tokens,
            .tokenStatus, .tokenObjects, .logIn:
            break
        }
        let job = WorkQueue.Job(
            process: peer.processID, bytes: 0,
            perform: { [service] in await work.ask(service, requestID: requestID) },
            done: { [weak self] in self?.complete(token, work, $0) })
        // A login waits for the user, as the opening of a key does.
        if case .logIn = work {
            guard let number = registry.openings.submit(job) else {
                return session.complete(token, with: refusal(of: work), at: now)
            }
            questions[token] = .opening(work: number)
        } else if let number = registry.lookUps.submit(job) {
            questions[token] = .lookUp(work: number)
        } else {
            session.complete(token, with: refusal(of: work), at: now)
        }
    }

    /// Has the key of a use opened. A key that waits for the user holds no thread, and no place of those that compute.
    private func open(_ use: TokenUse, token: Int) {
        if let opened = service.token?.openedKey(for: use) {
            if registry.computesAtOnce(opened.cost, after: computed) {
                computed += 1
                session.complete(token, with: SessionWork.Outcome(of: opened.computation), at: now)
            } else {
                compute(opened.computation, use, token: token)
            }
            return
        }
        let work = SessionWork.use(use)
        let job = WorkQueue.Job(
            process: peer.processID, bytes: use.data.count,
            perform: { [service] in await work.ask(service, requestID: Wire.noRequest) },
            done: { [weak self] in self?.complete(token, work, $0) })
        if let number = registry.openings.submit(job) {
            questions[token] = .opening(work: number)
        } else {
            session.complete(token, with: refusal(of: work), at: now)
        }
    }

    /// Has a use computed whose key is open.
    private func compute(_ computation: @escaping TokenComputation, _ use: TokenUse, token: Int) {
        let work = SessionWork.use(use)
        let job = WorkQueue.Job(
            process: peer.processID, bytes: use.data.count,
            perform: { SessionWork.Outcome(of: computation) },
            done: { [weak self] in self?.complete(token, work, $0) })
        if let number = registry.uses.submit(job) {
            questions[token] = .using(work: number)
        } else {
            questions[token] = nil
            session.complete(token, with: refusal(of: work), at: now)
        }
    }

    /// Has the provider make what the question `token` needs.
    private func make(_ work: SessionWork, _ expected: ExpectedWork, token: Int) {
        let perform: @Sendable () async -> SessionWork.Outcome = { [service] in await work.make(service) }
        let done: (SessionWork.Outcome?) -> Void = { [weak self] in self?.complete(token, work, $0) }
        if let name = expected.sharedName {
            let key = SharedWork.Key(name: ExactText(name), period: registry.grantPeriod)
            questions[token] = .shared(key)
            let waiter = SharedWork.Waiter(
                connection: id, token: token, process: peer.processID, done: done)
            if registry.shared.join(key, bytes: expected.bytes, as: waiter, perform: perform) { return }
        } else {
            let job = WorkQueue.Job(
                process: peer.processID, bytes: expected.bytes, perform: perform, done: done)
            if let number = registry.makings.submit(job) {
                questions[token] = .making(work: number)
                return
            }
        }
        questions[token] = nil
        session.complete(token, with: refusal(of: work), at: now)
    }

    /// Takes the outcome of a question; nil where it was given up for that of another process.
    private func complete(_ token: Int, _ work: SessionWork, _ outcome: SessionWork.Outcome?) {
        guard questions.removeValue(forKey: token) != nil else { return }
        registry.endOldGrants()
        now = .now()
        switch outcome {
        case .toMake(let expected): make(work, expected, token: token)
        case .toCompute(let computation):
            if case .use(let use) = work { compute(computation, use, token: token) }
        case let outcome?: session.complete(token, with: registry.limited(outcome, for: peer), at: now)
        case nil: session.complete(token, with: refusal(of: work), at: now)
        }
        process()
    }

    private func refusal(of work: SessionWork) -> SessionWork.Outcome {
        registry.refuse("too much work waits", peer)
        return .failed(
            ProviderFailure(.serverBusy, "the provider has too much to do; try again later"))
    }

    /// Drops all questions: what waits is forgotten, and what is under way ends at its next step.
    func abandonQuestions() {
        for (token, question) in questions {
            switch question {
            case .lookUp(let work): registry.lookUps.cancel(work)
            case .opening(let work): registry.openings.cancel(work)
            case .using(let work): registry.uses.cancel(work)
            case .making(let work): registry.makings.cancel(work)
            case .shared(let key): registry.shared.leave(key, connection: id, token: token)
            }
        }
        questions = [:]
    }
}
