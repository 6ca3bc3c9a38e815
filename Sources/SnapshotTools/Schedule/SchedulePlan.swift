import SnapshotEngine
import SnapshotVersions

/// A sync of one database every so often, written down for a scheduler.
///
/// Devices that share a cloud must not all come at the same moment: each database has its own offset within the interval,
/// which follows from its device's name and cloud and so never changes.
struct SchedulePlan: Sendable {
    /// Absolute paths.
    let program: String
    let database: String
    let device: String
    let cloudUUID: String
    /// How often; nil for a watch, which runs all the time.
    let seconds: Int?
    /// Further words of the command, such as `--heartbeat URL`.
    let options: [String]
    /// Further words of a check that runs once a week and restores the newest version on trial; nil for no such check.
    let restoreCheck: [String]?

    /// - Throws: ``SyncError`` with `.refused`.
    func report(for scheduler: Scheduler) throws -> ScheduleReport {
        for path in [program, database] + options + (restoreCheck ?? []) where path.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) {
            throw SyncError(
                .refused, at: path == program || path == database ? path : "an option",
                "a text with control characters fits into no \(scheduler == .cron ? "crontab" : "unit file")",
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

    /// A number that stands for the database: FNV-1a of its device and cloud.
    var seed: UInt64 {
        "\(device) \(cloudUUID)".utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    private func syncLine(every seconds: Int) throws -> String { line(at: try CronTime(seconds: seconds, seed: seed), "sync --quiet", options) }

    private func checkLine(_ options: [String]) -> String { line(at: CronTime(weeklyBySeed: seed), Self.check, options) }

    private func line(at time: CronTime, _ command: String, _ options: [String]) -> String {
        let words = ([program] + command.split(separator: " ").map(String.init) + ["--db", database] + options).map(ShellWord.quote)
        // A percent sign would be a line feed to cron, quoted or not.
        return "\(time.fields) \((time.pause > 0 ? "sleep \(time.pause); " : "") + words.joined(separator: " "))".replacing("%", with: "\\%")
    }

    /// The command that restores the newest version on trial.
    private static let check = "verify --restore --quiet"

    /// A unit's command line.
    private func commandLine(_ command: String, _ options: [String]) -> String {
        "\(UnitWord.quote(program)) \(command) --db" + ([database] + options).map { " " + UnitWord.quote($0, isArgument: true) }.joined()
    }

    /// The lines of a unit that say which file it is, and how it is started.
    private func place(_ file: String, isStarted: Bool) -> String {
        """
        # /etc/systemd/system/\(file)\(isStarted ? ", then: systemctl daemon-reload && systemctl enable --now \(file)" : "")
        # for one user: ~/.config/systemd/user/\(file)\(isStarted ? ", then the same with systemctl --user, and: loginctl enable-linger" : "")
        """
    }

    /// A service that watches: for the system, or for one user.
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
            "snapsync-\(device)", "sync --quiet", options, says: "Sync \(UnitWord.escape(database)) with snapsync",
            when: "Sync \(UnitWord.escape(database)) every \(AgeText.words(seconds: seconds))",
            """
            OnBootSec=\(min(seconds, 60))s
            OnUnitActiveSec=\(seconds)s
            RandomizedDelaySec=\(min(max(seconds / 10, 1), 300))s
            AccuracySec=1s
            """)
    }

    private func checkUnits(_ options: [String]) -> [ScheduleReport.Unit] {
        let says = "Restore the newest version of \(UnitWord.escape(database)) on trial"
        return timed(
            "snapsync-check-\(device)", Self.check, options, says: says, when: "\(says) every week",
            """
            OnCalendar=weekly
            RandomizedDelaySec=1d
            Persistent=true
            """)
    }

    /// A service that runs a command once, and the timer that starts it.
    private func timed(_ name: String, _ command: String, _ options: [String], says: String, when: String, _ times: String) -> [ScheduleReport.Unit] {
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
