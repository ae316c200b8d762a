/// What a server grants its peers: times, counts and sizes. Each has its reason in <doc:Protocol>.
package struct ServerLimits: Sendable {
    /// From the accept to the end of the hello.
    package var hello: Duration = .seconds(2)
    /// From a frame's first byte to its last.
    package var frame: Duration = .seconds(5)
    /// Without a request outstanding.
    package var idle: Duration = .seconds(60)
    /// With bytes waiting that the peer does not take.
    package var stalled: Duration = .seconds(5)
    /// What a shutdown gives the requests that are being answered.
    package var drain: Duration = .seconds(5)

    /// Connections in all; the process's descriptor limit may make it fewer.
    package var connections = 4_096
    /// Connections of one process.
    package var connectionsPerPeer = 1_024
    /// Requests of one connection that are being worked on; no more is read until one is answered.
    package var outstandingRequests = 16
    /// Bytes of one connection that wait to be sent; beyond it nothing more is read or answered.
    package var unsentBytes = 65_536
    /// Items of one connection that are granted at a time.
    package var grants = 64
    /// Bytes of content that one connection holds for its reads.
    package var snapshotBytes = 128 << 20
    /// Bytes of content that all connections hold.
    package var totalSnapshotBytes = 512 << 20
    /// Items in one page; fewer where they do not fit a frame.
    package var pageItems = 256

    /// The limits of a provider in everyday use.
    package init() {}
}
