package import DeviceSimulation

/// Every road there is, those that take a connection between two processes included.
package enum ConnectedRoads {
    /// The roads in the order in which an app should prefer them: first those that nobody else can read, the
    /// quicker before the slower, then those that take the user's part.
    ///
    /// - Parameter runtimeDirectory: `$XDG_RUNTIME_DIR`, where there is one: for the socket of a device whose
    ///   path is too long for an address.
    package static func candidates(runtimeDirectory: String?) -> [RoadCandidate] {
        [
            .keychain, .group, .database, .file, RoadCandidate("loopback-http") { LoopbackRoad($0) },
            RoadCandidate("key-sharing-2025") {
                try KeySharingRoad($0, runtimeDirectory: runtimeDirectory)
            },
            .pasteboard,
        ]
    }
}
