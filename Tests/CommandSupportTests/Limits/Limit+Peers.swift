import DeviceSimulation
import Foundation
import KeyShareClient
import KeyShareProtocol
import KeyShareProvider
import KeyShareServer
import KeyShareWire
import KeySharing
import LocalSockets
import LoopbackHTTP
import PathValidation
import TokenClient
import WebView

@testable import OpenSSL

extension Limit {
    private static let server = ProviderServer.Limits()
    private static let client = ProviderClient.Limits()
    private static let token = TokenExtension.Behaviour()

    /// The limits on peers of the provider's socket, which are processes of the user.
    static let peers: [Limit] = [
        Limit(
            "peer", asks: "a descriptor, held by a connection that sends no hello", pays: "a descriptor",
            bound: """
                \(time(server.hello)); at the limit of connections, a new one replaces the oldest of these; a \
                connection that its peer has closed is closed before any work is done for it
                """, "ProviderServer.Limits.hello, Acceptor"),
        Limit(
            "peer that connects and disconnects repeatedly", asks: "accepting connections",
            pays: "a connection each",
            bound: """
                \(AcceptQueue.long) waiting connections, or \(AcceptQueue.short) while most peers disconnect early; \
                a separate thread closes abandoned connections; at most \(Acceptor.maximumPending) connections wait \
                for the event loop
                """, "AcceptQueue.long, .short, Acceptor.maximumPending"),
        Limit(
            "peer", asks: "a descriptor, held by a slow or idle connection", pays: "a descriptor",
            bound: "\(time(server.frame)) for a frame, \(time(server.idle)) without a request",
            "ProviderServer.Limits.frame, .idle"),
        Limit(
            "peer", asks: "connections", pays: "one descriptor each",
            bound: """
                \(number(server.connections)) in total, \(number(server.connectionsPerPeer)) per process
                """, "ProviderServer.Limits.connections, .connectionsPerPeer"),
        Limit(
            "peer", asks: "memory for a frame", pays: "the four bytes of its length",
            bound: """
                \(size(Wire.requestLimit)) per request, or \(size(Wire.longRequestLimit)) in version 2 with tokens; \
                rejected before memory is allocated
                """, "Wire.requestLimit, .longRequestLimit"),
        Limit(
            "peer", asks: "memory for unread replies", pays: "a request each",
            bound: """
                \(size(server.unsentBytes)) and \(server.outstandingRequests) requests per connection, \
                \(size(server.totalUnsentBytes)) in total; replies wait for at most \(time(server.stalled))
                """, "ProviderServer.Limits.unsentBytes, .outstandingRequests, .totalUnsentBytes, .stalled"),
        Limit(
            "peer", asks: "lookups", pays: "a request each",
            bound: """
                \(server.lookups.underWayPerProcess) per process at a time; running and waiting: \
                \(number(server.lookups.perProcess)) per process, \(number(server.lookups.total)) in total; processes \
                take turns
                """, "ProviderServer.Limits.lookups"),
        Limit(
            "peer", asks: "exports of files, archives and legacy lists", pays: "a request each",
            bound: """
                \(server.exports.underWayPerProcess) per process at a time; running and waiting: \
                \(number(server.exports.perProcess)) per process, \(number(server.exports.total)) and an estimated \
                \(size(server.exports.bytes)) in total; identical requests share one export; exports of a \
                disconnected peer are dropped
                """, "ProviderServer.Limits.exports"),
        Limit(
            "peer", asks: "memory for legacy listings of the peer's types", pays: "a request each",
            bound: """
                \(LegacyListings.mostListings) cached listings, \(number(LegacyListings.mostRows)) rows in total; \
                dropped when the identities change
                """, "LegacyListings.mostListings, .mostRows"),
        Limit(
            "peer", asks: "opening keys, which prompts the user", pays: "a request each",
            bound: """
                \(server.keyOpenings.perProcess) per process, \(number(server.keyOpenings.total)) in total, \
                \(size(server.keyOpenings.bytes)) of data; cancelled if the peer disconnects
                """, "ProviderServer.Limits.keyOpenings"),
        Limit(
            "peer", asks: "computing with an open key", pays: "a request each",
            bound: """
                \(server.keyUses.underWayPerProcess) per process at a time; running and waiting: \
                \(number(server.keyUses.perProcess)) per process, \(number(server.keyUses.total)) in total, \
                \(size(server.keyUses.bytes)) of data; processes take turns
                """, "ProviderServer.Limits.keyUses"),
        Limit(
            "peer", asks: "signing messages in parts", pays: "a request each",
            bound: "\(server.messages) unfinished messages per connection; only their digests are kept",
            "ProviderServer.Limits.messages"
        ),
        Limit(
            "peer", asks: "a key use with long data", pays: "the same number of bytes",
            bound: "\(size(Wire.useDataLimit)) per request or part; only data to be signed can have parts",
            "Wire.useDataLimit"),
        Limit(
            "peer", asks: "the user's attention", pays: "a request each",
            bound: """
                \(time(token.presenceTimeout)) for an answer (`--presence-timeout`); an open key causes no prompt for \
                \(time(token.cacheLifetime)) (`--presence-cache`)
                """, "TokenExtension.Behaviour.presenceTimeout, .cacheLifetime"),
        Limit(
            "peer", asks: "memory for a query of aliases or a choice", pays: "a request each",
            bound: """
                \(number(Wire.aliasTextLimit)) bytes for a text; \(number(Wire.aliasListLimit)) columns, key types or \
                issuers; \(number(Wire.issuerLimit)) bytes for an issuer
                """, "Wire.aliasTextLimit, .aliasListLimit, .issuerLimit"),
        Limit(
            "peer that invents names of apps",
            asks: "space in the device's file of permissions and key grants",
            pays: "a request each, and the user's consent",
            bound: """
                \(number(AliasAccess.mostApps)) apps; at the limit, the user is asked again about an app without key \
                grants; \(number(AliasAccess.mostGrants)) key grants in total
                """, "AliasAccess.mostApps, .mostGrants"),
        Limit(
            "peer", asks: "a dialog on the Android phone", pays: "a request each",
            bound: """
                \(UserPresence.mostDialogs) pending dialogs; further ones count as cancelled by the user; \
                \(number(AndroidDialog.mostOffered)) aliases in each
                """, "UserPresence.mostDialogs, AndroidDialog.mostOffered"),
        Limit(
            "sender of broadcasts", asks: "space in the device's log of broadcasts", pays: "a command each",
            bound: "the latest \(number(Broadcasts.kept))", "Broadcasts.kept"),
        Limit(
            "author of an installed certificate", asks: "space in the list of aliases", pays: "a certificate",
            bound:
                "\(number(AliasContentProvider.longestCertificate)) bytes; longer certificates are omitted from queries",
            "AliasContentProvider.longestCertificate"),
        Limit(
            "author of a registered certificate", asks: "space in the list of tokens",
            pays: "a certificate",
            bound:
                "\(number(TokenExtension.longestCertificate)) bytes; longer certificates are omitted from the list",
            "TokenExtension.longestCertificate"),
        Limit(
            "peer", asks: "keeping content", pays: "a grant and a read",
            bound: """
                \(server.grants) grants and \(size(server.snapshotBytes)) per connection, \
                \(size(server.totalSnapshotBytes)) in total; then content of the process that holds the most is evicted
                """, "ProviderServer.Limits.grants, .snapshotBytes, .totalSnapshotBytes"),
        Limit(
            "peer of this user", asks: "events about other clients\u{2019} requests", pays: "a connection",
            bound: """
                \(server.subscribers) connections; the latest \(number(server.events)) events are kept for slow \
                connections, which receive the number of lost events; a request waits for at most \
                \(time(server.eventWait))
                """, "ProviderServer.Limits.subscribers, .events, .eventWait"),
        Limit(
            "peer", asks: "comparing identifiers", pays: "the same number of bytes",
            bound: "\(Wire.identifierLimit) bytes, compared byte by byte", "Wire.identifierLimit"),
        Limit(
            "peer, when the provider stops", asks: "answers to outstanding requests",
            pays: "a request each",
            bound: "\(time(server.drain)); then \(time(server.step)) for running steps",
            "ProviderServer.Limits.drain, .step"),
    ]

    /// The limits of clients: of the consumer with a malicious provider, and of commands with other servers.
    static let servers: [Limit] = [
        Limit(
            "hostile provider", asks: "waiting time", pays: "a connection",
            bound: "\(time(client.hello)) for the hello, \(time(client.reply)) for a reply, "
                + "\(time(client.use)) for a key use, \(time(client.whole)) for a whole list or item",
            "ProviderClient.Limits.hello, .reply, .use, .whole"),
        Limit(
            "hostile provider", asks: "memory for endless pages", pays: "a page each",
            bound: """
                \(number(client.listedEntries)) entries, \(size(client.listedBytes)); the root and its folders \
                together: \(client.allLists) times as much, \(client.folders) folders
                """, "ProviderClient.Limits.listedEntries, .listedBytes, .allLists, .folders"),
        Limit(
            "hostile provider", asks: "memory of a program that loads the PKCS #11 module",
            pays: "a page each",
            bound: """
                \(number(TokenClient.mostIdentities)) identities, \(size(TokenClient.listedBytes)); the length \
                of a result is determined by its key and mechanism
                """, "TokenClient.mostIdentities, .listedBytes"),
        Limit(
            "hostile provider", asks: "memory for content", pays: "a chunk each",
            bound: size(client.contentSize),
            "ProviderClient.Limits.contentSize"),
        Limit(
            "author of a certificate whose URLs are fetched (`--fetch`)",
            asks: "requests, waiting time, memory",
            pays: "one URL each",
            bound: """
                \(fetches.requests) requests, \(time(fetches.time)), \(size(fetches.octets)) in total; \
                \(size(FetchClient.Limits().responseBytes)), \(time(FetchClient.Limits().time)) and \
                \(FetchClient.Limits().redirections) redirects per request
                """, "FetchLimits, FetchClient.Limits"),
        Limit(
            "client of a loopback server", asks: "connections and responses", pays: "one descriptor each",
            bound: """
                \(loopback.connections) connections, \(loopback.answersAtOnce) concurrent responses, \
                \(size(loopback.requestBytes)) and \(time(loopback.time)) per request
                """, "LoopbackServer.Limits"),
    ]

    /// The limits of a device's web page, which other programs of the user can open, and of the recordings that it
    /// replays.
    static let page: [Limit] = [
        Limit(
            "another user of the machine", asks: "anything", pays: "a connection",
            bound: """
                a separate thread resets the connection when it is accepted, without sending a byte; 4,096 connections \
                wait to be accepted
                """,
            "LoopbackServer.Limits.isForOwnUserOnly"),
        Limit(
            "program of the user without the secret in the address", asks: "the page, or a change through it",
            pays: "a request",
            bound: "403, before the request is handled", "WebAccess.judge"),
        Limit(
            "page", asks: "connections, event streams and responses", pays: "one descriptor each",
            bound: """
                \(web.connections) connections, then the oldest is closed; \(web.answersAtOnce) concurrent responses, \
                \(size(web.requestBytes)) and \(time(web.time)) per request; sessions end with the process
                """, "WebLimits.server"),
        Limit(
            "page that does not read", asks: "memory for events", pays: "a connection",
            bound: """
                \(number(WebLimits.waitingMessages)) waiting messages, then the oldest are dropped and counted; \
                \(time(web.stalled)) for sending one
                """, "WebLimits.waitingMessages, LoopbackServer.Limits.stalled"),
        Limit(
            "source of events", asks: "memory for pages that open later", pays: "a request each",
            bound:
                "the latest \(number(WebLimits.events)); the oldest are dropped when there are more than twice as many",
            "WebLimits.events"),
        Limit(
            "page", asks: "contents of keychains, picker and imports", pays: "a request",
            bound: """
                \(WebLimits.identities) identities per keychain, \(WebLimits.absentItems) absent items, \
                \(WebLimits.imports) imports; the total number is shown
                """, "WebLimits.identities, .absentItems, .imports"),
        Limit(
            "page", asks: "requests of the Android app", pays: "a request",
            bound: """
                \(WebLimits.pendingAliasRequests) pending, \(WebLimits.aliasRequests) kept with \
                \(WebLimits.shownRows) rows each; \(WebLimits.aliasTexts) texts of \
                \(AliasNaming.longestAlias) bytes in a request
                """,
            "WebLimits.pendingAliasRequests, .aliasRequests, .shownRows, .aliasTexts"),
        Limit(
            "app", asks: "the user's answer", pays: "a paste",
            bound: "\(time(WebLimits.question)), then the answer is no", "WebLimits.question"),
        Limit(
            "author of a recording", asks: "parsing and drawing", pays: "a file",
            bound: "\(size(WebLimits.recording)), \(number(WebLimits.recordedEvents)) events",
            "WebLimits.recording, .recordedEvents"),
    ]

    private static let web = WebLimits.server
    private static let fetches = FetchLimits()
    private static let loopback = LoopbackServer.Limits()

    /// The limits on the input files of `verify`.
    static let validation: [Limit] = [
        Limit(
            "author of cross-certificates", asks: "path search", pays: "one certificate each",
            bound: """
                \(paths.candidates) paths of at most \(paths.links) links, \(number(paths.steps)) steps of the \
                search, \(time(paths.time)); \(time(paths.totalTime)) for all signers of a message, or all \
                identities of a run; each identity adds \(time(paths.identityTime))
                """, "PathLimits"),
        Limit(
            "author of certificates", asks: "comparing names with name constraints",
            pays: "about ten bytes for each name or subtree",
            bound: """
                \(number(CertificateVerifier.mostNameComparisons)) comparisons per path; long names count several times
                """, "CertificateVerifier.mostNameComparisons"),
        Limit(
            "author of a certificate", asks: "preparing directory names for name constraints",
            pays: "two bytes for each character outside ASCII",
            bound: """
                \(number(PreparedName.mostCharacters)) such characters per certificate; further values equal every other one
                """, "PreparedName.mostCharacters"),
        Limit(
            "author of a certificate", asks: "computing the valid policies",
            pays: "about eight bytes for each policy or mapping",
            bound: "\(number(CertificateVerifier.mostPolicies)) of each", "CertificateVerifier.mostPolicies"),
        Limit(
            "author of a certificate", asks: "verifying signatures with a long RSA exponent",
            pays: "a certificate of 1 KB", bound: "256 bits (FIPS 186-5, A.1.1)", "KeyLoadingPolicy"),
        Limit(
            "author of a certificate", asks: "verifying signatures with a large DSA key",
            pays: "a certificate of 4 KB", bound: "3,072 bits (FIPS 186-4, 4.2)", "KeyLoadingPolicy"),
        Limit(
            "author of a certificate or a revocation list", asks: "comparing distribution points",
            pays: "about 15 bytes each",
            bound: "\(DistributionPoint.mostNames) points, and \(DistributionPoint.mostNames) names in them",
            "DistributionPoint.mostNames"),
        Limit(
            "author of a revocation list", asks: "comparing the issuers of entries",
            pays: "about 15 bytes each, and about 20 bytes for each entry that inherits them",
            bound: "\(EncodedRevocationList.mostEntryIssuers) for each entry",
            "EncodedRevocationList.mostEntryIssuers"),
        Limit(
            "author of a revocation list",
            asks: "comparing a certificate with all entries of its serial number in an indirect list",
            pays: "about 20 bytes each",
            bound: "\(EncodedRevocationList.mostEqualSerialNumbers) entries with the same serial number",
            "EncodedRevocationList.mostEqualSerialNumbers"),
        Limit(
            "author of a certificate", asks: "reading URLs of responders and of the issuer's certificates",
            pays: "about 20 bytes each",
            bound: "the first \(Certificate.mostAccessLocations) of each kind",
            "Certificate.mostAccessLocations"),
        Limit(
            "author of certificates and lists", asks: "parsing and memory", pays: "one file each",
            bound: """
                \(number(material.files)) files of at most \(size(material.fileOctets)), \
                \(number(material.certificates)) certificates, \(size(material.keptOctets)) kept in memory
                """, "MaterialLimits"),
        Limit(
            "author of a file of certificates", asks: "checking each of them", pays: "about 300 bytes each",
            bound: "\(number(material.subjects)) per run, rejected before the first one is checked",
            "MaterialLimits.subjects"),
        Limit(
            "author of revocation lists", asks: "reading entries", pays: "about 36 bytes per entry",
            bound: "\(paths.lists) lists and \(size(paths.listOctets)) per path",
            "PathLimits.lists, .listOctets"),
    ]

    private static let paths = PathLimits()
    private static let material = MaterialLimits()
}
