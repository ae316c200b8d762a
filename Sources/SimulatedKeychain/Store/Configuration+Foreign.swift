internal import GRDB
private import GRDBSQLite
private import Glibc
private import Synchronization

/// The limits for reading an untrusted database, such as a backup or another device's keychain.
package enum ForeignDatabaseLimits {
    /// The maximum size of one row and of one value, in bytes. An item has six parts of at most 1 MiB each.
    package static let rowSize = 16 << 20
    /// The maximum memory of SQLite in this process, in bytes (`PRAGMA hard_heap_limit`).
    package static let memory = 512 << 20
    /// The maximum number of tables and indexes; a keychain has fewer.
    package static let objects = 64
    /// The maximum length of a table's or an index's name, in bytes. Comparing long strings can take quadratic time.
    package static let nameLength = 64
    /// The maximum length of the statement that creates a table or an index, in bytes.
    package static let statementLength = 4_096
    /// The maximum number of steps of SQLite's virtual machine for each byte of the file. A valid file needs fewer than
    /// two: a row of 600 bytes is read four times, with a few dozen steps each time.
    package static let stepsPerByte = 8
    /// The number of steps that are allowed for a file of any size.
    package static let leastSteps = 10_000_000
}

extension Configuration {
    /// Settings for reading an untrusted database at `path`: those of ``hardened(label:readonly:)`` and
    /// ``ForeignDatabaseLimits``.
    ///
    /// The file's author controls more than the rows: reading a view instead of a table, or a cyclic tree of pages,
    /// could continue forever. The limit on steps ends the reading in every case.
    static func foreign(label: String, path: String) -> Configuration {
        var configuration = hardened(label: label, readonly: true)
        let budget = StepBudget(fileSize: size(path) + size(path + "-wal"))
        configuration.prepareDatabase { database in
            budget.install(in: database)
            try database.execute(sql: "PRAGMA hard_heap_limit = \(ForeignDatabaseLimits.memory)")
        }
        return configuration
    }

    private static func size(_ path: String) -> Int {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}

/// The remaining steps of SQLite's virtual machine for one connection. The configuration of the connection
/// retains it.
private final class StepBudget: Sendable {
    /// The number of SQLite's steps between two calls of the handler.
    private static let interval = 10_000

    private let intervals: Atomic<Int>

    init(fileSize: Int) {
        let (steps, isTooLarge) = fileSize.multipliedReportingOverflow(by: ForeignDatabaseLimits.stepsPerByte)
        let most = isTooLarge ? Int.max : max(steps, ForeignDatabaseLimits.leastSteps)
        intervals = Atomic(most / Self.interval)
    }

    /// Starts counting the steps of a connection. A statement that exceeds the budget ends with `SQLITE_INTERRUPT`.
    ///
    /// The connection must not outlive this object, because it stores its address.
    func install(in database: Database) {
        guard let connection = unsafe database.sqliteConnection else { return }
        unsafe sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, CInt(ForeignDatabaseLimits.rowSize))
        unsafe sqlite3_progress_handler(
            connection, CInt(Self.interval),
            { context in
                guard let context = unsafe context else { return 0 }
                let budget = unsafe Unmanaged<StepBudget>.fromOpaque(context).takeUnretainedValue()
                return budget.intervals.subtract(1, ordering: .relaxed).newValue < 0 ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }
}
