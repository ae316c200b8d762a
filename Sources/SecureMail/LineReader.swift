internal import CLinux
internal import Glibc
internal import PrivateFiles

/// Reads an open file line by line, with at most one chunk in memory.
struct LineReader {
    private let descriptor: CInt
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    /// Whether the next bytes to be returned begin a line.
    private(set) var isAtLineStart = true

    /// Creates a reader that starts at the beginning of an open file.
    ///
    /// - Throws: `FileError` if the file is not seekable.
    init(_ descriptor: CInt) throws(FileError) {
        self.descriptor = descriptor
        guard lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw .inputOutput("cannot read", "the message", errno: errno)
        }
    }

    /// Returns the next line, including its line feed, or nil at the end of the file. A line that is longer than a
    /// chunk is returned in pieces, and only the last piece includes the line feed.
    ///
    /// - Throws: `FileError`.
    mutating func next() throws(FileError) -> ArraySlice<UInt8>? {
        while true {
            if let end = Self.lineEnd(buffer, from: start) { return piece(to: end) }
            if isAtEnd || buffer.count - start >= OpenFile.chunk {
                return start < buffer.count ? piece(to: buffer.count) : nil
            }
            let more = try OpenFile.read(descriptor, named: "the message")
            isAtEnd = more.isEmpty
            buffer = start == buffer.count ? more : Array(buffer[start...]) + more
            start = 0
        }
    }

    /// Returns the next bytes, regardless of line boundaries. Pieces have any size; an empty piece means the end of the
    /// file.
    ///
    /// - Throws: `FileError`.
    mutating func rest() throws(FileError) -> ArraySlice<UInt8> {
        if start < buffer.count { return piece(to: buffer.count) }
        return try OpenFile.read(descriptor, named: "the message")[...]
    }

    /// Returns the next complete lines that do not contain a pattern, as many as are in memory. Nil if the first of them
    /// contains the pattern or is not completely in memory.
    ///
    /// Reading a file with millions of short lines in this way takes a fraction of the time.
    mutating func lines(without pattern: [UInt8]) -> ArraySlice<UInt8>? {
        guard isAtLineStart else { return nil }
        var end = buffer.count
        repeat {
            end = (buffer[start..<end].lastIndex(of: 0x0A) ?? start - 1) + 1
            if end == start { return nil }
            if !buffer[start..<end].contains(bytes: pattern) { return piece(to: end) }
            end = start + (end - start) / 2
        } while true
    }

    /// Returns the next complete lines that do not begin with a prefix, as many as are in memory. Nil if the first of them
    /// begins with the prefix or is not completely in memory.
    mutating func lines(beforeLineWith prefix: [UInt8]) -> ArraySlice<UInt8>? {
        buffer[start...].starts(with: prefix) ? nil : lines(without: [0x0A] + prefix)
    }

    /// Calls a function with a copy of the reader. The next bytes to be returned remain the same, also for other readers
    /// of the file.
    func peek<Result>(_ body: (inout LineReader) throws -> Result) rethrows -> Result {
        let position = lseek(descriptor, 0, SEEK_CUR)
        defer { lseek(descriptor, position, SEEK_SET) }
        var reader = self
        return try body(&reader)
    }

    /// Whether only empty lines follow in the file. The next bytes to be returned remain the same.
    ///
    /// - Throws: `FileError`.
    func isAtBlankEnd() throws -> Bool {
        try peek { reader in
            while let line = try reader.next() {
                guard line.withoutLineEnd.isEmpty else { return false }
            }
            return true
        }
    }

    /// Whether a pattern follows anywhere in the file. The next bytes to be returned remain the same.
    ///
    /// - Throws: `FileError`.
    func precedes(_ pattern: [UInt8]) throws -> Bool {
        try peek { reader in
            // The end of the previous piece, where the pattern could begin.
            var tail: ArraySlice<UInt8> = []
            while true {
                let piece = try reader.rest()
                if piece.isEmpty { return false }
                let bytes = tail + piece
                if bytes.contains(bytes: pattern) { return true }
                tail = bytes.suffix(pattern.count - 1)
            }
        }
    }

    private mutating func piece(to end: Int) -> ArraySlice<UInt8> {
        defer {
            isAtLineStart = buffer[end - 1] == 0x0A
            start = end
        }
        return buffer[start..<end]
    }

    /// The position after the next line feed; nil if the buffer contains no further line feed.
    private static func lineEnd(_ bytes: [UInt8], from start: Int) -> Int? {
        unsafe bytes.withUnsafeBytes { buffer -> Int? in
            guard start < buffer.count, let base = buffer.baseAddress,
                let found = unsafe memchr(base + start, 0x0A, buffer.count - start)
            else { return nil }
            return unsafe UnsafeRawPointer(found) - base + 1
        }
    }
}

extension ArraySlice<UInt8> {
    /// The line without the line feed and carriage return at its end.
    var withoutLineEnd: ArraySlice<UInt8> {
        var line = self
        if line.last == 0x0A { line = line.dropLast() }
        if line.last == 0x0D { line = line.dropLast() }
        return line
    }

    /// Whether the slice contains the bytes of a pattern one after another.
    func contains(bytes pattern: [UInt8]) -> Bool {
        unsafe withUnsafeBytes { buffer in
            unsafe clinux_contains(buffer.baseAddress, buffer.count, pattern, pattern.count)
        }
    }
}

/// Finds characters that some programs consider the end of a line although no line feed follows. Python's email package
/// and JavaMail end lines at every CR; C programs end strings at NUL.
struct StrayLineEnds {
    private var isAfterReturn = false
    /// Whether such a character was read.
    private(set) var isFound = false
    /// Whether such a character was read if no further bytes follow.
    var isFoundAtEnd: Bool { isFound || isAfterReturn }

    /// Reads the next bytes.
    mutating func read(_ bytes: ArraySlice<UInt8>) {
        for byte in bytes {
            if byte == 0 || isAfterReturn && byte != 0x0A { isFound = true }
            isAfterReturn = byte == 0x0D
        }
    }
}
