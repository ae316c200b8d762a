import KeySharing
import Testing

@Suite("Segmented arrays", .timeLimit(.minutes(10)))
struct SegmentedArrayTests {
    /// Returns the sorted numbers, each with its insertion position in `array`, whose elements are in ascending order.
    private func additions(
        _ numbers: [Int], to array: SegmentedArray<Int>
    ) -> [(element: Int, position: Int)] {
        numbers.sorted().map { number in (number, array.firstIndex { $0 > number } ?? array.endIndex) }
    }

    @Test(
        "Inserting has the same result as sorting all elements, and does not change the original array",
        arguments: [0, 1, 255, 256, 257, 511, 512, 3_000], [0, 1, 2, 300, 2_000])
    func inserts(count: Int, more: Int) {
        let numbers = (0..<count).map { $0 * 7_919 % 1_009 }.sorted()
        let others = (0..<more).map { $0 * 4_271 % 1_013 }
        let before = SegmentedArray(numbers)
        let after = before.inserting(additions(others, to: before))
        #expect(Array(before) == numbers)
        #expect(Array(after) == (numbers + others).sorted())
        #expect(after.indices.map { after[$0] } == (numbers + others).sorted())
    }

    @Test("Elements that are inserted one by one, at the front, at the end or in between, are all present")
    func insertsOneByOne() {
        var array = SegmentedArray<Int>([])
        var all: [Int] = []
        for number in 0..<2_000 {
            let element = [number, -number, number % 7][number % 3]
            array = array.inserting(additions([element], to: array))
            all.append(element)
        }
        #expect(Array(array) == all.sorted())
    }
}
