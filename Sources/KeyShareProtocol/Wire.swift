/// The fixed numbers of the protocol's versions, described in `Protocol.md` of `KeyShareWire`. They must not change.
package enum Wire {
    /// The protocol versions that this code supports.
    package static let versions: ClosedRange<UInt16> = 1...2
    /// The version of the protocol that introduced the persistent token.
    package static let tokenVersion: UInt16 = 2
    /// The maximum length of a passcode in a login, in bytes.
    package static let longestPasscode = 64
    /// The longest frame that a consumer may send, in bytes, including its length field.
    package static let requestLimit = 4_096
    /// The longest frame that a consumer may send to a provider with the feature `token`, in bytes, including its
    /// length field. The welcome announces the limit.
    package static let longRequestLimit = 65_536
    /// The maximum length of the data in one `use` or `useUpdate`, in bytes.
    package static let useDataLimit = 61_440
    /// The maximum length of an alias, in bytes of UTF-8. An alias is not empty and contains no NUL.
    package static let aliasLimit = 255
    /// The prefix of the object ID of a KeyChain entry. The alias follows it.
    package static let aliasObjectPrefix = "keychain:"
    /// The maximum number of columns, key types or issuers in one request about aliases.
    package static let aliasListLimit = 64
    /// The maximum length of an app's name, a column, a key type or a host in a request about aliases, in bytes of
    /// UTF-8.
    package static let aliasTextLimit = 255
    /// The maximum length of an issuer's name in a request about aliases, in bytes of DER.
    package static let issuerLimit = 4_096
    /// The failure code of a token error. In such a failure, the message is followed by the token's error code and the
    /// obstacle.
    package static let tokenFailureCode: UInt16 = 11
    /// The longest frame that a provider may send, in bytes, including its length field.
    package static let replyLimit = 65_536
    /// The longest part of content that one `read` may request, in bytes.
    package static let chunkLimit = 61_440
    /// The longest identifier of an item, a container or a service, and the longest uniform type, in bytes of UTF-8.
    package static let identifierLimit = 256
    /// The request ID of a failure that answers no request, such as a framing error.
    package static let noRequest: UInt32 = 0
    /// The number of bytes of a frame before its body: length, type and request ID.
    package static let headerSize = 9

    /// The types of frames. The type of a reply is the type of its request with the high bit set. A failure has a type
    /// of its own.
    package enum MessageType: UInt8, Sendable, CaseIterable {
        case hello = 0x01
        case enumerate = 0x02
        case item = 0x03
        case services = 0x04
        case startAccessing = 0x05
        case read = 0x06
        case fetchPassword = 0x07
        case stopAccessing = 0x08
        case present = 0x09
        case choose = 0x0A
        case describe = 0x0B
        case identities = 0x0C
        /// The first type of version 2, like all requests below.
        case statistics = 0x0D
        case tokens = 0x0E
        case use = 0x0F
        case useBegin = 0x10
        case useUpdate = 0x11
        case useEnd = 0x12
        case useCancel = 0x13
        case tokenStatus = 0x14
        case tokenObjects = 0x15
        case tokenLogin = 0x16
        case aliasQuery = 0x17
        case aliasChoose = 0x18
        case events = 0x1A

        case welcome = 0x81
        case page = 0x82
        case itemReply = 0x83
        case servicesReply = 0x84
        case granted = 0x85
        case chunk = 0x86
        case password = 0x87
        case stopped = 0x88
        case rows = 0x89
        case chosen = 0x8A
        case facts = 0x8B
        case identitiesReply = 0x8C
        /// The first reply of version 2.
        case statisticsReply = 0x8D
        case tokensReply = 0x8E
        case used = 0x8F
        case useBegun = 0x90
        case useUpdated = 0x91
        case useEnded = 0x92
        case useCanceled = 0x93
        case tokenStatusReply = 0x94
        case tokenObjectsReply = 0x95
        case tokenLoginReply = 0x96
        case aliasQueryReply = 0x97
        case aliasChooseReply = 0x98
        case eventsReply = 0x9A
        case failure = 0xFF

        /// The first version of the protocol in which this type exists.
        package var firstVersion: UInt16 {
            switch self {
            case .statistics, .statisticsReply, .events, .eventsReply, .tokens, .tokensReply, .use, .used,
                .useBegin, .useBegun,
                .useUpdate, .useUpdated, .useEnd, .useEnded, .useCancel, .useCanceled, .tokenStatus,
                .tokenStatusReply, .tokenObjects, .tokenObjectsReply, .tokenLogin, .tokenLoginReply,
                .aliasQuery, .aliasQueryReply, .aliasChoose, .aliasChooseReply:
                2
            default: 1
            }
        }
    }

    /// The optional features of a provider. The welcome of version 2 lists their names, so a new feature needs no new
    /// version.
    package enum Feature {
        /// The request `statistics`.
        package static let statistics = "statistics"
        /// The request `events`.
        package static let events = "events"
        /// The persistent token: requests from `tokens` to `tokenStatus`, and requests of up to `longRequestLimit`
        /// bytes.
        package static let token = "token"
        /// The token's objects as PKCS #11 presents them: the request `tokenObjects`, and the form of a signature as a
        /// parameter of a key use. A provider with this feature also has `token`.
        package static let tokenObjects = "token-objects"
        /// A login that replaces the prompts for key uses: the request `tokenLogin`, and the ticket as a parameter of a
        /// key use. A provider with this feature also has `token-objects`.
        package static let tokenLogin = "token-login"
        /// Alias sharing as on Android: the requests `aliasQuery` and `aliasChoose`, and key uses with the object IDs
        /// of KeyChain entries. A provider with this feature also has `token`.
        package static let aliases = "aliases"
        /// All features that this implementation supports.
        package static let all = [statistics, events, token, tokenObjects, tokenLogin, aliases]
        /// The features that require a persistent token.
        package static let ofToken = [token, tokenObjects, tokenLogin, aliases]
    }
}
