import SnapshotVersions
import StrictText

/// Text formats of metrics for monitoring systems.
public enum MetricsFormat: String, Sendable, CaseIterable {
    /// Prometheus' text format 0.0.4, as node_exporter's textfile collector reads it. Samples have no timestamps, because that collector refuses
    /// them.
    case prometheus
    /// OpenMetrics 1.0. Each sample has a timestamp, so that a file that is no longer updated becomes stale.
    case openMetrics
}

/// Metrics in a text format for monitoring systems. Every sample has a label with its database, so that the files of several databases can be
/// collected together.
///
/// Source: Prometheus, "Text-based format", version 0.0.4; OpenMetrics 1.0.0, sections "Overall Structure" and "Metric Types".
struct PrometheusText {
    private var metrics = ""
    private let database: String
    private let format: MetricsFormat
    /// When the samples were taken, in seconds since 1970.
    private let time: String

    /// The whole text.
    var text: String { format == .openMetrics ? metrics + "# EOF\n" : metrics }

    init(database: String, format: MetricsFormat = .prometheus, at instant: Instant) {
        (self.database, self.format) = (database, format)
        time = Self.number(Double(instant.microseconds) / 1_000_000)
    }

    /// One sample: its labels in addition to the database's, and its value.
    typealias Sample = (labels: [(name: String, value: String)], value: Double)

    /// Adds a gauge; omitted if it has no samples.
    mutating func add(_ name: String, _ help: String, samples: [Sample]) {
        guard !samples.isEmpty else { return }
        // OpenMetrics has the type `info` for metrics whose labels are the facts. The family's name lacks the suffix `_info` of the samples.
        let isInfo = format == .openMetrics && name == "info"
        let family = isInfo ? "snapsync" : "snapsync_\(name)"
        let help = Self.escape(help, quotes: format == .openMetrics)
        metrics += "# HELP \(family) \(help)\n# TYPE \(family) \(isInfo ? "info" : "gauge")\n"
        for sample in samples {
            let labels = ([("database", database)] + sample.labels).map { "\($0.0)=\"\(Self.escape($0.1, quotes: true))\"" }.joined(separator: ",")
            metrics += "snapsync_\(name){\(labels)} \(Self.number(sample.value))\(format == .openMetrics ? " " + time : "")\n"
        }
    }

    /// Adds a gauge of one sample; omitted if the value is nil.
    mutating func add(_ name: String, _ help: String, value: Double?) {
        add(name, help, samples: value.map { [([], $0)] } ?? [])
    }

    private static func escape(_ text: String, quotes: Bool) -> String {
        text.escaping { byte in
            switch byte {
            case UInt8(ascii: "\\"): "\\\\"
            case UInt8(ascii: "\n"): "\\n"
            case UInt8(ascii: "\"") where quotes: "\\\""
            default: nil
            }
        }
    }

    /// Prints whole numbers in full: a time in seconds must not be rounded to six digits.
    private static func number(_ value: Double) -> String {
        Int64(exactly: value).map(String.init) ?? "\(value)"
    }
}

extension PrometheusText {
    /// The metrics of a database, and of its zone if that could be read.
    init(_ path: String, _ report: StatusReport, format: MetricsFormat, at instant: Instant) {
        self.init(database: path, format: format, at: instant)
        func seconds(_ instant: Instant) -> Double { Double(instant.microseconds) / 1_000_000 }
        add("info", "The database's part in its zone; always 1.", samples: [([("zone", report.zone), ("role", report.role), ("device", report.device)], 1)])
        add("cloud_up", "Whether the location could be read just now.", value: report.behind == nil ? 0 : 1)
        add("last_success_timestamp_seconds", "When the last run ended well.", value: report.lastSuccess.map(seconds))
        if let error = report.lastError, let at = report.lastErrorAt {
            add("last_error_timestamp_seconds", "When the last run failed; not there if it ended well.", samples: [([("code", error.code.name)], seconds(at))])
        }
        add("interval_seconds", "How often a scheduler runs a sync.", value: report.interval.map(Double.init))
        add(
            "last_run_duration_seconds", "How long the last run that ended well took.",
            samples: [("export", report.lastExport), ("import", report.lastImport)].compactMap { name, run in
                run.map { ([("direction", name)], Double($0.milliseconds) / 1000) }
            })
        add("version", "The version that was applied or published last here.", value: Double(report.version ?? 0))
        add("pending_changes", "Entities that were changed here since.", samples: report.datasets.map { ([("dataset", $0.name)], Double($0.changes)) })
        add(
            "entities", "Entities of the version here.",
            samples: report.datasets.compactMap { one in one.recordCount.map { ([("dataset", one.name)], Double($0)) } })
        add("open_conflicts", "Edits that lost to others, neither restored nor dismissed.", value: Double(report.conflicts))
        add("asset_limit_bytes", "How large an asset may be.", value: Double(report.assetLimit))
        guard report.behind != nil else { return }
        add("newest_version", "The zone's newest version.", value: Double(report.newestVersion ?? 0))
        add(
            "asset_bytes", "The size of the newest snapshot asset.",
            samples: report.datasets.compactMap { one in one.assetSize.map { ([("dataset", one.name)], Double($0)) } })
        add(
            "device_lag_versions", "How many versions with data came after the one that a device has reported.",
            samples: report.devices.map { ([("device", $0.device), ("role", $0.role)], Double($0.behind)) })
        add(
            "device_report_age_seconds", "How old a device's report is.",
            samples: report.devices.map { ([("device", $0.device), ("role", $0.role)], Double($0.reportAge)) })
    }
}
