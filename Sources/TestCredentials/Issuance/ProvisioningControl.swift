internal import Synchronization

/// Connects a long run with the command that started it: the command can stop the run, and the run counts the
/// identities that are stored, also if it fails later.
package final class ProvisioningControl: Sendable {
    private let count = Atomic<Int>(0)
    private let stopping: @Sendable () -> Bool

    /// Creates the control of one run or several consecutive ones.
    ///
    /// - Parameter isStopped: Returns whether to start no further identity. Those in progress are finished and stored.
    package init(isStopped: @escaping @Sendable () -> Bool = { false }) {
        stopping = isStopped
    }

    /// Whether no further identity is started.
    var isStopped: Bool { stopping() }

    /// The number of identities that were stored so far.
    package var stored: Int { count.load(ordering: .acquiring) }

    /// Counts stored identities.
    func addStored(_ number: Int) { count.add(number, ordering: .acquiringAndReleasing) }
}
