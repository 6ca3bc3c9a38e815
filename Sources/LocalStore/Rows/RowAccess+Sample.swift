import GRDB
import SnapshotModel
package import StrictText

extension RowAccess {
    /// Sets `readAt` and `updatedAt` of up to `count` notifications, chosen by `seed`. Returns how many.
    package func markNotificationsRead(count: Int, seed: UInt64, at instant: Instant) throws -> Int {
        let rowids = try Int64.fetchCursor(db, sql: "SELECT rowid FROM notifications ORDER BY rowid")
        // Reservoir sampling (Vitter's algorithm R): each row is chosen with equal probability, without knowing the number of rows in advance.
        var random = SeededGenerator(seed: seed)
        var chosen: [Int64] = []
        var seen = 0
        while let rowid = try rowids.next() {
            seen += 1
            if chosen.count < count {
                chosen.append(rowid)
            } else {
                let place = random.below(seen)
                if place < count { chosen[place] = rowid }
            }
        }
        for rowid in chosen {
            try db.execute(sql: "UPDATE notifications SET readAt = ?1, updatedAt = ?1 WHERE rowid = ?2", arguments: [instant.description, rowid])
        }
        return chosen.count
    }
}
