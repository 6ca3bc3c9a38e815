/// The program that runs syncs.
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

    /// The interval of syncs in seconds; nil for a watch.
    public let interval: Int?
    /// The line for the crontab, and the line of a weekly check if one was requested; nil for systemd.
    public let crontab: String?
    /// The files for systemd; nil for cron.
    public let units: [Unit]?
}
