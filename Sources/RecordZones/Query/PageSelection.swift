import CloudStore

/// Selects the first positions of a query's order, up to a limit, without sorting all of them.
///
///     var page = PageSelection(query, limit: 50)
///     for record in records { page.take(record) }
///     page.positions, page.isWhole
struct PageSelection {
    private let query: RecordQuery
    private let limit: Int
    private var kept: [RecordQuery.Position] = []
    private var isSorted = true
    private var count = 0

    /// Up to this limit, inserting into a sorted list is cheaper than sorting everything. Above it, all positions are kept and sorted once.
    private static let insertionLimit = 500

    init(_ query: RecordQuery, limit: Int?) {
        self.query = query
        self.limit = limit ?? .max
    }

    /// Whether the page holds every position that was taken.
    var isWhole: Bool { count <= limit }

    /// The positions of the page, in order.
    var positions: [RecordQuery.Position] {
        Array((isSorted ? kept : kept.sorted(by: query.precedes)).prefix(limit))
    }

    /// Takes one record's position.
    mutating func take(_ record: CloudRecord) {
        // Most records of a long list come after the page's last, which a position of their own need not say.
        if isSorted, kept.count == limit, let last = kept.last, !query.precedes(record, last) {
            count += 1
        } else {
            take(query.position(of: record))
        }
    }

    /// Takes one position. Positions may come in any order.
    mutating func take(_ position: RecordQuery.Position) {
        count += 1
        guard limit <= Self.insertionLimit else {
            kept.append(position)
            isSorted = false
            return
        }
        if kept.count == limit, let last = kept.last, !query.precedes(position, last) { return }
        var low = 0, high = kept.count
        while low < high {
            let middle = (low + high) / 2
            if query.precedes(kept[middle], position) { low = middle + 1 } else { high = middle }
        }
        kept.insert(position, at: low)
        if kept.count > limit { kept.removeLast() }
    }
}
