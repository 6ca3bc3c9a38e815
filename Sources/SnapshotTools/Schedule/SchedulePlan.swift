import SnapshotVersions
import StrictText
import SyncRuns

/// The configuration of a scheduler that syncs one database at an interval.
///
/// Devices that share a cloud should not all sync at the same moment. So each database has its own offset within the interval; the device's name
/// and the cloud determine it, so it never changes.
struct SchedulePlan: Sendable {
    /// Absolute paths.
    let program: String
    let database: String
    let device: String
    let cloudUUID: String
    /// The interval in seconds; nil for a watch, which runs all the time.
    let seconds: Int?
    /// Additional arguments of the command, such as `--heartbeat URL`.
    let options: [String]
    /// Additional arguments of a weekly restore check of the newest version; nil for no such check.
    let restoreCheck: [String]?

    /// - Throws: ``SyncError`` with `.refused`.
    func report(for scheduler: Scheduler) throws -> ScheduleReport {
        for path in [program, database] + options + (restoreCheck ?? []) where path.unicodeScalars.contains(where: { $0 == "\t" || VisibleText.isControl($0) })
        {
            throw SyncError(
                .refused, at: [program, database].map(\.exact).contains(path.exact) ? path : "an option",
                "a text with control or format characters fits into no \(scheduler == .cron ? "crontab" : "unit file")",
                hint: "call it by another path, a symbolic link for instance")
        }
        switch scheduler {
        case .cron:
            let lines = try [seconds.map(syncLine), restoreCheck.map(checkLine)].compactMap(\.self)
            return ScheduleReport(interval: seconds, crontab: lines.joined(separator: "\n"), units: nil)
        case .systemd:
            let units = (seconds.map(units(every:)) ?? [watch()]) + (restoreCheck.map(checkUnits) ?? [])
            return ScheduleReport(interval: seconds, crontab: nil, units: units)
        }
    }

    /// A stable number for the database: the FNV-1a hash of its device and cloud.
    var seed: UInt64 {
        "\(device) \(cloudUUID)".utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    private func syncLine(every seconds: Int) throws -> String { line(at: try CronTime(seconds: seconds, seed: seed), "sync -q", options) }

    private func checkLine(_ options: [String]) -> String { line(at: CronTime(weeklyBySeed: seed), Self.check, options) }

    private func line(at time: CronTime, _ command: String, _ options: [String]) -> String {
        let words = ([program] + command.exact.split(separator: " ") + [database] + options).map(\.shellWord)
        // Cron treats an unescaped percent sign as a line feed, even in quotes.
        return "\(time.fields) \((time.pause > 0 ? "sleep \(time.pause); " : "") + words.joined(separator: " "))"
            .escaping { $0 == UInt8(ascii: "%") ? "\\%" : nil }
    }

    /// The command that checks a restore of the newest version.
    private static let check = "check --restore -q"

    /// The command line of a unit.
    private func commandLine(_ command: String, _ options: [String]) -> String {
        "\(UnitWord.quote(program)) \(command)" + ([database] + options).map { " " + UnitWord.quote($0, isArgument: true) }.joined()
    }

    /// The comment lines of a unit that state its path and how to start it.
    private func place(_ file: String, isStarted: Bool) -> String {
        """
        # /etc/systemd/system/\(file)\(isStarted ? ", then: systemctl daemon-reload && systemctl enable --now \(file)" : "")
        # for one user: ~/.config/systemd/user/\(file)\(isStarted ? ", then the same with systemctl --user, and: loginctl enable-linger" : "")
        """
    }

    /// A service that runs `watch`, for the system or for one user.
    private func watch() -> ScheduleReport.Unit {
        let name = "snapsync-watch-\(device).service"
        let text = """
            \(place(name, isStarted: true))
            [Unit]
            Description=Sync \(UnitWord.escape(database)) with snapsync watch

            [Service]
            ExecStart=\(commandLine("watch", options))
            # It ends by itself only where the database cannot be opened.
            Restart=on-failure
            RestartSec=30s

            [Install]
            WantedBy=default.target

            """
        return ScheduleReport.Unit(name: name, text: text)
    }

    private func units(every seconds: Int) -> [ScheduleReport.Unit] {
        timed(
            "snapsync-\(device)", "sync -q", options: options, says: "Sync \(UnitWord.escape(database)) with snapsync",
            when: "Sync \(UnitWord.escape(database)) every \(AgeText.words(seconds: seconds))",
            times: """
                OnBootSec=\(min(seconds, 60))s
                OnUnitActiveSec=\(seconds)s
                RandomizedDelaySec=\(min(max(seconds / 10, 1), 300))s
                AccuracySec=1s
                """)
    }

    private func checkUnits(_ options: [String]) -> [ScheduleReport.Unit] {
        let says = "Restore the newest version of \(UnitWord.escape(database)) on trial"
        return timed(
            "snapsync-check-\(device)", Self.check, options: options, says: says, when: "\(says) every week",
            times: """
                OnCalendar=weekly
                RandomizedDelaySec=1d
                Persistent=true
                """)
    }

    /// A service that runs a command once, and the timer that starts it.
    private func timed(_ name: String, _ command: String, options: [String], says: String, when: String, times: String) -> [ScheduleReport.Unit] {
        let service = """
            \(place("\(name).service", isStarted: false))
            [Unit]
            Description=\(says)

            [Service]
            Type=oneshot
            ExecStart=\(commandLine(command, options))
            # Another run at work, or a file that has not arrived yet: the next run does what is left.
            SuccessExitStatus=75

            """
        let timer = """
            \(place("\(name).timer", isStarted: true))
            [Unit]
            Description=\(when)

            [Timer]
            \(times)

            [Install]
            WantedBy=timers.target

            """
        return [ScheduleReport.Unit(name: "\(name).service", text: service), ScheduleReport.Unit(name: "\(name).timer", text: timer)]
    }
}

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

/// A word of a systemd unit file. Source: systemd.service(5), "Command lines"; systemd.syntax(7).
enum UnitWord {
    /// The text for a description. Percent signs are escaped, because they begin a specifier.
    static func escape(_ text: String) -> String { text.escaping { $0 == UInt8(ascii: "%") ? "%%" : nil } }

    /// The text in quotes.
    ///
    /// - Parameter isArgument: whether a dollar sign would begin a variable. It does in every word but the first.
    static func quote(_ text: String, isArgument: Bool = false) -> String {
        let escaped = text.escaping { byte in
            switch byte {
            case UInt8(ascii: "%"): "%%"
            case UInt8(ascii: "\\"): "\\\\"
            case UInt8(ascii: "\""): "\\\""
            case UInt8(ascii: "$") where isArgument: "$$"
            default: nil
            }
        }
        return "\"" + escaped + "\""
    }
}

/// The cron fields for a command that runs at an interval of minutes or hours, with an offset.
///
/// Cron counts minutes within the hour and hours within the day. An interval that does not divide them evenly would be cut short at each full
/// hour or midnight, so it is refused.
struct CronTime: Hashable, Sendable {
    /// The five fields: `7-59/15 * * * *`.
    let fields: String
    /// A delay in seconds before the command, if the fields have no room for an offset.
    let pause: Int

    /// - Throws: ``SyncError`` with `.refused`, which names the nearest possible intervals.
    init(seconds: Int, seed: UInt64) throws {
        guard Self.possible.contains(seconds) else { throw Self.refusal(seconds) }
        let minutes = seconds / 60, hours = minutes / 60
        let minute = Int(seed % UInt64(min(minutes, 60))), hour = Int(seed / 60 % UInt64(max(1, min(hours, 24))))
        pause = minutes == 1 ? Int(seed % 30) : 0
        switch minutes {
        case 1: fields = "* * * * *"
        case ..<60: fields = "\(minute == 0 ? "*" : "\(minute)-59")/\(minutes) * * * *"
        case 60: fields = "\(minute) * * * *"
        case ..<1440: fields = "\(minute) \(hour == 0 ? "*" : "\(hour)-23")/\(hours) * * *"
        default: fields = "\(minute) \(hour) * * *"
        }
    }

    /// Once a week, at a time that the seed determines.
    init(weeklyBySeed seed: UInt64) {
        fields = "\(seed % 60) \(seed / 60 % 24) * * \(seed / 1440 % 7)"
        pause = 0
    }

    /// The possible intervals in seconds, ascending.
    private static let possible = (1...30).filter { 60 % $0 == 0 }.map { $0 * 60 } + (1...24).filter { 24 % $0 == 0 }.map { $0 * 3600 }

    private static func refusal(_ seconds: Int) -> SyncError {
        let near = [possible.last { $0 < seconds }, possible.first { $0 > seconds }].compactMap { $0 }.map(text)
        return SyncError(
            .refused, at: "every \(AgeText.words(seconds: seconds))",
            "cron cannot keep that interval evenly: it counts minutes within the hour and hours within the day",
            hint:
                "the nearest \(Format.word(near.count, "that it can is", or: "that it can are")) \(near.joined(separator: " and ")); systemd can keep any, snapsync watch needs none"
        )
    }

    private static func text(_ seconds: Int) -> String { seconds < 3600 ? "\(seconds / 60)m" : "\(seconds / 3600)h" }
}
