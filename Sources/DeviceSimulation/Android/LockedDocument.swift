internal import PrivateFiles
private import Foundation

/// A JSON file of the device that several processes read and change. Each change is made under a lock.
struct LockedDocument<Value: Codable & Sendable>: Sendable {
    /// The path of the file, which may be missing.
    let path: String
    /// The maximum size of the file, in bytes.
    let limit: Int
    /// The value if the file is missing.
    let initial: Value

    /// Reads the value.
    ///
    /// - Throws: `FileError`: `.damagedFile` if the file has invalid contents, or another failure of the file.
    func read() throws(FileError) -> Value {
        guard let bytes = try PrivateFile.open(path)?.read(atMost: limit) else { return initial }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        guard let value = try? decoder.decode(Value.self, from: Data(bytes)) else {
            throw FileError(.damagedFile, path: path, "\(path) is damaged or was altered")
        }
        return value
    }

    /// Changes the value, unless `body` throws.
    ///
    /// - Throws: `FileError` if the file cannot be read or written; the errors of `body`.
    func change<Result>(_ body: (inout Value) throws(FileError) -> Result) throws(FileError) -> Result {
        let changing = try FileLock.acquire(path + ".lock")
        defer { changing.release() }
        var value = try read()
        let result = try body(&value)
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        encoder.outputFormatting = [.sortedKeys]
        guard let bytes = try? encoder.encode(value), bytes.count <= limit else {
            throw FileError(.damagedFile, path: path, "\(path) would have more than \(limit) bytes")
        }
        try AtomicFile.write(Array(bytes), to: path)
        return result
    }
}
