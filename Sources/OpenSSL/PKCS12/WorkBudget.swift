internal import Synchronization

/// The work that one file asks for, and that is done for it, against the file's patience and its archive's.
///
/// What the file declares is counted once, before it is done. Trying the password in a further encoding is our choice,
/// not the file's, and is done only where it fits beside everything that was declared. So no file causes more work than
/// its patience.
struct WorkBudget {
    private let most: Int
    private let mostText: String
    private var share: ArchiveShare?
    /// The work that was taken, in nanoseconds.
    private(set) var taken = 0

    /// A budget of which nothing is taken.
    ///
    /// - Parameters:
    ///   - patience: The most processor time for the file.
    ///   - share: What the file has of its archive's budget; nil for a file outside of an archive.
    init(patience: Duration, share: ArchiveShare?) {
        most = patience.nanoseconds
        mostText = patience.secondsText
        self.share = share
    }

    /// Takes the work of a derivation before it is done: one that the file asks for, or one for a further form of the
    /// password.
    ///
    /// - Parameter work: Nanoseconds, of ``DerivationWork``.
    /// - Throws: `refused` where the file or the archive asks for more than there is.
    mutating func take(_ work: Int) throws(PKCS12Error) {
        guard work <= most - taken else {
            throw .refused(
                .work,
                reason: "refused: the file's key derivations take more than \(mostText) s of processor time")
        }
        guard share?.take(work) != false else { throw ArchiveShare.refusal }
        taken += work
    }
}

/// The work that all files of an archive may cause together. Several threads may take from it at once.
package final class ArchiveBudget: Sendable {
    private let left: Mutex<Int>

    /// A budget of which nothing is taken.
    ///
    /// - Parameter patience: The most processor time for the archive.
    package init(patience: Duration) {
        left = Mutex(patience.nanoseconds)
    }

    /// Sets aside the work that a file of the archive asks for as far as that shows without a password.
    ///
    /// The files of an archive are asked in their order and before any is opened, so that it does not depend on the
    /// threads which of them are refused.
    ///
    /// - Parameters:
    ///   - bytes: The file.
    ///   - limits: The bounds under which the file is read later.
    /// - Throws: `refused` where the archive's files ask for more work than there is.
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

/// What one file has of its archive's budget.
package struct ArchiveShare: Sendable {
    fileprivate let archive: ArchiveBudget
    /// The work that was set aside for the file and is not done yet.
    fileprivate var reserved: Int

    /// Takes work out of what was set aside, and what exceeds that out of what the archive has left.
    fileprivate mutating func take(_ work: Int) -> Bool {
        let own = min(work, reserved)
        guard archive.take(work - own) else { return false }
        reserved -= own
        return true
    }

    fileprivate static let refusal = PKCS12Error.refused(
        .work, reason: "refused: the files of the archive ask for too much work in all")
}

extension Duration {
    /// The time in nanoseconds; the greatest number where there are more.
    fileprivate var nanoseconds: Int {
        let (seconds, attoseconds) = components
        let (product, isTooLarge) = Int(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return isTooLarge ? .max : product + Int(attoseconds / 1_000_000_000)
    }

    /// The time in seconds with at most one decimal, such as `2` or `0.5`.
    fileprivate var secondsText: String {
        let tenths = nanoseconds / 100_000_000
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
