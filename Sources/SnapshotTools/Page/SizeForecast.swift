import CloudStore
import SnapshotVersions
import StrictText

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
