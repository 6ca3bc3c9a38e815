import CloudStore
import SnapshotEngine
import SnapshotVersions
import StrictText

/// The kept versions of a zone over time, summed by spans of time: at most 96 points, however many versions there are.
struct VersionSeries: Sendable {
    /// The versions of one span.
    struct Point: Sendable {
        /// When the span begins.
        let begin: Instant
        /// The index of the span, from 0.
        let slot: Int
        fileprivate(set) var first: Int
        fileprivate(set) var last: Int
        /// How many versions are in the span.
        fileprivate(set) var count = 0
        /// The bytes that they stored, by the publisher's number.
        fileprivate(set) var bytes: [Int: Int] = [:]
        /// The number of rows in all datasets after the last version of the span.
        fileprivate(set) var rows = 0

        /// The total of bytes that they stored.
        var byteCount: Int { Total.of(bytes.values) }
    }

    /// The spans that contain versions, oldest first.
    private(set) var points: [Point] = []
    /// The length of a span, in seconds.
    private(set) var seconds = 60
    /// The number of spans, including those without versions.
    private(set) var slots = 0
    /// When the first span begins.
    private(set) var begin = Instant(microseconds: 0)
    /// The publishers, those with most versions first. Publishers beyond the limit are combined as `nil`.
    private(set) var publishers: [String?] = []
    /// The number of versions that changed data.
    private(set) var count = 0
    /// The bytes that the newest versions stored and the rows after each, by version number.
    private(set) var latest: [Int: (bytes: Int, rows: Int)] = [:]
    /// The size of each record's snapshot asset over time.
    private(set) var sizes: [String: SizeHistory] = [:]

    /// The maximum and minimum number of spans, and the maximum number of publishers that are shown separately.
    private static let (most, fewest, publisherLimit) = (96, 24, 4)
    /// Span lengths that are familiar to people, in seconds.
    private static let lengths = [60, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 172_800, 259_200, 604_800, 2_592_000, 31_536_000]

    /// - Parameters:
    ///   - commits: the kept commits, oldest first; commits that change no data are ignored.
    ///   - newest: the records of the newest version.
    init(_ commits: [Commit], newest: [CloudRecord]) {
        let commits = commits.filter(\.changesData)
        count = commits.count
        guard let first = commits.map(\.timestamp).min(), let last = commits.map(\.timestamp).max() else { return }
        lay(from: first, to: last)
        let numbers = publish(commits)
        var records: [String: DatasetRecord] = [:], before = Self.rowsBefore(commits, newest)
        var rows = Total.of(before.values)
        for commit in commits {
            var stored = 0
            for record in commit.saved {
                guard let saved = DatasetRecord(record) else { continue }
                let known = records[record.name]
                if known?.dataFile.path != saved.dataFile.path { stored = Total.of([stored, saved.dataFile.byteCount, saved.dataFile.index?.byteCount ?? 0]) }
                if let step = saved.step, known?.step?.path != step.path { stored = Total.of([stored, step.byteCount]) }
                rows = Total.of([rows - (known?.recordCount ?? before.removeValue(forKey: record.name) ?? 0), saved.recordCount])
                sizes[record.name, default: SizeHistory()].add(saved, isNew: known?.dataFile.path != saved.dataFile.path, at: commit.timestamp)
                records[record.name] = saved
            }
            for name in commit.deleted {
                rows -= records.removeValue(forKey: name)?.recordCount ?? before.removeValue(forKey: name) ?? 0
                sizes[name] = nil
            }
            if commit.token.number > (commits.last?.token.number ?? 0) - 2 * ZoneOverview.versionLimit { latest[commit.token.number] = (stored, rows) }
            add(commit, stored, rows, numbers[commit.device] ?? Self.publisherLimit)
        }
    }

    /// Divides the time into spans.
    private mutating func lay(from first: Instant, to last: Instant) {
        func slot(_ instant: Instant, _ length: Int) -> Int { Int((Double(instant.microseconds) / 1_000_000 / Double(length)).rounded(.down)) }
        var lengths = Self.lengths[...]
        seconds = lengths.removeFirst()
        while slot(last, seconds) - slot(first, seconds) >= Self.most { seconds = lengths.popFirst() ?? seconds * 2 }
        slots = max(slot(last, seconds) - slot(first, seconds) + 1, Self.fewest)
        begin = Instant(microseconds: Int64(slot(last, seconds) - slots + 1) * Int64(seconds) * 1_000_000)
    }

    /// Numbers the publishers.
    private mutating func publish(_ commits: [Commit]) -> [String: Int] {
        var counts: [String: Int] = [:]
        for commit in commits { counts[commit.device, default: 0] += 1 }
        let names = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
        publishers = names.prefix(Self.publisherLimit).map { $0 } + (names.count > Self.publisherLimit ? [nil] : [])
        return Dictionary(names.prefix(Self.publisherLimit).enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The row counts of datasets before the first kept commit, as far as they are known: the count in the first commit that saves the dataset,
    /// or else in the newest version.
    private static func rowsBefore(_ commits: [Commit], _ newest: [CloudRecord]) -> [String: Int] {
        guard let first = commits.first, first.token.number > 1 else { return [:] }
        var rows: [String: Int] = [:]
        for record in commits.flatMap(\.saved) + newest where rows[record.name] == nil { rows[record.name] = DatasetRecord(record)?.recordCount }
        return rows
    }

    private mutating func add(_ commit: Commit, _ stored: Int, _ rows: Int, _ publisher: Int) {
        let length = Int64(seconds) * 1_000_000
        // Timestamps of commits ascend; a commit that breaks the rule counts in the previous span.
        let slot = max(points.last?.slot ?? 0, Int((commit.timestamp.microseconds - begin.microseconds) / length))
        if points.last?.slot != slot {
            points.append(
                Point(
                    begin: Instant(microseconds: begin.microseconds + Int64(slot) * length), slot: slot, first: commit.token.number,
                    last: commit.token.number))
        }
        let index = points.count - 1
        points[index].last = commit.token.number
        points[index].count += 1
        points[index].bytes[publisher] = Total.of([points[index].bytes[publisher] ?? 0, stored])
        points[index].rows = rows
    }
}

/// Sums of numbers from a cloud, which may be arbitrary.
enum Total {
    /// The sum, or `Int.max` on overflow.
    static func of(_ numbers: some Sequence<Int>) -> Int {
        numbers.reduce(0) { sum, number in
            let (total, isBeyond) = sum.addingReportingOverflow(number)
            return isBeyond ? .max : total
        }
    }
}

/// The size of one dataset's snapshot asset over time.
///
/// Not every commit writes a snapshot asset. In between, the size is estimated: the bytes per row of the last asset, multiplied by the number of
/// rows.
struct SizeHistory: Sendable {
    private var samples: [(at: Instant, bytes: Double)] = []
    private var bytesOfRow: Double?

    /// Adds the dataset's record in a commit.
    ///
    /// - Parameter isNew: whether the commit wrote the snapshot asset.
    mutating func add(_ record: DatasetRecord, isNew: Bool, at instant: Instant) {
        let size = Double(record.dataFile.byteCount)
        // The commit that wrote the asset also states its number of rows, unless change assets came with it.
        if isNew { bytesOfRow = record.changeFiles.isEmpty && record.recordCount > 0 ? size / Double(record.recordCount) : nil }
        samples.append((instant, bytesOfRow.map { $0 * Double(record.recordCount) } ?? size))
    }

    /// A forecast for a size limit in bytes: a straight line fitted to the sizes of the last 90 days.
    func forecast(limit: Int) -> SizeForecast {
        guard let last = samples.last else { return .unknown }
        guard last.bytes < Double(limit) else { return .reached }
        let window = last.at.microseconds - 90 * Self.day
        let recent = samples.drop { $0.at.microseconds < window }
        guard let first = recent.first, recent.count >= 3, last.at.microseconds - first.at.microseconds >= Self.day else { return .unknown }
        let points = recent.map { (days: Double($0.at.microseconds - first.at.microseconds) / Double(Self.day), bytes: $0.bytes) }
        let meanDays = points.reduce(0) { $0 + $1.days } / Double(points.count), meanBytes = points.reduce(0) { $0 + $1.bytes } / Double(points.count)
        let spread = points.reduce(0) { $0 + ($1.days - meanDays) * ($1.days - meanDays) }
        let slope = points.reduce(0) { $0 + ($1.days - meanDays) * ($1.bytes - meanBytes) } / spread
        guard slope.isFinite, slope >= 1 else { return .steady }
        let days = (Double(limit) - last.bytes) / slope
        guard days <= 3650 else { return .growing(bytesPerDay: slope, until: nil) }
        return .growing(bytesPerDay: slope, until: last.at.advanced(byMicroseconds: Int64(days * Double(Self.day))))
    }

    private static let day: Int64 = 86_400_000_000
}

/// When an asset reaches its size limit if it continues to grow at the same rate.
enum SizeForecast: Hashable, Sendable {
    /// Too little data: fewer than three versions, or less than a day.
    case unknown
    /// It grows by less than a byte a day.
    case steady
    case reached
    /// - Parameter until: nil for more than ten years.
    case growing(bytesPerDay: Double, until: Instant?)
}
