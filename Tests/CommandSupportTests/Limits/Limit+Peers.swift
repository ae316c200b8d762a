import Foundation
import KeyShareClient
import KeyShareProvider
import KeyShareServer
import KeyShareWire
import LoopbackHTTP
import PathValidation
import WebView

extension Limit {
    private static let server = ProviderServer.Limits()
    private static let client = ProviderClient.Limits()
    private static let token = TokenKeys.Behaviour()

    /// Peers of the provider's socket: processes of the user.
    static let peers: [Limit] = [
        Limit(
            "peer", asks: "a descriptor, by a connection without a hello", pays: "a descriptor",
            bound: """
                \(time(server.hello)); the oldest one gives way to a new connection; one that its peer has left is \
                closed before anything is made for it
                """, "ProviderServer.Limits.hello, Acceptor"),
        Limit(
            "peer that leaves at once, without end", asks: "to be accepted", pays: "a connect",
            bound: """
                \(AcceptQueue.long) wait, \(AcceptQueue.short) while most leave; a thread of their own closes them; \
                \(Acceptor.mostHandedOver) of those that stay go to the event loop at a time
                """, "AcceptQueue.long, .short, Acceptor.mostHandedOver"),
        Limit(
            "peer", asks: "a descriptor, byte by byte or idle", pays: "a descriptor",
            bound: "\(time(server.frame)) for a frame, \(time(server.idle)) without a request",
            "ProviderServer.Limits.frame, .idle"),
        Limit(
            "peer", asks: "connections", pays: "a descriptor each",
            bound: """
                \(number(server.connections)) in all, \(number(server.connectionsPerPeer)) of a process
                """, "ProviderServer.Limits.connections, .connectionsPerPeer"),
        Limit(
            "peer", asks: "memory for a frame", pays: "four bytes of its length",
            bound: """
                \(size(Wire.requestLimit)) a request, in version 2 with tokens \(size(Wire.longRequestLimit)), refused \
                before memory is taken
                """, "Wire.requestLimit, .longRequestLimit"),
        Limit(
            "peer", asks: "memory for replies that it does not read", pays: "a request each",
            bound: """
                \(size(server.unsentBytes)) and \(server.outstandingRequests) requests a connection, \
                \(size(server.totalUnsentBytes)) in all; \(time(server.stalled))
                """, "ProviderServer.Limits.unsentBytes, .outstandingRequests, .totalUnsentBytes, .stalled"),
        Limit(
            "peer", asks: "look-ups", pays: "a request each",
            bound: """
                \(server.lookUps.underWayPerProcess) of a process at a time, \(number(server.lookUps.perProcess)) \
                of it waiting, \(number(server.lookUps.total)) in all; processes take turns
                """, "ProviderServer.Limits.lookUps"),
        Limit(
            "peer", asks: "files, archives and legacy exports to be made", pays: "a request each",
            bound: """
                \(server.makings.underWayPerProcess) of a process at a time, \(number(server.makings.perProcess)) \
                of it waiting, \(number(server.makings.total)) in all, expected to take \
                \(size(server.makings.bytes)); one making for all who ask alike; none for a peer that has left
                """, "ProviderServer.Limits.makings"),
        Limit(
            "peer", asks: "legacy rows for types of its own, which are kept", pays: "a request each",
            bound: """
                \(LegacyListings.mostListings) listings, \(number(LegacyListings.mostRows)) rows in all; none of an earlier state
                """, "LegacyListings.mostListings, .mostRows"),
        Limit(
            "peer", asks: "keys to be opened, while the user is asked", pays: "a request each",
            bound: """
                \(server.openings.perProcess) of a process, \(number(server.openings.total)) in all, \
                \(size(server.openings.bytes)) of data; none for a peer that has left
                """, "ProviderServer.Limits.openings"),
        Limit(
            "peer", asks: "uses of open keys", pays: "a request each",
            bound: """
                \(server.uses.underWayPerProcess) of a process at a time, \(number(server.uses.perProcess)) of it \
                waiting, \(number(server.uses.total)) in all, \(size(server.uses.bytes)) of data; processes take turns
                """, "ProviderServer.Limits.uses"),
        Limit(
            "peer", asks: "messages that are signed in parts", pays: "a request each",
            bound: "\(server.messages) a connection, of which digests are kept",
            "ProviderServer.Limits.messages"
        ),
        Limit(
            "peer", asks: "the use of a key for long data", pays: "a byte each",
            bound: "\(size(Wire.useDataLimit)) in a request or a part; only messages to sign have parts",
            "Wire.useDataLimit"),
        Limit(
            "peer", asks: "the user's attention", pays: "a request each",
            bound: """
                \(time(token.presenceTimeout)) for an answer (`--presence-timeout`); an open key asks nobody for \
                \(time(token.cacheLifetime)) (`--presence-cache`)
                """, "TokenKeys.Behaviour.presenceTimeout, .cacheLifetime"),
        Limit(
            "author of a certificate that is registered", asks: "room in the list of tokens",
            pays: "a certificate",
            bound: "\(number(TokenKeys.longestCertificate)) bytes; a longer one is left out of the list",
            "TokenKeys.longestCertificate"),
        Limit(
            "peer", asks: "content to be kept", pays: "a grant and a read",
            bound: """
                \(server.grants) grants and \(size(server.snapshotBytes)) a connection, \
                \(size(server.totalSnapshotBytes)) in all; taken back from the process that holds most
                """, "ProviderServer.Limits.grants, .snapshotBytes, .totalSnapshotBytes"),
        Limit(
            "peer of this user", asks: "to be told of others\u{2019} requests", pays: "a connection",
            bound: """
                \(server.subscribers) connections; the last \(number(server.events)) events for those that are \
                behind, who are told how many they lost; \(time(server.eventWait)) a request
                """, "ProviderServer.Limits.subscribers, .events, .eventWait"),
        Limit(
            "peer", asks: "the comparison of identifiers", pays: "a byte each",
            bound: "\(Wire.identifierLimit) bytes, compared byte by byte", "Wire.identifierLimit"),
        Limit(
            "peer, at the end of the provider", asks: "answers to what is outstanding",
            pays: "a request each",
            bound: "\(time(server.drain)); at the second signal \(time(server.step)) for steps that run",
            "ProviderServer.Limits.drain, .step"),
    ]

    /// What the consumer asks of a provider that may lie, and the commands of other servers.
    static let servers: [Limit] = [
        Limit(
            "lying provider", asks: "waiting", pays: "a connection",
            bound: "\(time(client.hello)) for the hello, \(time(client.reply)) for a reply, "
                + "\(time(client.use)) for the use of a key, \(time(client.whole)) for a whole list or item",
            "ProviderClient.Limits.hello, .reply, .use, .whole"),
        Limit(
            "lying provider", asks: "memory for pages without end", pays: "a page each",
            bound: "\(number(client.listedEntries)) entries, \(size(client.listedBytes))",
            "ProviderClient.Limits.listedEntries, .listedBytes"),
        Limit(
            "lying provider", asks: "memory for content", pays: "a chunk each",
            bound: size(client.contentSize),
            "ProviderClient.Limits.contentSize"),
        Limit(
            "author of a certificate whose URLs are fetched (`--fetch`)", asks: "requests, waiting, memory",
            pays: "an URL each",
            bound: """
                \(fetches.requests) requests, \(time(fetches.time)), \(size(fetches.octets)) in all; each \
                \(size(FetchClient.Limits().responseBytes)), \(time(FetchClient.Limits().time)), \
                \(FetchClient.Limits().redirections) redirections
                """, "FetchLimits, FetchClient.Limits"),
        Limit(
            "client of a loopback server", asks: "connections and answers", pays: "a descriptor each",
            bound: """
                \(loopback.connections) connections, \(loopback.answersAtOnce) answers at once, \
                \(size(loopback.requestBytes)) a request, \(time(loopback.time)) for it
                """, "LoopbackServer.Limits"),
    ]

    /// The page of a device, which other programs of the user may ask, and files that it replays.
    static let page: [Limit] = [
        Limit(
            "another user of the machine", asks: "anything", pays: "a connection",
            bound: "an empty 403; nothing for what is no HTTP", "LoopbackServer.Limits.isForOwnUserOnly"),
        Limit(
            "program of the user, without the key in the address", asks: "the page, or a change by it",
            pays: "a request",
            bound: "403, before anything of the request is looked at", "WebAccess.judge"),
        Limit(
            "page", asks: "connections, streams of events and answers", pays: "a descriptor each",
            bound: """
                \(web.connections) connections, of which the oldest gives way; \(web.answersAtOnce) answers at once, \
                \(size(web.requestBytes)) a request, \(time(web.time)) for it; sessions end with the process
                """, "WebLimits.server"),
        Limit(
            "page that does not read", asks: "memory for events", pays: "a connection",
            bound: """
                \(number(WebLimits.waitingMessages)) messages, of which the oldest are dropped and counted; \
                \(time(web.stalled)) for one
                """, "WebLimits.waitingMessages, LoopbackServer.Limits.stalled"),
        Limit(
            "whoever causes events", asks: "memory for those who come later", pays: "a request each",
            bound: "the last \(number(WebLimits.events)), up to twice as many until they are dropped",
            "WebLimits.events"),
        Limit(
            "page", asks: "what keychains, picker and imports hold", pays: "a request",
            bound: """
                \(WebLimits.identities) identities of a keychain, \(WebLimits.absentItems) items that are left out, \
                \(WebLimits.imports) imports, with the number of all
                """, "WebLimits.identities, .absentItems, .imports"),
        Limit(
            "app", asks: "the user, who does not answer", pays: "a paste",
            bound: "\(time(WebLimits.question)), then no", "WebLimits.question"),
        Limit(
            "author of a recording", asks: "parsing and drawing", pays: "a file",
            bound: "\(size(WebLimits.recording)), \(number(WebLimits.recordedEvents)) events",
            "WebLimits.recording, .recordedEvents"),
    ]

    private static let web = WebLimits.server
    private static let fetches = FetchLimits()
    private static let loopback = LoopbackServer.Limits()

    /// Certificates and lists that `verify` is given.
    static let validation: [Limit] = [
        Limit(
            "author of cross-certificates", asks: "paths to be tried", pays: "a certificate each",
            bound: """
                \(paths.candidates) paths of at most \(paths.links) links, \(number(paths.steps)) steps of the \
                search, \(time(paths.time))
                """, "PathLimits"),
        Limit(
            "author of certificates and lists", asks: "parsing and memory", pays: "a file each",
            bound: """
                \(number(material.files)) files of \(size(material.fileOctets)), \
                \(number(material.certificates)) certificates, \(size(material.keptOctets)) kept
                """, "MaterialLimits"),
        Limit(
            "author of a file of certificates", asks: "each to be checked", pays: "some 300 bytes each",
            bound: "\(number(material.subjects)) in one run, refused before the first is checked",
            "MaterialLimits.subjects"),
        Limit(
            "author of revocation lists", asks: "reading of entries", pays: "some 36 bytes an entry",
            bound: "\(paths.lists) lists and \(size(paths.listOctets)) for a path",
            "PathLimits.lists, .listOctets"),
    ]

    private static let paths = PathLimits()
    private static let material = MaterialLimits()
}
