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

    /// - Throws: ``SyncError`` with `.refused`.
    func report(for scheduler: Scheduler) throws -> ScheduleReport {
        for path in [program, database] + options where path.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) {
            throw SyncError(
                .refused, at: options.contains(path) ? "an option" : path,
                "a text with control characters fits into no \(scheduler == .cron ? "crontab" : "unit file")",
                hint: "call it by another path, a symbolic link for instance")
        }
        guard let seconds else { return ScheduleReport(interval: nil, crontab: nil, units: [watch()]) }
        switch scheduler {
        case .cron: return ScheduleReport(interval: seconds, crontab: try crontab(every: seconds), units: nil)
        case .systemd: return ScheduleReport(interval: seconds, crontab: nil, units: units(every: seconds))
        }
    }

    /// A number that stands for the database: FNV-1a of its device and cloud.
    var seed: UInt64 {
        "\(device) \(cloudUUID)".utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    private func crontab(every seconds: Int) throws -> String {
        let time = try CronTime(seconds: seconds, seed: seed)
        let command = "\(ShellWord.quote(program)) sync --quiet --db \(ShellWord.quote(database))" + options.map { " " + ShellWord.quote($0) }.joined()
        // A percent sign would be a line feed to cron, quoted or not.
        return "\(time.fields) \((time.pause > 0 ? "sleep \(time.pause); " : "") + command)".replacing("%", with: "\\%")
    }

    /// The further words, as a unit's command line has them.
    private var words: String { options.map { " " + UnitWord.quote($0, isArgument: true) }.joined() }

    /// A service that watches: for the system, or for one user.
    private func watch() -> ScheduleReport.Unit {
        let name = "snapsync-watch-\(device)"
        let text = """
            # /etc/systemd/system/\(name).service, then: systemctl daemon-reload && systemctl enable --now \(name)
            # for one user: ~/.config/systemd/user/\(name).service, then the same with systemctl --user, and: loginctl enable-linger
            [Unit]
            Description=Sync \(UnitWord.escape(database)) with snapsync watch

            [Service]
            ExecStart=\(UnitWord.quote(program)) watch --db \(UnitWord.quote(database, isArgument: true))\(words)
            # It ends by itself only where the database cannot be opened.
            Restart=on-failure
            RestartSec=30s

            [Install]
            WantedBy=default.target

            """
        return ScheduleReport.Unit(name: "\(name).service", text: text)
    }

    private func units(every seconds: Int) -> [ScheduleReport.Unit] {
        let name = "snapsync-\(device)", jitter = min(max(seconds / 10, 1), 300)
        let service = """
            # /etc/systemd/system/\(name).service; for one user: ~/.config/systemd/user/\(name).service
            [Unit]
            Description=Sync \(UnitWord.escape(database)) with snapsync

            [Service]
            Type=oneshot
            ExecStart=\(UnitWord.quote(program)) sync --quiet --db \(UnitWord.quote(database, isArgument: true))\(words)
            # Another run at work, or a file that has not arrived yet: the next run does what is left.
            SuccessExitStatus=75

            """
        let timer = """
            # /etc/systemd/system/\(name).timer, then: systemctl daemon-reload && systemctl enable --now \(name).timer
            # for one user: ~/.config/systemd/user/\(name).timer, then the same with systemctl --user, and: loginctl enable-linger
            [Unit]
            Description=Sync \(UnitWord.escape(database)) every \(AgeText.words(seconds: seconds))

            [Timer]
            OnBootSec=\(min(seconds, 60))s
            OnUnitActiveSec=\(seconds)s
            RandomizedDelaySec=\(jitter)s
            AccuracySec=1s

            [Install]
            WantedBy=timers.target

            """
        return [ScheduleReport.Unit(name: "\(name).service", text: service), ScheduleReport.Unit(name: "\(name).timer", text: timer)]
    }
}
