/// An array stored in segments. ``inserting(_:)`` returns an array that shares all unchanged segments with the
/// original, so an insertion copies few elements.
package struct SegmentedArray<Element: Sendable>: Sendable, RandomAccessCollection {
    /// The segments. None is empty unless the array has no elements.
    private let segments: [[Element]]
    /// The position of the first element of each segment.
    private let starts: [Int]
    /// The number of elements, which is the position after the last one.
    package let endIndex: Int

    /// The position of the first element, which is 0.
    package var startIndex: Int { 0 }

    /// The number of elements in a new segment. A segment that grows to twice this number is split.
    private static var length: Int { 256 }

    /// Creates an array of `elements`.
    package init(_ elements: some Sequence<Element>) {
        self.init(segments: Self.cut(Array(elements)))
    }

    private init(segments: [[Element]]) {
        self.segments = segments
        var starts: [Int] = []
        var count = 0
        for segment in segments {
            starts.append(count)
            count += segment.count
        }
        self.starts = starts
        endIndex = count
    }

    private static func cut(_ elements: [Element]) -> [[Element]] {
        stride(from: 0, to: elements.count, by: length).map {
            Array(elements[$0..<Swift.min($0 + length, elements.count)])
        }
    }

    /// Accesses an element in time logarithmic in the number of segments.
    ///
    /// - Precondition: `position` is at least 0 and below `endIndex`.
    package subscript(position: Int) -> Element {
        let segment = segmentIndex(of: position)
        return segments[segment][position - starts[segment]]
    }

    /// Iterates over the elements segment by segment.
    package func makeIterator() -> FlattenSequence<[[Element]]>.Iterator {
        segments.joined().makeIterator()
    }

    /// Returns the index of the segment that contains a position. The end of the array belongs to the last segment.
    private func segmentIndex(of position: Int) -> Int {
        // Finds the first segment that starts after the position. The one before it contains the position.
        starts.indices.partitioningPosition { starts[$0] > position } - 1
    }

    /// Returns this array with elements inserted.
    ///
    /// - Parameter additions: The elements, each with its insertion position in this array, in ascending order of
    ///   these positions.
    package func inserting(_ additions: [(element: Element, position: Int)]) -> SegmentedArray {
        guard !isEmpty else { return SegmentedArray(additions.map(\.element)) }
        var changed = segments
        var rest = additions[...]
        // Works from the end, because splitting a segment moves the ones after it.
        while let last = rest.last {
            let index = segmentIndex(of: last.position)
            let (segment, start) = (segments[index], starts[index])
            let first = rest.lastIndex { $0.position < start }.map { $0 + 1 } ?? rest.startIndex
            var merged: [Element] = []
            merged.reserveCapacity(segment.count + rest.endIndex - first)
            var taken = 0
            for (element, position) in rest[first...] {
                merged += segment[taken..<position - start]
                merged.append(element)
                taken = position - start
            }
            merged += segment[taken...]
            changed.replaceSubrange(
                index...index, with: merged.count < 2 * Self.length ? [merged] : Self.cut(merged))
            rest = rest[..<first]
        }
        return SegmentedArray(segments: changed)
    }
}
