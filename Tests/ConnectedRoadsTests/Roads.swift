import ConnectedRoads
import DeviceSimulation
import OpenSSL
import TestSupport
import Testing

/// Every road must do the same; the manager over all of them is one more.
let roads: [RoadCandidate] = {
    let single = ConnectedRoads.candidates(runtimeDirectory: nil)
    let manager = RoadCandidate(
        "manager", prepare: { ends in for road in single { try road.prepare(ends) } },
        make: { ends in RoadManager(try single.map { try $0.make(ends) }) })
    return single + [manager]
}()

extension RoadCandidate: CustomTestStringConvertible {
    package var testDescription: String { name }

    /// Gives `body` the road between `ends`, and ends what runs for it.
    func use(between ends: RoadEnds, _ body: (any Road) async throws -> Void) async throws {
        try prepare(ends)
        let road = try make(ends)
        do {
            try await body(road)
        } catch {
            await road.stop()
            throw error
        }
        await road.stop()
    }
}
