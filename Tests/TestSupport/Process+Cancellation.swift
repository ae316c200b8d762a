internal import Foundation

extension Process {
    /// Ends a process that still runs because the test was cancelled, for example at its time limit. Foundation stops the
    /// test runner if the status of a running process is read.
    ///
    /// - Throws: `CancellationError` if the process was running.
    func endIfCancelled() throws {
        guard Task.isCancelled, isRunning else { return }
        terminate()
        throw CancellationError()
    }
}
