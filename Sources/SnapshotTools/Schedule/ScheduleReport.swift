/// What runs a sync again and again.
public enum Scheduler: String, Sendable {
    case cron, systemd
}

/// What to install for a scheduler.
public struct ScheduleReport: Sendable, Encodable {
    public struct Unit: Sendable, Encodable {
        /// The file's name.
        public let name: String
        public let text: String
    }

    /// How often a sync runs, in seconds; nil for a watch.
    public let interval: Int?
    /// The line for the crontab, and that of a weekly check where one is wanted; nil for systemd.
    public let crontab: String?
    /// The files for systemd; nil for cron.
    public let units: [Unit]?
}
