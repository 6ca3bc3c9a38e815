extension RandomAccessCollection {
    /// The position of the first element that belongs to the second part, found by halving; the end if there is none. `belongs` must hold for no
    /// element of the first part and for all behind it.
    @inlinable
    package func partitioningIndex(where belongs: (Element) throws -> Bool) rethrows -> Index {
        var low = startIndex, left = count
        while left > 0 {
            let half = left / 2, middle = index(low, offsetBy: half)
            if try belongs(self[middle]) { left = half } else { (low, left) = (index(after: middle), left - half - 1) }
        }
        return low
    }
}
