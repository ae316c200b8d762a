package import Foundation

/// Several roads as one: the first in the order of preference that is open.
package struct RoadManager: Road {
    /// What the road is called.
    package let name = "manager"
    private let roads: [any Road]

    /// A road over `roads`, the best first.
    package init(_ roads: [any Road]) {
        self.roads = roads
    }

    /// Takes the first road that is open; what an earlier credential left on the others goes.
    ///
    /// - Throws: `RoadError`: `.noRoad` when none is open, with the last road's error as its cause; that of a
    ///   road on which an earlier credential stays. The new one is on none then.
    package func send(_ credential: Credential, now: Date) async throws(RoadError) {
        _ = try await sendNamingRoad(credential, now: now)
    }

    /// The same.
    ///
    /// - Throws: `RoadError`, as above.
    /// - Returns: the name of the road that was taken.
    package func sendNamingRoad(
        _ credential: Credential, now: Date
    ) async throws(RoadError) -> String {
        var last: RoadError?
        for (index, road) in roads.enumerated() {
            do throws(RoadError) {
                try await road.send(credential, now: now)
            } catch {
                last = error
                continue
            }
            // Else a receiver could find an older one on a better road, or a worse one later.
            do throws(RoadError) {
                try await remove(except: index)
            } catch {
                try? await road.remove()
                throw error
            }
            return road.name
        }
        throw RoadError(
            .noRoad, "none of \(roads.count) roads is open: \(last?.reason ?? "there is none")",
            hint: last?.hint, cause: last)
    }

    /// Looks on each road, the best first. When none gives anything, the first that holds something and does
    /// not give it says why.
    ///
    /// - Throws: `RoadError`: `.noRoad` when `app` has no way to any of them.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) async throws(RoadError) -> Credential? {
        var trouble: RoadError?
        var closed: RoadError?
        var isAnyOpen = false
        for road in roads {
            do throws(RoadError) {
                if let credential = try await road.receive(by: app, now: now, consent: consent) {
                    return credential
                }
                isAnyOpen = true
            } catch {
                switch error.code {
                case .missingEntitlement, .notPaired, .notPermitted: closed = closed ?? error
                default: trouble = trouble ?? error
                }
            }
        }
        if let trouble { throw trouble }
        if isAnyOpen { return nil }
        throw RoadError(
            .noRoad, "none of \(roads.count) roads is open: \(closed?.reason ?? "there is none")",
            hint: closed?.hint, cause: closed)
    }

    /// Takes it from every road that is open.
    ///
    /// - Throws: `RoadError`: the first road's that does not give it up; the others were tried all the same.
    package func remove() async throws(RoadError) {
        try await remove(except: nil)
    }

    private func remove(except kept: Int?) async throws(RoadError) {
        var first: RoadError?
        for (index, road) in roads.enumerated() where index != kept {
            do throws(RoadError) {
                try await road.remove()
            } catch {
                // What it could not be sent on holds nothing of this sender's.
                if error.code != .missingEntitlement { first = first ?? error }
            }
        }
        if let first { throw first }
    }

    /// Ends what runs for any of them.
    package func stop() async {
        for road in roads { await road.stop() }
    }
}
