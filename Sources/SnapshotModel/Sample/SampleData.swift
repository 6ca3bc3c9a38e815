import StrictText

/// Generated buckets and notifications that look like real ones, the same for the same seed.
///
///     try SampleData(notifications: 150, buckets: 8, seed: 1).giveNotifications(to: applier)
///
/// Entities are generated in the order of their dates, with random keys, as an application would insert them. Memory: one entity.
package struct SampleData {
    package let notificationCount: Int
    package let bucketCount: Int
    private let bucketIDs: [[UInt8]]
    private let random: SeededGenerator
    private let vocabulary: SampleVocabulary

    package init(notifications: Int, buckets: Int, seed: UInt64) {
        notificationCount = notifications
        bucketCount = buckets
        var random = SeededGenerator(seed: seed)
        vocabulary = SampleVocabulary(random: &random)
        bucketIDs = (0..<buckets).map { _ in SampleText.uuid(&random) }
        self.random = random
    }

    /// Passes the buckets to a sink, with the columns in the order of ``DatasetSchema/buckets``.
    package func giveBuckets(to sink: any EntitySink) throws {
        var writer = SampleWriter(random: random, vocabulary: vocabulary)
        for (index, id) in bucketIDs.enumerated() {
            let time = Self.start.advanced(byMicroseconds: Int64(index) * 10_000_000_000)
            writer.begin()
            writer.text { $0.bytes += id }
            writer.text { $0.words(1...3) }
            writer.text(percent: 60) { $0.words(3...9) }
            writer.text(percent: 80) { $0.color() }
            writer.text(percent: 50) { $0.url(ending: "png") }
            writer.text { $0.instant(time) }
            writer.text { $0.instant(time) }
            writer.boolean(percent: 97, true: 3)
            try writer.end(sink)
        }
    }

    /// Passes the notifications to a sink, with the columns in the order of ``DatasetSchema/notifications``.
    package func giveNotifications(to sink: any EntitySink) throws {
        var writer = SampleWriter(random: SeededGenerator(seed: random.seedOfNotifications), vocabulary: vocabulary)
        let span = 60_000_000_000_000 / Int64(max(notificationCount, 1))
        for index in 0..<notificationCount {
            let sent = Self.start.advanced(byMicroseconds: 10_000_000_000_000 + Int64(index) * span + Int64(writer.random.below(1000)) * 1000)
            let created = sent.advanced(byMicroseconds: Int64(20 + writer.random.below(880)) * 1000)
            let read = writer.random.happens(percent: 60) ? created.advanced(byMicroseconds: Int64(1000 + writer.random.below(90_000_000)) * 1000) : nil
            // A few buckets get most of the notifications.
            let bucket = bucketIDs[writer.random.below(writer.random.below(bucketIDs.count) + 1)]
            writer.begin()
            writer.text { $0.uuid() }
            writer.text { $0.words(2...6) }
            writer.text(percent: 35) { $0.words(2...6) }
            writer.text(percent: 92) { $0.words(6...32) }
            if let read { writer.text { $0.instant(read) } } else { writer.null() }
            writer.text { $0.instant(sent) }
            writer.text { $0.instant(created) }
            writer.text { $0.instant(read ?? created) }
            writer.text { $0.bytes += bucket }
            writer.json { $0.attachments() }
            writer.json { $0.actions() }
            writer.json(percent: 30) { $0.action() }
            try writer.end(sink)
        }
    }

    /// 2023-11-14T22:13:20Z.
    private static let start = Instant(microseconds: 1_700_000_000_000_000)
}

extension SeededGenerator {
    /// The seed of a second stream of numbers, so that the notifications do not depend on how many numbers the buckets use.
    fileprivate var seedOfNotifications: UInt64 {
        var copy = self
        return copy.next()
    }
}
