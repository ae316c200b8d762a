internal import Diagnostics

/// The structure of a binary property list (CFBinaryPList.c of CoreFoundation): objects that refer to each other by
/// number. Values are not decoded.
///
/// Several objects may refer to the same object, so the decoded property list can be exponentially larger than the file.
struct BinaryPropertyList {
    private let bytes: [UInt8]
    /// The position of the table that contains the position of each object.
    private let table: Int
    private let objectCount: Int
    private let offsetSize: Int
    private let referenceSize: Int
    private let top: Int

    /// An object: its encoded size in bytes, and the numbers of the objects in it.
    private struct Object {
        var size: Int
        var references: Range<Int>?
        /// Whether the object is a string in UTF-16 with too many consecutive combining marks. Foundation decodes the
        /// other strings as Latin-1, which has none, or rejects them.
        var isSlowString = false
    }

    private static let trailerSize = 32

    /// Reads the trailer. Returns nil if it does not fit the file.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.trailerSize + 8 else { return nil }
        let trailer = bytes.count - Self.trailerSize
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard let objectCount = Self.integer(bytes, at: trailer + 8, size: 8),
            let top = Self.integer(bytes, at: trailer + 16, size: 8),
            let table = Self.integer(bytes, at: trailer + 24, size: 8),
            (1...8).contains(offsetSize), (1...8).contains(referenceSize), objectCount <= bytes.count,
            table <= trailer, objectCount * offsetSize <= trailer - table
        else { return nil }
        (self.bytes, self.table, self.objectCount, self.top) = (bytes, table, objectCount, top)
    }

    /// Whether the decoded property list is within limits, counting each object as often as it is referred to, and no
    /// string has too many consecutive combining marks.
    ///
    /// - Parameters:
    ///   - largest: The maximum sum of the encoded sizes of all objects.
    ///   - mostContainers: The maximum number of lists and mappings.
    func isBounded(largest: Int, mostContainers: Int) -> Bool {
        var (size, containers) = (0, 0)
        var pending = [top]
        while let number = pending.popLast() {
            guard let object = object(number) else { return false }
            size += object.size
            if object.references != nil { containers += 1 }
            guard size <= largest, containers <= mostContainers, !object.isSlowString else { return false }
            let references = object.references ?? 0..<0
            for position in stride(from: references.lowerBound, to: references.upperBound, by: referenceSize)
            {
                guard let reference = Self.integer(bytes, at: position, size: referenceSize) else {
                    return false
                }
                pending.append(reference)
            }
        }
        return true
    }

    /// The object with this number; nil if it is not within the file.
    private func object(_ number: Int) -> Object? {
        guard number < objectCount,
            let start = Self.integer(bytes, at: table + number * offsetSize, size: offsetSize), start < table
        else { return nil }
        let (kind, low) = (bytes[start] >> 4, Int(bytes[start] & 0x0F))
        switch kind {
        case 0x0: return Object(size: 1)
        case 0x1, 0x2, 0x3: return low <= 4 ? whole(start, header: 1, 1 << low) : nil
        case 0x8: return whole(start, header: 1, low + 1)
        default: break
        }
        guard let (count, header) = count(low, after: start), count <= bytes.count else { return nil }
        switch kind {
        case 0x4, 0x5, 0x7: return whole(start, header: header, count)
        case 0x6:
            guard var object = whole(start, header: header, count * 2) else { return nil }
            let positions = stride(from: start + header, to: start + object.size, by: 2)
            let units = positions.map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
            object.isSlowString = !String(decoding: units, as: UTF16.self).isStreamSafe
            return object
        case 0xA, 0xB, 0xC, 0xD:
            guard var object = whole(start, header: header, count * referenceSize * (kind == 0xD ? 2 : 1))
            else { return nil }
            object.references = start + header..<start + object.size
            return object
        default: return nil
        }
    }

    /// The number of elements or bytes of an object, and the size of its header.
    private func count(_ low: Int, after start: Int) -> (count: Int, header: Int)? {
        guard low == 0x0F else { return (low, 1) }
        guard start + 1 < table, bytes[start + 1] >> 4 == 0x1, bytes[start + 1] & 0x0F <= 3 else {
            return nil
        }
        let size = 1 << Int(bytes[start + 1] & 0x0F)
        return Self.integer(bytes, at: start + 2, size: size).map { ($0, 2 + size) }
    }

    private func whole(_ start: Int, header: Int, _ payload: Int) -> Object? {
        start + header + payload <= table ? Object(size: header + payload) : nil
    }

    /// A big-endian integer; nil if it is not within the bytes or larger than `Int32.max`, which no position exceeds.
    private static func integer(_ bytes: [UInt8], at position: Int, size: Int) -> Int? {
        guard position >= 0, position + size <= bytes.count else { return nil }
        let value = bytes[position..<position + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return value <= UInt64(Int32.max) ? Int(value) : nil
    }
}
