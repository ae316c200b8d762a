/// Elements in an order, held in segments. An array that was made by inserting elements shares the other segments with
/// the array before, so that adding one to many copies few.
package struct SegmentedArray<Element: Sendable>: Sendable, RandomAccessCollection {
    /// Never empty but for an array without elements; no segment is empty.
    private let segments: [[Element]]
    /// The position of the first element of each segment.
    private let starts: [Int]
    /// The number of elements, which is the position behind the last one.
    package let endIndex: Int

    /// The position of the first element, which is 0.
    package var startIndex: Int { 0 }

    /// The number of elements of a new segment. One that grew to twice as many is cut.
    private static var length: Int { 256 }

    /// Cuts elements into segments.
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

    /// The element at a position. The time grows with the logarithm of the number of segments.
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

    /// The segment of a position, and the last one for the end.
    private func segmentIndex(of position: Int) -> Int {
        // The first segment that starts behind the position; the one before it holds the position.
        starts.indices.partitioningPosition { starts[$0] > position } - 1
    }

    /// The elements together with further ones.
    ///
    /// - Parameter additions: what to insert, and before which of the positions here; these ascend.
    package func inserting(_ additions: [(element: Element, position: Int)]) -> SegmentedArray {
        guard !isEmpty else { return SegmentedArray(additions.map(\.element)) }
        var changed = segments
        var rest = additions[...]
        // From the end, because a segment that is cut moves those behind it.
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
