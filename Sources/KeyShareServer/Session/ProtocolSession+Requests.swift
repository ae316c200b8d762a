internal import KeyShareProtocol
internal import KeyShareWire
internal import KeySharing
package import NIOCore
internal import PersistentToken

// How a session handles requests, and the provider's answers to them.

extension ProtocolSession {
    /// Handles one frame.
    ///
    /// - Returns: The next action; nil if there is none or the actions were queued.
    mutating func handle(_ frame: Frame) -> Action? {
        let request: ProviderRequest
        do throws(ProviderFailure) {
            request = try ProviderRequest(frame, version: version)
            record(frame, request)
        } catch {
            record(frame, nil)
            // An unknown request is tolerated only after the hello, when a version has been negotiated.
            guard error.code == .unknownRequest, case .open = phase else {
                violate(
                    error.code == .unknownRequest ? Self.helloExpected : error, requestID: frame.requestID)
                return nil
            }
            return .reply(.failure(error), requestID: frame.requestID)
        }
        switch (phase, request) {
        case (.awaitingHello, .hello(let hello)):
            return greet(hello, frame.requestID)
        case (.awaitingHello, _):
            violate(Self.helloExpected, requestID: frame.requestID)
            return nil
        case (_, .hello):
            violate(ProviderFailure(.malformed, "the hello was already sent"), requestID: frame.requestID)
            return nil
        default:
            return dispatch(request, frame.requestID)
        }
    }

    private static let helloExpected = ProviderFailure(.malformed, "a hello must come first")
    /// The failure for an item that does not exist and for one that was not granted. They are indistinguishable
    /// (docs/rules.md R6.8).
    private static let notAvailable = ProviderFailure(
        .notAvailable, "there is no such item, or it was not granted")

    /// Answers the hello with the newest common version.
    private mutating func greet(_ hello: Hello, _ requestID: UInt32) -> Action? {
        let version = min(hello.maximumVersion, versions.upperBound)
        guard version >= versions.lowerBound, version >= hello.minimumVersion else {
            let spoken = "\(versions.lowerBound) to \(versions.upperBound)"
            violate(
                ProviderFailure(.unsupportedVersion, "this provider supports versions \(spoken)"),
                requestID: requestID)
            return nil
        }
        phase = .open
        clientName = hello.clientName
        self.version = version
        hasSaidHello = true
        let common = services.filter { service in
            hello.services.contains { $0.hasSameBytes(as: service) }
        }
        return .reply(
            .welcome(
                Welcome(
                    version: version, serverName: serverName, services: common, requestLimit: requestLimit,
                    features: version >= 2 ? features : [])),
            requestID: requestID)
    }

    /// Answers a request of an open connection, or turns it into a call to the provider. The grant of an item is
    /// checked here (docs/rules.md R1.7, R6.3, R6.8).
    private mutating func dispatch(_ request: ProviderRequest, _ requestID: UInt32) -> Action? {
        guard request.longestIdentifier <= Wire.identifierLimit else {
            let reason = "the identifier is longer than \(Wire.identifierLimit) bytes"
            return failure(ProviderFailure(.refused, reason), requestID)
        }
        switch request {
        case .hello:
            // `handle(_:)` has already processed this request.
            return nil
        case .fetchPassword(let service, let identifier):
            guard let grant = grants[identifier] else { return failure(Self.notAvailable, requestID) }
            guard !grant.isLegacyExport else {
                let reason = "the password of a legacy export is on the pasteboard, not with the service"
                return failure(ProviderFailure(.mixedMechanisms, reason), requestID)
            }
            guard service.hasSameBytes(as: PasswordService.name) else {
                return failure(Self.notAvailable, requestID)
            }
            return .password(identifier: identifier, requestID: requestID)
        case .read(let identifier, let offset, let length):
            return readContent(identifier, offset, length, requestID)
        case .stopAccessing(let identifier):
            stopAccess(to: identifier)
            return .reply(.stopped, requestID: requestID)
        case .startAccessing(let identifier):
            return enqueueCall(.grant(identifier: identifier), requestID)
        case .item(let identifier):
            return enqueueCall(.item(identifier: identifier), requestID)
        case .services(let identifier):
            return enqueueCall(.services(identifier: identifier), requestID)
        case .enumerate(let container, let cursor, let limit):
            return enqueueCall(
                .page(container: container, cursor: cursor, limit: pageLimit(limit)), requestID)
        case .present(let types, let cursor, let limit):
            return enqueueCall(.present(types: types, cursor: cursor, limit: pageLimit(limit)), requestID)
        case .choose(let row, let types):
            return enqueueCall(.choose(row: row, types: types), requestID)
        case .describe(let cursor, let limit):
            return enqueueCall(.facts(cursor: cursor, limit: pageLimit(limit)), requestID)
        case .statistics:
            return .statistics(requestID: requestID)
        case .events(let after, let wait):
            guard awaitedEvents == nil else {
                let reason = "a request for events is already pending"
                return failure(ProviderFailure(.refused, reason), requestID)
            }
            awaitedEvents = (requestID, after)
            // A subscriber receives events about the requests of other connections only.
            _ = removeRecord(of: requestID)
            let asked = Duration.milliseconds(wait)
            return .awaitEvents(after: after, wait: TimeAmount(min(asked, limits.eventWait)))
        case .identities(let container, let cursor, let limit):
            return enqueueCall(
                .identities(container: container, cursor: cursor, limit: pageLimit(limit)), requestID)
        case .tokens, .use, .useBegin, .useUpdate, .useEnd, .useCancel, .tokenStatus,
            .tokenObjects, .tokenLogin, .aliasQuery, .aliasChoose:
            return hasToken ? dispatchTokenRequest(request, requestID) : failure(Self.noToken, requestID)
        }
    }

    /// The failure for a request about aliases if the provider shares none.
    static let noAliases = ProviderFailure(.unknownRequest, "this provider shares no aliases")

    /// The failure for a token request if the provider has no token.
    static let noToken = ProviderFailure(.unknownRequest, "this provider has no persistent token")

    /// Answers a request of the features `token` and `aliases`. It needs no grant of an item, because the user's presence
    /// or a key grant authorizes each key.
    private mutating func dispatchTokenRequest(_ request: ProviderRequest, _ requestID: UInt32) -> Action? {
        switch request {
        case .tokens(let cursor, let limit):
            return enqueueCall(.tokens(cursor: cursor, limit: pageLimit(limit)), requestID)
        case .use(var use):
            use.app = clientName
            guard use.data.count <= Wire.useDataLimit else { return failure(Self.longData, requestID) }
            return enqueueCall(.use(use), requestID)
        case .useBegin(var use):
            use.app = clientName
            return .message(.begin(use), requestID: requestID)
        case .useUpdate(let handle, let data):
            guard data.count <= Wire.useDataLimit else { return failure(Self.longData, requestID) }
            return .message(.append(handle: handle, data: data), requestID: requestID)
        case .useEnd(let handle):
            return enqueueCall(.useOfMultipartMessage(handle: handle), requestID)
        case .useCancel(let handle):
            return .message(.cancel(handle: handle), requestID: requestID)
        case .tokenStatus:
            return enqueueCall(.tokenStatus, requestID)
        case .tokenObjects(let cursor, let limit):
            return enqueueCall(.tokenObjects(cursor: cursor, limit: pageLimit(limit)), requestID)
        case .tokenLogin(let login):
            return enqueueCall(.logIn(login), requestID)
        case .aliasQuery(let query):
            guard hasAliases else { return failure(Self.noAliases, requestID) }
            if let limit = query.exceededLimit { return failure(ProviderFailure(.refused, limit), requestID) }
            return enqueueCall(.aliases(query, limit: limits.pageItems), requestID)
        case .aliasChoose(let request):
            guard hasAliases else { return failure(Self.noAliases, requestID) }
            if let limit = request.exceededLimit {
                return failure(ProviderFailure(.refused, limit), requestID)
            }
            return enqueueCall(.chooseAlias(request), requestID)
        default:
            return failure(ProviderFailure(.internalError, "this is not a token request"), requestID)
        }
    }

    private static let longData = ProviderFailure(
        .refused, "the request has more than \(Wire.useDataLimit) bytes of data")

    /// Answers a read if the content is loaded; otherwise begins to load the content.
    private mutating func readContent(
        _ identifier: String, _ offset: UInt64, _ length: UInt32, _ requestID: UInt32
    ) -> Action? {
        guard (1...UInt32(Wire.chunkLimit)).contains(length) else {
            return failure(
                ProviderFailure(.usage, "a read must request 1 to \(Wire.chunkLimit) bytes"), requestID)
        }
        guard let grant = grants[identifier] else { return failure(Self.notAvailable, requestID) }
        let read = SessionGrants.WaitingRead(requestID: requestID, offset: offset, length: Int(length))
        switch grant.content {
        case .loaded(let content):
            return Self.chunk(of: content, read)
        case .loading:
            grants.wait(for: identifier, read)
            return nil
        case .evicted:
            let reason = "the content was dropped to make room for others; start accessing it again"
            return failure(ProviderFailure(.serverBusy, reason), requestID)
        case .unread:
            let action = enqueueCall(.content(identifier: identifier), requestID)
            grants.beginLoading(identifier, token: lastToken, for: read)
            return action
        }
    }

    /// Ends the grant of an item, including one that is being created.
    private mutating func stopAccess(to identifier: String) {
        refuseReads(grants.revoke(identifier))
        for (token, request) in pending {
            guard case .grant(let other) = request.call, other.hasSameBytes(as: identifier) else { continue }
            pending[token]?.isRevoked = true
        }
    }

    /// Ends all grants, including those that are being created, and drops the content (docs/rules.md R6.9, R6.11).
    package mutating func endGrants() {
        refuseReads(grants.revokeAll())
        for token in pending.keys {
            pending[token]?.isRevoked = true
        }
    }

    /// Drops content from memory because other connections need the room. Reads of it fail with `serverBusy` until the
    /// item is granted again.
    package mutating func evict(_ content: ContentBudget.Content) {
        grants.evict(content)
    }

    /// Queues failure replies to reads whose grant has ended.
    private mutating func refuseReads(_ reads: [SessionGrants.WaitingRead]) {
        for read in reads {
            queue.append(.reply(.failure(Self.notAvailable), requestID: read.requestID))
        }
    }

    /// Records a call to the provider under a new token.
    private mutating func enqueueCall(_ call: ProviderCall, _ requestID: UInt32) -> Action {
        lastToken += 1
        pending[lastToken] = PendingRequest(call: call, requestID: requestID)
        return .call(call, token: lastToken, requestID: requestID)
    }

    private func failure(_ failure: ProviderFailure, _ requestID: UInt32) -> Action {
        .reply(.failure(failure), requestID: requestID)
    }

    /// Returns the page limit for the provider. If the request asks for 0 entries, the server's limit applies.
    private func pageLimit(_ asked: UInt16) -> Int {
        asked == 0 ? limits.pageItems : min(Int(asked), limits.pageItems)
    }

    /// The chunk of `content` that `read` requests; empty past the end.
    private static func chunk(of content: [UInt8], _ read: SessionGrants.WaitingRead) -> Action {
        let start = Int(min(read.offset, UInt64(content.count)))
        let end = min(start + read.length, content.count)
        let chunk = ContentChunk(total: content.count, bytes: content[start..<end])
        return .reply(.chunk(chunk), requestID: read.requestID)
    }
}

// MARK: - The provider's answers

extension ProtocolSession {
    /// Receives the outcome of the call `token`. The outcome of a call that is no longer pending is discarded.
    package mutating func finishCall(
        _ token: Int, with outcome: ProviderCall.Outcome, at now: NIODeadline
    ) {
        guard let request = pending.removeValue(forKey: token) else { return }
        if case .closed = phase { return }
        lastActivity = now
        switch (request.call, outcome) {
        case (.content(let identifier), _):
            endLoading(identifier, token, outcome)
        case (_, .failed(let failure)):
            queueReply(.failure(failure), to: request)
        case (_, .encoded(let frame)):
            queue.append(.send(frame))
        case (.use, .used(let result)):
            queueReply(.used(result), to: request)
        case (.useOfMultipartMessage, .used(let result)):
            queueReply(.useEnded(result), to: request)
        case (.use, .tokenFailed(let error)), (.useOfMultipartMessage, .tokenFailed(let error)),
            (.logIn, .tokenFailed(let error)), (.aliases, .tokenFailed(let error)),
            (.chooseAlias, .tokenFailed(let error)):
            queueReply(.tokenFailure(error), to: request)
        case (.grant(let identifier), .granted(let item)):
            grant(identifier, item, request)
        case (.choose, .chosen(let export)):
            grant(export, request)
        default:
            queueReply(
                .failure(ProviderFailure(.internalError, "the reply does not match the request")),
                to: request)
        }
    }

    /// Grants an item that the provider has found. A folder cannot be granted (docs/rules.md R2.10).
    private mutating func grant(_ identifier: String, _ item: Item, _ request: PendingRequest) {
        if request.isRevoked || !item.kind.hasContent {
            queueReply(.failure(Self.notAvailable), to: request)
        } else if let refusal = refusal(of: identifier, holding: 0) {
            queueReply(.failure(refusal), to: request)
        } else {
            grants.grant(identifier)
            queueReply(.granted(size: item.size), to: request)
        }
    }

    /// Grants a legacy export together with its bytes (docs/rules.md R4.10).
    private mutating func grant(_ export: LegacyExport, _ request: PendingRequest) {
        if request.isRevoked {
            queueReply(.failure(Self.notAvailable), to: request)
        } else if let refusal = refusal(of: export.item.identifier, holding: export.content.count) {
            queueReply(.failure(refusal), to: request)
        } else {
            refuseReads(grants.grant(export.item.identifier, export: export.content))
            queueReply(.chosen(export.item), to: request)
        }
    }

    /// Answers the reads that waited for the content of an item.
    private mutating func endLoading(_ identifier: String, _ token: Int, _ outcome: ProviderCall.Outcome) {
        var content: [UInt8]?
        var failure = ProviderFailure(.internalError, "the reply does not match the request")
        switch outcome {
        case .content(let bytes):
            if bytes.count <= limits.snapshotBytes - heldBytes {
                content = bytes
            } else {
                failure = Self.tooMuch
            }
        case .failed(let reason): failure = reason
        case .encoded, .granted, .chosen, .needsExport, .needsComputation, .used, .tokenFailed: break
        }
        for read in grants.endLoading(identifier, token: token, content: content) {
            if let content {
                queue.append(Self.chunk(of: content, read))
            } else {
                queue.append(.reply(.failure(failure), requestID: read.requestID))
            }
        }
    }

    private static let tooMuch = ProviderFailure(
        .refused, "this connection holds too much content; stop accessing another item first")

    /// The failure if one more grant with `size` bytes of content would exceed a limit; otherwise nil.
    private func refusal(of identifier: String, holding size: Int) -> ProviderFailure? {
        guard grants[identifier] != nil || grants.count < limits.grants else {
            return ProviderFailure(
                .refused, "this connection already has the maximum of \(limits.grants) granted items")
        }
        return size <= limits.snapshotBytes - heldBytes ? nil : Self.tooMuch
    }

    private mutating func queueReply(_ reply: ProviderReply, to request: PendingRequest) {
        queue.append(.reply(reply, requestID: request.requestID))
    }
}
