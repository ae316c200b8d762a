package import KeySharing
package import SecretMemory

/// The service that hands out the password of the provider's files.
package enum PasswordService {
    /// Its name, by which a consumer must pick it among an item's services.
    package static let name = "red.hound.KeySharingPassword-v1.0.0"
}

/// What a consumer says first: who it is, and what it speaks.
package struct Hello: Sendable, Hashable {
    /// The oldest version of the protocol that the consumer speaks.
    package var minimumVersion: UInt16
    /// The newest.
    package var maximumVersion: UInt16
    /// What the consumer calls itself: for the log, and no proof of anything.
    package var clientName: String
    /// The services it means to use; empty for none.
    package var services: [String]

    package init(minimumVersion: UInt16, maximumVersion: UInt16, clientName: String, services: [String]) {
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
        self.clientName = clientName
        self.services = services
    }
}

/// What the provider answers to a hello.
package struct Welcome: Sendable, Hashable {
    /// The version that both speak from here on: the newest common one.
    package var version: UInt16
    /// What the provider calls itself.
    package var serverName: String
    /// Those of the wanted services that the provider has.
    package var services: [String]

    package init(version: UInt16, serverName: String, services: [String]) {
        self.version = version
        self.serverName = serverName
        self.services = services
    }
}

/// One request of a consumer, as a value; how it travels is the connection's business.
package enum ProviderRequest: Sendable, Hashable {
    /// Must come first, and only once.
    case hello(Hello)
    /// The items of a container, from the one that `cursor` names; `limit` is an upper bound.
    case enumerate(container: String, cursor: String?, limit: UInt16)
    /// One item by its identifier.
    case item(identifier: String)
    /// The names of the services of an item.
    case services(identifier: String)
    /// Picks an item: grants it to this connection.
    case startAccessing(identifier: String)
    /// A stretch of a granted item's bytes.
    case read(identifier: String, offset: UInt64, length: UInt32)
    /// The password of a granted item, from the service of this name.
    case fetchPassword(service: String, identifier: String)
    /// Ends the grant.
    case stopAccessing(identifier: String)
    /// Legacy: the rows for these types.
    case present(types: [String], cursor: String?, limit: UInt16)
    /// Legacy: makes the export of a row that `present` gave for these types, and grants it.
    case choose(row: String, types: [String])
    /// The facts that decide where identities are listed.
    case describe(cursor: String?, limit: UInt16)
}

/// One answer of the provider, as a value. Each case but the last answers the request of the same place.
package enum ProviderReply: Sendable, Equatable {
    case welcome(Welcome)
    case page(ItemPage)
    case item(Item)
    case services([String])
    /// The grant stands; the size of the content in bytes where it is known.
    case granted(size: Int?)
    case chunk(ContentChunk)
    case password(SecretBytes)
    case stopped
    case rows(ItemPage)
    /// The export: a file item that is granted already.
    case chosen(Item)
    case facts(IdentityFactsPage)
    case failure(ProviderFailure)
}

/// A stretch of an item's content.
package struct ContentChunk: Sendable, Hashable {
    /// The size of the whole content in bytes; the same in every chunk of one grant.
    package var total: Int
    /// From the offset that was asked for; empty at the end.
    package var bytes: ArraySlice<UInt8>

    package init(total: Int, bytes: ArraySlice<UInt8>) {
        self.total = total
        self.bytes = bytes
    }
}
