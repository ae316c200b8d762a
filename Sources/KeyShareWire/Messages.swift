package import KeySharing
package import PersistentToken
package import SecretMemory

/// The service that hands out the password of the provider's files.
package enum PasswordService {
    /// The name by which a consumer picks the service among an item's services (docs/rules.md R6.1, R6.3).
    package static let name = "red.hound.KeySharingPassword-v1.0.0"
}

/// A consumer's first message: who it is, and which versions it speaks.
package struct Hello: Sendable, Hashable {
    /// The oldest version of the protocol that the consumer speaks.
    package var minimumVersion: UInt16
    /// The newest version of the protocol that the consumer speaks.
    package var maximumVersion: UInt16
    /// The consumer's name for the provider's log. It proves nothing.
    package var clientName: String
    /// The names of the services that the consumer will use; empty for none.
    package var services: [String]

    /// Makes a hello from its fields.
    package init(minimumVersion: UInt16, maximumVersion: UInt16, clientName: String, services: [String]) {
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
        self.clientName = clientName
        self.services = services
    }
}

/// The provider's answer to a hello.
package struct Welcome: Sendable, Hashable {
    /// The version that both sides speak from here on: the newest that they have in common.
    package var version: UInt16
    /// The provider's name for the consumer's log. It proves nothing.
    package var serverName: String
    /// The services of the hello that the provider has.
    package var services: [String]
    /// Since version 2: the longest frame that this provider takes, in bytes, its length field included. It is
    /// `Wire.requestLimit` in version 1.
    package var requestLimit: Int
    /// Since version 2: the names of what this provider can do beyond its version (`Wire.Feature`); none in version 1.
    package var features: [String]

    /// Makes a welcome from its fields.
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

/// A request of a consumer.
///
/// No request changes an item (docs/rules.md R3.17).
package enum ProviderRequest: Sendable, Hashable {
    /// Opens the connection. It comes first, and once.
    case hello(Hello)
    /// Asks for the items of a container, from the one that `cursor` names, at most `limit` of them.
    case enumerate(container: String, cursor: String?, limit: UInt16)
    /// Asks for one item.
    case item(identifier: String)
    /// Asks for the names of the services of an item.
    case services(identifier: String)
    /// Picks an item, which grants it to this connection (docs/rules.md R6.7).
    case startAccessing(identifier: String)
    /// Asks for a part of a granted item's content, from `offset`, `length` bytes long.
    case read(identifier: String, offset: UInt64, length: UInt32)
    /// Asks the service of this name for the password of a granted item.
    case fetchPassword(service: String, identifier: String)
    /// Ends the grant of an item.
    case stopAccessing(identifier: String)
    /// Legacy: asks for the rows for these types (docs/rules.md R4).
    case present(types: [String], cursor: String?, limit: UInt16)
    /// Legacy: has the provider export a row that `present` gave for these types, and grant it.
    case choose(row: String, types: [String])
    /// Asks for the facts that decide where identities are listed.
    case describe(cursor: String?, limit: UInt16)
    /// Asks whose the files of a container are. A provider may not know this request.
    case identities(container: String, cursor: String?, limit: UInt16)
    /// Since version 2: asks for figures about the running provider.
    case statistics
    /// Since version 2: waits for events behind the one numbered `after`, for at most `wait` milliseconds; without
    /// `after`, asks where the events stand now.
    case events(after: UInt64?, wait: UInt16)
    /// Feature `token`: asks for the tokens.
    case tokens(cursor: String?, limit: UInt16)
    /// Feature `token`: has a key used.
    case use(TokenUse)
    /// Feature `token`: begins a signature over a message that follows in parts; the use has no data.
    case useBegin(TokenUse)
    /// Feature `token`: sends the next part of a message.
    case useUpdate(handle: UInt32, data: [UInt8])
    /// Feature `token`: has the message signed.
    case useEnd(handle: UInt32)
    /// Feature `token`: gives a message up.
    case useCancel(handle: UInt32)
    /// Feature `token`: asks for what changes about the token.
    case tokenStatus
    /// Feature `token-objects`: asks for the tokens with all that PKCS #11 shows of them.
    case tokenObjects(cursor: String?, limit: UInt16)
    /// Feature `token-login`: logs in, or asks how.
    case tokenLogin(TokenLogin)
}

/// A reply of the provider. Each case answers the case of `ProviderRequest` in the same position; `failure` answers
/// any, and `tokenFailure` any about uses.
package enum ProviderReply: Sendable, Equatable {
    case welcome(Welcome)
    case page(ItemPage)
    case item(Item)
    case services([String])
    /// The item is granted; `size` is its content's size in bytes, nil where it is not known yet.
    case granted(size: Int?)
    case chunk(ContentChunk)
    case password(SecretBytes)
    case stopped
    case rows(ItemPage)
    /// The item is the export, a file that is granted already.
    case chosen(Item)
    case facts(IdentityFactsPage)
    /// The facts with their details.
    case identities(IdentityFactsPage)
    /// Since version 2.
    case statistics([ProviderFigure])
    /// Since version 2.
    case events(ProviderEventPage)
    case tokens(TokenPage)
    /// The signature, the plaintext or the shared secret.
    case used(SecretBytes)
    /// The message has this handle on this connection.
    case useBegun(handle: UInt32)
    /// So many bytes of the message have come.
    case useUpdated(total: UInt64)
    /// The signature.
    case useEnded(SecretBytes)
    case useCanceled
    case tokenStatus(TokenStatus)
    case tokenObjects(TokenObjectPage)
    case tokenLogin(TokenLoginState)
    case failure(ProviderFailure)
    /// The token did not do it.
    case tokenFailure(TokenError)
}

/// A figure about a running provider, such as the number of its connections.
package struct ProviderFigure: Sendable, Hashable {
    /// What the figure counts, in words joined by hyphens; its unit comes last where it is not a count.
    package var name: String
    /// The value.
    package var value: UInt64

    /// Makes a figure.
    package init(_ name: String, _ value: UInt64) {
        self.name = name
        self.value = value
    }
}

/// A part of an item's content.
package struct ContentChunk: Sendable, Hashable {
    /// The size of the whole content in bytes. It is equal in every chunk of one grant.
    package var total: Int
    /// The bytes from the requested offset; empty at the end of the content.
    package var bytes: ArraySlice<UInt8>

    /// Makes a chunk from its fields.
    package init(total: Int, bytes: ArraySlice<UInt8>) {
        self.total = total
        self.bytes = bytes
    }
}

/// A page of the facts that explain where identities are listed. It holds no keys.
package struct IdentityFactsPage: Sendable, Hashable {
    /// The facts about each identity of the page; with details in the answer to `identities` alone.
    package var facts: [IdentitySummary]
    /// The cursor that asks for the next page; nil at the end.
    package var nextCursor: String?

    /// Makes a page from its fields.
    package init(facts: [IdentitySummary], nextCursor: String?) {
        self.facts = facts
        self.nextCursor = nextCursor
    }
}
