internal import Synchronization

/// Lets a command stop the run that it started, and counts the identities that the run has stored, even if the run
/// fails later.
package final class ProvisioningControl: Sendable {
    private let count = Atomic<Int>(0)
    private let stopping: @Sendable () -> Bool

    /// Creates the control of one run or of several consecutive runs.
    ///
    /// - Parameter isStopped: Returns true to stop the run. Identities in progress are finished and stored; no others
    ///   are started.
    package init(isStopped: @escaping @Sendable () -> Bool = { false }) {
        stopping = isStopped
    }

    /// Whether the run was asked to stop.
    var isStopped: Bool { stopping() }

    /// The number of identities that were stored so far.
    package var stored: Int { count.load(ordering: .acquiring) }

    /// Counts stored identities.
    func addStored(_ number: Int) { count.add(number, ordering: .acquiringAndReleasing) }
}
