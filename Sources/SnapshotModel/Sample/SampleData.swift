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

/// Collects the columns of one generated entity and passes them to a sink.
struct SampleWriter {
    private enum Column {
        case null
        case integer(Int64)
        case text(Range<Int>)
        case json(Range<Int>)
    }

    private var text: SampleText
    private var columns: [Column] = []

    var random: SeededGenerator {
        get { text.random }
        set { text.random = newValue }
    }

    init(random: SeededGenerator, vocabulary: SampleVocabulary) {
        text = SampleText(random: random, vocabulary: vocabulary)
    }

    mutating func begin() {
        text.bytes.removeAll(keepingCapacity: true)
        columns.removeAll(keepingCapacity: true)
    }

    mutating func null() { columns.append(.null) }

    mutating func text(percent: Int = 100, _ build: (inout SampleText) -> Void) {
        columns.append(built(percent, build).map { .text($0) } ?? .null)
    }

    mutating func json(percent: Int = 100, _ build: (inout SampleText) -> Void) {
        columns.append(built(percent, build).map { .json($0) } ?? .null)
    }

    /// A boolean that has a value in `percent` of all entities and is true in `chance` percent of those.
    mutating func boolean(percent: Int, true chance: Int) {
        columns.append(text.random.happens(percent: percent) ? .integer(text.random.happens(percent: chance) ? 1 : 0) : .null)
    }

    private mutating func built(_ percent: Int, _ build: (inout SampleText) -> Void) -> Range<Int>? {
        guard percent == 100 || text.random.happens(percent: percent) else { return nil }
        let start = text.bytes.count
        build(&text)
        return start..<text.bytes.count
    }

    func end(_ sink: any EntitySink) throws {
        try text.bytes.withUnsafeBytes { bytes in
            // SAFETY: the slices point into `bytes`, which is valid until the sink returns.
            let values = columns.map { column -> ColumnValue in
                switch column {
                case .null: .null
                case .integer(let value): .integer(value)
                case .text(let range): .text(UnsafeRawBufferPointer(rebasing: bytes[range]))
                case .json(let range): .json(UnsafeRawBufferPointer(rebasing: bytes[range]))
                }
            }
            try values.withUnsafeBufferPointer { try sink.take($0) }
        }
    }
}

/// Random numbers that are the same for the same seed on every machine.
///
/// Source: SplitMix64, by Guy Steele, Doug Lea and Christine Flood (2014), with the constants of its reference version.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to `bound`, which must be positive.
    package mutating func below(_ bound: Int) -> Int {
        Int(next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    /// True with that probability.
    package mutating func happens(percent: Int) -> Bool { below(100) < percent }
}
