extension Range<Int> {
    /// Returns the first position for which `belongsAfter` is true, or the end of the range if there is none. If
    /// `belongsAfter` is true for a position, it must be true for all later positions. Uses binary search.
    func partitioningPosition(_ belongsAfter: (Int) -> Bool) -> Int {
        var range = self
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = belongsAfter(middle) ? range.lowerBound..<middle : middle + 1..<range.upperBound
        }
        return range.lowerBound
    }
}
