internal import KeyShareProtocol
package import KeySharing
package import PersistentToken
package import SecretMemory

/// The service that returns the password of the provider's files.
package enum PasswordService {
    /// The name that a consumer looks for among an item's services (docs/rules.md R6.1, R6.3).
    package static let name = "red.hound.KeySharingPassword-v1.0.0"
}

/// A consumer's first message. It contains the client name and the supported versions.
package struct Hello: Sendable, Hashable {
    /// The oldest protocol version that the consumer supports.
    package var minimumVersion: UInt16
    /// The newest protocol version that the consumer supports.
    package var maximumVersion: UInt16
    /// The consumer's name for the provider's log. It is not authenticated.
    package var clientName: String
    /// The names of the services that the consumer will use. May be empty.
    package var services: [String]

    /// Creates a hello.
    package init(minimumVersion: UInt16, maximumVersion: UInt16, clientName: String, services: [String]) {
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
        self.clientName = clientName
        self.services = services
    }
}

/// The provider's reply to a hello.
package struct Welcome: Sendable, Hashable {
    /// The protocol version of the connection: the newest version that both sides support.
    package var version: UInt16
    /// The provider's name for the consumer's log. It is not authenticated.
    package var serverName: String
    /// The services that the provider offers, among those that the hello requests.
    package var services: [String]
    /// Since version 2: the longest frame that this provider accepts, in bytes, including its length field. In version
    /// 1, it is `Wire.requestLimit`.
    package var requestLimit: Int
    /// Since version 2: the provider's optional features (`Wire.Feature`). Empty in version 1.
    package var features: [String]

    /// Creates a welcome.
    package init(
        version: UInt16, serverName: String, services: [String], requestLimit: Int = Wire.requestLimit,
        features: [String] = []
    ) {
        self.version = version
        self.serverName = serverName
        self.services = services
        self.requestLimit = requestLimit
        self.features = features
    }
}

/// A request from a consumer to a provider.
///
/// No request changes an item (docs/rules.md R3.17).
package enum ProviderRequest: Sendable, Hashable {
    /// Opens the connection. It must be the first request and is sent only once.
    case hello(Hello)
    /// Requests at most `limit` items of a container, starting at `cursor`.
    case enumerate(container: String, cursor: String?, limit: UInt16)
    /// Requests one item.
    case item(identifier: String)
    /// Requests the names of an item's services.
    case services(identifier: String)
    /// Picks an item and grants it to this connection (docs/rules.md R6.7).
    case startAccessing(identifier: String)
    /// Requests `length` bytes of a granted item's content, starting at `offset`.
    case read(identifier: String, offset: UInt64, length: UInt32)
    /// Requests the password of a granted item from the service with this name.
    case fetchPassword(service: String, identifier: String)
    /// Ends the grant of an item.
    case stopAccessing(identifier: String)
    /// Legacy: requests the rows for these types (docs/rules.md R4).
    case present(types: [String], cursor: String?, limit: UInt16)
    /// Legacy: requests the export of a row that `present` returned for these types. The export is granted.
    case choose(row: String, types: [String])
    /// Requests the certificate facts that determine which folders list each identity.
    case describe(cursor: String?, limit: UInt16)
    /// Requests the holders of the files in a container. A provider may not support this request.
    case identities(container: String, cursor: String?, limit: UInt16)
    /// Since version 2: requests statistics about the running provider.
    case statistics
    /// Since version 2: waits for events after the event numbered `after`, for at most `wait` milliseconds. Without
    /// `after`, requests the number of the latest event.
    case events(after: UInt64?, wait: UInt16)
    /// Feature `token`: requests the list of tokens.
    case tokens(cursor: String?, limit: UInt16)
    /// Feature `token`: requests a key use.
    case use(TokenUse)
    /// Feature `token`: starts a signature over a message that is sent in parts. The key use has no data.
    case useBegin(TokenUse)
    /// Feature `token`: sends the next part of the message that `useBegin` started.
    case useUpdate(handle: UInt32, data: [UInt8])
    /// Feature `token`: ends the message and requests its signature.
    case useEnd(handle: UInt32)
    /// Feature `token`: discards the message without signing it.
    case useCancel(handle: UInt32)
    /// Feature `token`: requests the token's changeable state.
    case tokenStatus
    /// Feature `token-objects`: requests the tokens with all attributes that PKCS #11 presents.
    case tokenObjects(cursor: String?, limit: UInt16)
    /// Feature `token-login`: logs in, or requests the login state.
    case tokenLogin(TokenLogin)
    /// Feature `aliases`: requests the columns of the shared aliases.
    case aliasQuery(AliasQueryRequest)
    /// Feature `aliases`: lets the user choose a KeyChain entry, and grants its key to the app.
    case aliasChoose(AliasChoiceRequest)
}

/// A provider's reply. Each case answers the case of `ProviderRequest` in the same position. `failure` answers any
/// request, and `tokenFailure` answers any request about key uses or aliases.
package enum ProviderReply: Sendable, Equatable {
    case welcome(Welcome)
    case page(ItemPage)
    case item(Item)
    case services([String])
    /// The item is granted. `size` is the size of its content in bytes, or nil if it is not known yet.
    case granted(size: Int?)
    case chunk(ContentChunk)
    case password(SecretBytes)
    case stopped
    case rows(ItemPage)
    /// The item is the export. It is already granted.
    case chosen(Item)
    case facts(IdentityFactsPage)
    /// The identity facts with details.
    case identities(IdentityFactsPage)
    /// Since version 2.
    case statistics([ProviderFigure])
    /// Since version 2.
    case events(ProviderEventPage)
    case tokens(TokenPage)
    /// The signature, the plaintext or the shared secret.
    case used(SecretBytes)
    /// The handle of the message on this connection.
    case useBegun(handle: UInt32)
    /// The number of message bytes that were received.
    case useUpdated(total: UInt64)
    /// The signature.
    case useEnded(SecretBytes)
    case useCanceled
    case tokenStatus(TokenStatus)
    case tokenObjects(TokenObjectPage)
    case tokenLogin(TokenLoginState)
    case aliases(AliasPage)
    case aliasChosen(AliasChoice)
    case failure(ProviderFailure)
    /// The token rejected the key use, or the key use failed.
    case tokenFailure(TokenError)
}

/// A statistic about a running provider, such as the number of its connections.
package struct ProviderFigure: Sendable, Hashable {
    /// The name of the statistic, in words joined by hyphens. If the value is not a count, its unit is the last word.
    package var name: String
    /// The count, or the amount in the unit of the name.
    package var value: UInt64

    /// Creates a statistic.
    package init(_ name: String, _ value: UInt64) {
        self.name = name
        self.value = value
    }
}

/// A part of an item's content.
package struct ContentChunk: Sendable, Hashable {
    /// The size of the whole content in bytes. It is equal in all chunks of one grant.
    package var total: Int
    /// The bytes from the requested offset. Empty at the end of the content.
    package var bytes: ArraySlice<UInt8>

    /// Creates a chunk.
    package init(total: Int, bytes: ArraySlice<UInt8>) {
        self.total = total
        self.bytes = bytes
    }
}

/// A page of the certificate facts that determine which folders list each identity. It contains no keys.
package struct IdentityFactsPage: Sendable, Hashable {
    /// The facts about each identity of the page. Only the reply to `identities` includes details.
    package var facts: [IdentitySummary]
    /// The cursor for the next page, or nil at the end.
    package var nextCursor: String?

    /// Creates a page.
    package init(facts: [IdentitySummary], nextCursor: String?) {
        self.facts = facts
        self.nextCursor = nextCursor
    }
}
