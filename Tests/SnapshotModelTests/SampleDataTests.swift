import Foundation
import SnapshotModel
import StrictText
import Testing

@Suite struct SampleDataTests {
    private final class Collector: EntitySink {
        var rows: [[String?]] = []
        func receive(_ values: UnsafeBufferPointer<ColumnValue>) {
            rows.append(
                values.map { value in
                    switch value {
                    case .null: nil
                    case .integer(let value): String(value)
                    case .real(let value): String(value)
                    case .text(let bytes), .json(let bytes), .blob(let bytes): String(decoding: bytes, as: UTF8.self)
                    }
                })
        }
    }

    private func rows(seed: UInt64, _ count: Int = 200) throws -> (buckets: [[String?]], notifications: [[String?]]) {
        let data = SampleData(notifications: count, buckets: 7, seed: seed)
        let buckets = Collector(), notifications = Collector()
        try data.sendBuckets(to: buckets)
        try data.sendNotifications(to: notifications)
        return (buckets.rows, notifications.rows)
    }

    @Test func theSameSeedGivesTheSameData() throws {
        let first = try rows(seed: 5), second = try rows(seed: 5), other = try rows(seed: 6)
        #expect(first.notifications == second.notifications)
        #expect(first.buckets == second.buckets)
        #expect(first.notifications != other.notifications)
    }

    @Test func sampleRowsAreWellFormed() throws {
        let (buckets, notifications) = try rows(seed: 1)
        #expect(buckets.count == 7)
        #expect(notifications.count == 200)
        #expect(Set(notifications.map { $0[0] }).count == 200)
        let bucketIDs = Set(buckets.map { $0[0] })
        for row in notifications {
            #expect(row.count == DatasetSchema.notifications.columns.count)
            #expect(UUID(uuidString: try #require(row[0])) != nil)
            #expect(bucketIDs.contains(row[8]))
            for column in [5, 6, 7] { _ = try Instant(parsing: try #require(row[column])) }
            _ = try JSONDecoder().decode([NotificationAttachment].self, from: Data(try #require(row[9]).utf8))
            _ = try JSONDecoder().decode([NotificationAction].self, from: Data(try #require(row[10]).utf8))
            if let action = row[11] { _ = try JSONDecoder().decode(NotificationAction.self, from: Data(action.utf8)) }
        }
        #expect(notifications.contains { $0[4] == nil })
        #expect(notifications.contains { $0[4] != nil })
    }
}
