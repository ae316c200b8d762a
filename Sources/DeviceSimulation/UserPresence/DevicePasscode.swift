package import PrivateFiles
package import SecretMemory

/// The passcode that the user types, as far as programs ask for it: the token's PIN.
///
/// A new device has the passcode ``DevicePasscode/initial``. It stands in a file of the device, like everything that the
/// device keeps: it holds off clients, and not the user, to whom the files belong. The number of wrong tries stands in
/// another file, so that starting a provider again gives no more tries.
package struct DevicePasscode: Sendable {
    /// What came of a try.
    package enum Outcome: Sendable, Hashable {
        /// The passcode was right, and all tries are there again.
        case right
        /// The passcode was wrong; so many tries are left.
        case wrong(triesLeft: Int)
        /// No try was left, and the passcode was not looked at.
        case locked
    }

    /// The passcode of a device for which none was set.
    package static let initial = "123456"
    /// The lengths that a passcode may have, in bytes.
    package static let lengths = 4...64
    /// How many wrong tries there may be in a row.
    package static let mostTries = 3

    private let device: Device

    /// The passcode of `device`.
    package init(_ device: Device) {
        self.device = device
    }

    /// How many wrong tries may follow.
    ///
    /// - Throws: `FileError` where the file cannot be read, or holds something else.
    package func triesLeft() throws(FileError) -> Int {
        let path = device.passcodeTriesPath
        guard let bytes = try PrivateFile.open(path)?.read(atMost: 8) else { return Self.mostTries }
        guard bytes.count == 2, bytes[1] == UInt8(ascii: "\n"),
            let tries = Int(String(decoding: bytes[..<1], as: UTF8.self)), tries <= Self.mostTries
        else { throw FileError(.damagedFile, path: path, "\(path) holds no number of tries") }
        return tries
    }

    /// Sets another passcode; all tries are there again.
    ///
    /// - Parameter passcode: as long as `lengths` says, which the caller has checked.
    /// - Throws: `FileError` where the files cannot be written.
    package func set(_ passcode: SecretBytes) throws(FileError) {
        try changing { () throws(FileError) in
            try AtomicFile.write(passcode, to: device.passcodePath)
            try keep(Self.mostTries)
        }
    }

    /// Gives all tries back.
    ///
    /// - Throws: `FileError` where the file cannot be written.
    package func resetTries() throws(FileError) {
        try changing { () throws(FileError) in try keep(Self.mostTries) }
    }

    /// Goes back to the passcode of a new device.
    ///
    /// - Throws: `FileError` where the files cannot be removed.
    func forget() throws(FileError) {
        try changing { () throws(FileError) in
            for path in [device.passcodePath, device.passcodeTriesPath]
            where try PrivateFile.sizeWithoutOpening(path) != nil {
                try AtomicFile.remove(path)
            }
        }
    }

    /// Compares a passcode.
    ///
    /// - Parameters:
    ///   - passcode: what somebody typed.
    ///   - counting: whether a wrong one costs a try. Without counting, it is compared even where no try is left.
    /// - Throws: `FileError` where the files cannot be read or written.
    package func check(_ passcode: SecretBytes, counting: Bool) throws(FileError) -> Outcome {
        var outcome = Outcome.locked
        try changing { () throws(FileError) in
            let left = try triesLeft()
            guard left > 0 || !counting else { return }
            guard try current() != passcode else {
                outcome = .right
                if counting, left < Self.mostTries { try keep(Self.mostTries) }
                return
            }
            outcome = .wrong(triesLeft: counting ? left - 1 : left)
            if counting { try keep(left - 1) }
        }
        return outcome
    }

    private func current() throws(FileError) -> SecretBytes {
        let file = try PrivateFile.open(device.passcodePath)
        return try file?.readSecret(atMost: Self.lengths.upperBound) ?? SecretBytes(utf8: Self.initial)
    }

    private func keep(_ tries: Int) throws(FileError) {
        try AtomicFile.write(Array("\(tries)\n".utf8), to: device.passcodeTriesPath)
    }

    private func changing(_ body: () throws(FileError) -> Void) throws(FileError) {
        let changing = try FileLock.acquire(device.passcodePath + ".lock")
        defer { changing.release() }
        try body()
    }
}
