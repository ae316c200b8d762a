internal import Synchronization

/// Limits the processor time of a file's key derivations and key checks, and its share of the time for its archive.
///
/// The work that the file declares is reserved once, before any of it is done. Trying the password in another encoding
/// requires additional work, which is done only within the remaining budget. A file therefore never causes more work
/// than its limit (`PKCS12Limits.patience`).
struct WorkBudget {
    private let most: Int
    private let mostText: String
    private var share: ArchiveShare?
    /// The reserved work, in nanoseconds.
    private(set) var taken = 0

    /// Creates an unused budget.
    ///
    /// - Parameters:
    ///   - patience: The maximum processor time for the file.
    ///   - share: The file's share of its archive's budget; nil for a file outside an archive.
    init(patience: Duration, share: ArchiveShare?) {
        most = patience.nanoseconds
        mostText = patience.secondsText
        self.share = share
    }

    /// Reserves the work of a key derivation or a key check before it is done.
    ///
    /// - Parameter work: Nanoseconds, from ``DerivationWork`` or ``PrivateKey/consistencyWork``.
    /// - Throws: `refused` if the file or the archive requires more than is left.
    mutating func take(_ work: Int) throws(PKCS12Error) {
        guard work <= most - taken else {
            throw .refused(
                .work,
                reason:
                    "refused: key derivations and checks of keys require more than \(mostText) s of processor time"
            )
        }
        guard share?.take(work) != false else { throw ArchiveShare.refusal }
        taken += work
    }

    /// Returns reserved work that was not needed. In the archive's budget, it remains reserved for this file.
    mutating func giveBack(_ work: Int) {
        taken -= work
        share?.giveBack(work)
    }
}

/// The total work that the files of an archive may cause. Several threads may use it concurrently.
package final class ArchiveBudget: Sendable {
    private let left: Mutex<Int>

    /// Creates an unused budget.
    ///
    /// - Parameter patience: The maximum processor time for the archive.
    package init(patience: Duration) {
        left = Mutex(patience.nanoseconds)
    }

    /// Reserves the work that a file of the archive declares, as far as the file shows it without a password.
    ///
    /// Call this for all files of an archive in order, before opening any of them. The choice of rejected files then
    /// does not depend on the scheduling of threads.
    ///
    /// - Parameters:
    ///   - bytes: The file.
    ///   - limits: The limits with which the file is read later.
    /// - Throws: `refused` if the file requires more work than remains in the archive's budget.
    package func share(for bytes: [UInt8], limits: PKCS12Limits) throws(PKCS12Error) -> ArchiveShare {
        let work = PKCS12Reader.visibleWork(bytes, limits: limits)
        guard take(work) else { throw ArchiveShare.refusal }
        return ArchiveShare(archive: self, reserved: work)
    }

    fileprivate func take(_ work: Int) -> Bool {
        left.withLock { left in
            guard work <= left else { return false }
            left -= work
            return true
        }
    }
}

/// One file's share of its archive's budget.
package struct ArchiveShare: Sendable {
    fileprivate let archive: ArchiveBudget
    /// The work that is reserved for the file and not yet drawn, in nanoseconds.
    fileprivate var reserved: Int

    /// Draws work from the file's reservation, and any excess from the rest of the archive's budget. Returns false,
    /// without drawing anything, if the archive's budget is too small.
    fileprivate mutating func take(_ work: Int) -> Bool {
        let own = min(work, reserved)
        guard archive.take(work - own) else { return false }
        reserved -= own
        return true
    }

    /// Adds work that was drawn but not done to the file's reservation.
    fileprivate mutating func giveBack(_ work: Int) { reserved += work }

    fileprivate static let refusal = PKCS12Error.refused(
        .work, reason: "refused: the files of the archive require too much work in total")
}

extension Duration {
    /// The time in nanoseconds, or the maximum integer if it is too large.
    var nanoseconds: Int {
        let (seconds, attoseconds) = components
        let (product, isTooLarge) = Int(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return isTooLarge ? .max : product + Int(attoseconds / 1_000_000_000)
    }

    /// The time in seconds with at most one decimal, such as `2` or `0.5`.
    var secondsText: String {
        let tenths = nanoseconds / 100_000_000
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
