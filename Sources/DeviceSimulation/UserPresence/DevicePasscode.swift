package import PrivateFiles
package import SecretMemory

/// The device's passcode for programs that ask for it: the token's PIN.
///
/// A new device has the passcode ``DevicePasscode/initial``. It is stored in a file, like all data of the device. It
/// therefore restricts only clients, and not the user who owns the files. The number of wrong attempts is in another
/// file, so that restarting a provider does not reset it.
package struct DevicePasscode: Sendable {
    /// The outcome of an attempt.
    package enum Outcome: Sendable, Hashable {
        /// The passcode was correct, and the number of attempts is reset.
        case right
        /// The passcode was wrong. The value is the number of remaining attempts.
        case wrong(triesLeft: Int)
        /// No attempt was left, and the passcode was not compared.
        case locked
    }

    /// The passcode of a device whose user has not set another one.
    package static let initial = "123456"
    /// The allowed lengths of a passcode, in bytes.
    package static let lengths = 4...64
    /// The maximum number of consecutive wrong attempts.
    package static let mostTries = 3

    private let device: Device

    /// The passcode of `device`.
    package init(_ device: Device) {
        self.device = device
    }

    /// The number of remaining wrong attempts. An attempt that is being compared is not yet used up.
    ///
    /// - Throws: `FileError` if the file cannot be read, or has invalid contents.
    package func triesLeft() throws(FileError) -> Int {
        // Reading must not create the lock on a read-only device. Without a lock, no passcode was compared yet.
        guard try PrivateFile.sizeWithoutOpening(lockPath) != nil else { return try countedTries() }
        let lock = try FileLock.acquireSharedIfFree(lockPath)
        defer { lock?.release() }
        let tries = try countedTries()
        // An attempt is counted before it is compared.
        return lock == nil ? min(tries + 1, Self.mostTries) : tries
    }

    private func countedTries() throws(FileError) -> Int {
        let path = device.passcodeTriesPath
        guard let bytes = try PrivateFile.open(path)?.read(atMost: 8) else { return Self.mostTries }
        guard bytes.count == 2, bytes[1] == UInt8(ascii: "\n"),
            let tries = Int(String(decoding: bytes[..<1], as: UTF8.self)), tries <= Self.mostTries
        else { throw FileError(.damagedFile, path: path, "\(path) contains no valid number of tries") }
        return tries
    }

    /// Replaces the passcode, resets the wrong attempts, and ends granted access, including logins.
    ///
    /// - Parameter passcode: The new passcode. The caller has checked that its length is in `lengths`.
    /// - Throws: `FileError` if the files cannot be written.
    package func set(_ passcode: SecretBytes) throws(FileError) {
        // `Device.removePasscode` acquires the two locks in the same order.
        let changingState = try device.lockState()
        defer { changingState.release() }
        try changing { () throws(FileError) in
            // Access ends before the write, so that no login with the old passcode outlives the change, even if this
            // process is killed. A simultaneous login waits for the lock, and then compares the new passcode.
            try device.endAccess()
            try AtomicFile.write(passcode, to: device.passcodePath)
            try keep(Self.mostTries)
        }
    }

    /// Resets the attempts.
    ///
    /// - Throws: `FileError` if the file cannot be written.
    package func resetTries() throws(FileError) {
        try changing { () throws(FileError) in try keep(Self.mostTries) }
    }

    /// Restores the passcode of a new device.
    ///
    /// - Throws: `FileError` if the files cannot be removed.
    func forget() throws(FileError) {
        try changing { () throws(FileError) in
            for path in [device.passcodePath, device.passcodeTriesPath]
            where try PrivateFile.sizeWithoutOpening(path) != nil {
                try AtomicFile.remove(path)
            }
        }
    }

    /// Compares a passcode. A wrong one uses up an attempt; a correct one resets the attempts.
    ///
    /// - Throws: `FileError` if the files cannot be read or written. An attempt that cannot be counted is not compared.
    package func check(_ passcode: SecretBytes) throws(FileError) -> Outcome {
        var outcome = Outcome.locked
        try changing { () throws(FileError) in
            let left = try countedTries()
            guard left > 0 else { return }
            let correct = try current()
            // The attempt is counted first. Otherwise, wrong passcodes would cost nothing on a full disk.
            try keep(left - 1)
            guard passcode == correct else {
                outcome = .wrong(triesLeft: left - 1)
                return
            }
            do throws(FileError) {
                try keep(Self.mostTries)
            } catch {
                // A correct passcode uses up no attempt, even if the attempts cannot be reset.
                try? keep(left)
                throw error
            }
            outcome = .right
        }
        return outcome
    }

    private var lockPath: String { device.passcodePath + ".lock" }

    private func current() throws(FileError) -> SecretBytes {
        let file = try PrivateFile.open(device.passcodePath)
        return try file?.readSecret(atMost: Self.lengths.upperBound) ?? SecretBytes(utf8: Self.initial)
    }

    private func keep(_ tries: Int) throws(FileError) {
        try AtomicFile.write(Array("\(tries)\n".utf8), to: device.passcodeTriesPath)
    }

    private func changing(_ body: () throws(FileError) -> Void) throws(FileError) {
        let changing = try FileLock.acquire(lockPath)
        defer { changing.release() }
        try body()
    }
}
