internal import KeyShareProtocol
internal import KeyShareWire
internal import KeySharing
internal import LocalSockets
internal import Logging
internal import NIOCore
internal import PersistentToken

// Calls to the provider. They run off the event loop, except for key uses that are computed on it.

extension ConnectionHandler {
    /// Calls the provider off the event loop, and finishes the request with the outcome.
    func submit(_ call: ProviderCall, token: Int, requestID: UInt32) {
        logger.debug("asked", metadata: ["request": "\(requestID)", "call": "\(call.logDescription)"])
        switch call {
        case .use(let use): return openKey(for: use, token: token)
        case .useOfMultipartMessage(let handle):
            do {
                return openKey(for: try messages.finish(handle), token: token)
            } catch let error as TokenError {
                return session.finishCall(token, with: .tokenFailed(error), at: now)
            } catch {
                let failure = (error as? ProviderFailure) ?? ProtocolSession.noToken
                return session.finishCall(token, with: .failed(failure), at: now)
            }
        case .page, .item, .services, .grant, .content, .present, .choose, .facts, .identities, .tokens,
            .tokenStatus, .tokenObjects, .logIn, .aliases, .chooseAlias:
            break
        }
        let job = CallQueue.Job(
            process: peer.processID, bytes: 0,
            execute: { [service] in await call.execute(on: service, requestID: requestID) },
            done: { [weak self] in self?.finishCall(token, call, $0) })
        if call.mayWaitForUser {
            guard let number = registry.keyOpenings.submit(job) else {
                return session.finishCall(token, with: refusal(of: call), at: now)
            }
            pendingCalls[token] = .keyOpening(id: number)
        } else if let number = registry.lookups.submit(job) {
            pendingCalls[token] = .lookup(id: number)
        } else {
            session.finishCall(token, with: refusal(of: call), at: now)
        }
    }

    /// Opens the key for a key use. While it waits for the user, it occupies no thread and no place among the
    /// computations.
    private func openKey(for use: TokenUse, token: Int) {
        if use.alias == nil, let opened = service.token?.openedKey(for: use) {
            if registry.computesOnEventLoop(opened.cost, after: computed) {
                computed += 1
                session.finishCall(token, with: ProviderCall.Outcome(of: opened.computation), at: now)
            } else {
                computeKeyUse(opened.computation, use, token: token)
            }
            return
        }
        let call = ProviderCall.use(use)
        let job = CallQueue.Job(
            process: peer.processID, bytes: use.data.count,
            execute: { [service] in await call.execute(on: service, requestID: Wire.noRequest) },
            done: { [weak self] in self?.finishCall(token, call, $0) })
        if let number = registry.keyOpenings.submit(job) {
            pendingCalls[token] = .keyOpening(id: number)
        } else {
            session.finishCall(token, with: refusal(of: call), at: now)
        }
    }

    /// Performs a key use on the executors, with a key that is already open.
    private func computeKeyUse(_ computation: @escaping TokenComputation, _ use: TokenUse, token: Int) {
        let call = ProviderCall.use(use)
        let job = CallQueue.Job(
            process: peer.processID, bytes: use.data.count,
            execute: { ProviderCall.Outcome(of: computation) },
            done: { [weak self] in self?.finishCall(token, call, $0) })
        if let number = registry.keyUses.submit(job) {
            pendingCalls[token] = .keyUse(id: number)
        } else {
            pendingCalls[token] = nil
            session.finishCall(token, with: refusal(of: call), at: now)
        }
    }

    /// Lets the provider create the export that the call `token` needs.
    private func submitExport(_ call: ProviderCall, _ expected: ExpectedCost, token: Int) {
        let execute: @Sendable () async -> ProviderCall.Outcome = { [service] in
            await call.executeExport(on: service)
        }
        let done: (ProviderCall.Outcome?) -> Void = { [weak self] in self?.finishCall(token, call, $0) }
        if let name = expected.sharedName {
            let key = CoalescedCalls.Key(name: ExactText(name), period: registry.grantPeriod)
            pendingCalls[token] = .shared(key)
            let waiter = CoalescedCalls.Waiter(
                connection: id, token: token, process: peer.processID, done: done)
            if registry.coalescedCalls.join(key, bytes: expected.bytes, as: waiter, execute: execute) {
                return
            }
        } else {
            let job = CallQueue.Job(
                process: peer.processID, bytes: expected.bytes, execute: execute, done: done)
            if let number = registry.exports.submit(job) {
                pendingCalls[token] = .export(id: number)
                return
            }
        }
        pendingCalls[token] = nil
        session.finishCall(token, with: refusal(of: call), at: now)
    }

    /// Receives the outcome of a call; nil if it was displaced by another process's call.
    private func finishCall(_ token: Int, _ call: ProviderCall, _ outcome: ProviderCall.Outcome?) {
        guard pendingCalls.removeValue(forKey: token) != nil else { return }
        registry.endExpiredGrants()
        now = .now()
        switch outcome {
        case .needsExport(let expected): submitExport(call, expected, token: token)
        case .needsComputation(let computation):
            if case .use(let use) = call { computeKeyUse(computation, use, token: token) }
        case let outcome?:
            session.finishCall(token, with: registry.limitContent(of: outcome, for: peer), at: now)
        case nil: session.finishCall(token, with: refusal(of: call), at: now)
        }
        processActions()
    }

    private func refusal(of call: ProviderCall) -> ProviderCall.Outcome {
        registry.recordRefusal("too many calls are queued", peer)
        return .failed(
            ProviderFailure(.serverBusy, "the provider is too busy; try again later"))
    }

    /// Cancels all pending calls: waiting calls immediately, running ones at their next step.
    func cancelPendingCalls() {
        for (token, question) in pendingCalls {
            switch question {
            case .lookup(let id): registry.lookups.cancel(id)
            case .keyOpening(let id): registry.keyOpenings.cancel(id)
            case .keyUse(let id): registry.keyUses.cancel(id)
            case .export(let id): registry.exports.cancel(id)
            case .shared(let key): registry.coalescedCalls.leave(key, connection: id, token: token)
            }
        }
        pendingCalls = [:]
    }
}
