extension Range<Int> {
    /// The first of these positions for which a predicate is true, found by halving the range; the range's end where there
    /// is none. The predicate must be true for all positions behind one for which it is true.
    func partitioningPosition(_ isBehind: (Int) -> Bool) -> Int {
        var range = self
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = isBehind(middle) ? range.lowerBound..<middle : middle + 1..<range.upperBound
        }
        return range.lowerBound
    }
}
