import ArgumentParser
import CloudStore
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync status`: shows the state of the database and of the zone.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what this database has, what the zone has, and how far they are apart.",
        discussion: """
            Show the state of the database and the zone. If the shared folder cannot be read, status prints what the database knows, and \
            exits with the status of that error. Without a database, log and check show a zone.

            For a monitor, --strict fails if the last success is too old, or if edits could not be sent. --prometheus writes a file for \
            node_exporter's textfile collector, and --openmetrics one with timestamps for other readers. The file is replaced in one step, \
            even if the shared folder cannot be read.

            --strict --nagios prints one line with performance data for a plug-in. CRITICAL: the last success is missing or too old, edits \
            could not be sent, or a trial restore found problems. WARNING: the last run failed, the shared folder cannot \
            be read, sync is off, edits lost, or a message is missing. UNKNOWN: the database cannot be read, or the greatest age is not \
            set.

            --html writes a page for a browser with what check, status, log, zone members and pending print, and a first line that sums it \
            up. The page is one file without scripts, and it loads nothing. It neither reads the whole database nor tests what the store can \
            do. With --html, the first argument can be a location without a database, and --also adds further locations. An existing page \
            keeps its owner and permissions. Only its owner can read a new one. Findings do not change the exit status: for a monitor, use \
            --strict or check.

            EXAMPLES
              snapsync status phone.db
              snapsync status phone.db --strict --max-age 45m
              snapsync status phone.db --strict --nagios --max-age 45m
              snapsync status phone.db --prometheus /var/lib/node_exporter/phone.prom
              snapsync status phone.db --html report.html
              snapsync status /mnt/share/app --html report.html --also s3://backup/app
              snapsync status phone.db --json
            """)

    @OptionGroup var look: LookOptions
    @Flag(name: .long, help: "List every device. Default: if there are more than 10, only those that are behind, at most 10.")
    var all = false
    @Flag(
        name: .long,
        help: """
            Exit with status 75 if the last success is missing or too old, or if edits could not be sent. Requires --max-age, or an \
            interval (config set interval).
            """)
    var strict = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            With --strict: the greatest age of the last success: 90s, 45m, 2h, 1d. Default: three intervals.
            """, valueName: "time"))
    var maxAge: TimeSpan?
    @Option(
        name: .long, help: ArgumentHelp("Write the status to this file in Prometheus text format, and print nothing.", valueName: "file"), completion: .file()
    )
    var prometheus: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Write the status to this file in OpenMetrics text format, with a timestamp for each sample, and print nothing.
            """, valueName: "file"),
        completion: .file())
    var openmetrics: String?
    @Flag(
        name: .long,
        help: """
            With --strict: print one line for Nagios or Icinga, and exit with status 0 (OK), 1 (WARNING), 2 (CRITICAL) or 3 (UNKNOWN).
            """)
    var nagios = false
    @Option(name: .long, help: ArgumentHelp("Write a page for a browser to this file, and print one line.", valueName: "file"), completion: .file())
    var html: String?
    @Option(
        name: .long, help: ArgumentHelp("With --html: also show this shared folder or bucket. May be repeated.", valueName: "dir"), completion: .directory)
    var also: [String] = []
    @OptionGroup(title: "Common options") var output: OutputOptions

    func validate() throws {
        guard html?.isEmpty != true else { throw ValidationError("--html requires the name of a file.") }
        guard html == nil || !strict && !writesMetrics else { throw ValidationError("--html cannot be combined with --strict, --prometheus or --openmetrics.") }
        guard html != nil || also.isEmpty else { throw ValidationError("--also requires --html.") }
        guard html != nil || look.place == nil || look.database != nil else {
            throw ValidationError("status requires a database. Of a location, run log, check or status --html.")
        }
        guard maxAge == nil || strict else { throw ValidationError("--max-age requires --strict.") }
        guard !nagios || strict else { throw ValidationError("--nagios requires --strict.") }
        guard !nagios || !output.json else { throw ValidationError("Choose one of --nagios and --json.") }
    }

    private var writesMetrics: Bool { prometheus != nil || openmetrics != nil }

    func run() async throws {
        guard !nagios else { return try await check() }
        if let html { return try await writePage(to: html) }
        try await output.printer.run {
            let engine = try look.engine()
            try await writeMetrics(engine)
            guard !writesMetrics || strict else { return }
            let report = try await engine.status()
            if !writesMetrics {
                try output.printer.print(report, lines: report.lines(all: all))
                // The local state was printed, but an unreadable cloud is still an error.
                if let problem = report.cloudProblem { throw problem }
            }
            if strict { try report.verifyFresh(within: maxAge?.duration) }
        }
    }

    private func writeMetrics(_ engine: SyncEngine) async throws {
        if let prometheus { try await engine.writeMetrics(to: prometheus) }
        if let openmetrics { try await engine.writeMetrics(to: openmetrics, format: .openMetrics) }
    }

    private func writePage(to html: String) async throws {
        try await output.printer.work("status") { _ in
            let begin = ContinuousClock.now
            var zones: [StatusPage.Zone] = []
            if look.database != nil { zones.append(try await StatusPage.Zone(look.engine())) }
            for location in (look.database == nil ? [try look.required()] : []) + also {
                zones.append(await StatusPage.Zone(cloud: location, zone: try await look.zone.name(in: location)))
            }
            let page = StatusPage(zones: zones), text = page.text
            try ReplacedFile.write(text, to: html, mode: 0o600, keepsMode: true)
            let report = PageReport(html: html, page, text.utf8.count, took: ContinuousClock.now - begin)
            try output.printer.print(report, ["\(html): \(page.verdict)", "  \(Format.bytes(report.size)) in \(report.milliseconds) ms"])
            if let error = zones.lazy.compactMap(\.error).first { throw error }
        }
    }

    /// Prints the line of a Nagios plug-in, and exits with its code.
    private func check() async throws {
        var result: NagiosResult
        do {
            let engine = try look.engine()
            // If the metrics file cannot be written, or the cloud cannot be read for it, that is one of the findings.
            let failure: SyncError?
            do {
                try await writeMetrics(engine)
                failure = nil
            } catch let error as SyncError { failure = error }
            result = NagiosResult(try await engine.status(), within: maxAge?.duration)
            if let failure { result.add(.warning, failure.reason) }
        } catch let error as SyncError {
            result = NagiosResult(unknown: "\(error.place): \(error.reason)")
        }
        try StandardStream.output.write(VisibleText.escape(result.line) + "\n")
        if result.state != .ok { throw ExitCode(result.state.rawValue) }
    }
}

extension StatusReport {
    /// The report for people.
    ///
    /// - Parameter all: whether to list every device, even if there are many.
    func lines(all: Bool) -> [Line] {
        var lines: [Line] = []
        func say(_ text: String, _ tone: Tone? = nil) { lines.append(Line(text, tone)) }
        say("\(database): \(role) \(device) of \(zone == ZoneID.main ? "" : "zone \(zone) in ")\(cloud)")
        let here = version.map { "version \($0)" } ?? "no version yet"
        if let behind {
            let there = newestVersion.map { "newest is \($0)" } ?? "the zone has none"
            say("  \(here), \(there)" + (behind > 0 ? ", \(behind) behind" : ""), behind > 0 ? .attention : .good)
        } else {
            say("  \(here); the location was not looked at")
        }
        for line in gate.lines { say("  \(line)", gate.isOpen ? nil : .attention) }
        let age = lastSuccessAge.map { ", \(AgeText.words(seconds: $0)) ago" } ?? ""
        say("  last success: \(lastSuccess?.description ?? "never")\(age); journal mode \(journalMode)")
        if let since = unsentSince { say("  imports go on, but messages of this device could not be sent since \(since)", .bad) }
        if let error = lastError, let at = lastErrorAt {
            say("  last error, at \(at): \(error.step.map { "\($0.rawValue) failed: " } ?? "")\(error.place): \(error.reason)", .bad)
        }
        if let check = lastRestoreCheck {
            let found = check.problems == 0 ? "all was well" : "\(Format.count(check.problems, "problem")) found"
            say("  last trial restore: version \(check.version) at \(check.at), \(found)", check.problems == 0 ? nil : .bad)
        }
        for dataset in datasets {
            let version = dataset.recordCount.map { "\(Format.entities($0)) of \(dataset.syncTimestamp?.description ?? "")" } ?? "no version yet"
            let stays = dataset.changesStay && dataset.changes > 0
            let kept = stays ? ", kept here alone: readers may not edit it" : ""
            let changes = dataset.isTracked ? "\(Format.count(dataset.changes)) changed since\(kept)" : "the next sync compares all rows"
            let size = dataset.assetSize.map { "; newest asset \(Format.bytes($0)), \(share($0, of: assetLimit)) of the limit" } ?? ""
            say("  \(dataset.name): \(version), \(changes)\(size)", stays ? .attention : nil)
        }
        if conflicts > 0 {
            say("  \(Format.count(conflicts, "edit")) lost and not yet reviewed; \(HintCommands().complete("see: snapsync conflicts"))", .attention)
        }
        if let undo { say("  \(HintCommands().complete("snapsync undo brings back \(undo)"))") }
        for copy in copies {
            say("  copy \(copy.number) of \(copy.at), \(copy.reason): \(Format.bytes(copy.size)) in \(database).snapsync-kept")
        }
        if let retention { say(line(retention)) }
        if let signature { say("  \(signature.sentence)") }
        if let exposure { say("  \(exposure)", .attention) }
        if let freshness {
            let newest = freshness.newest.map { "the newest that came here is of \($0)" } ?? "none has come here yet"
            let late = freshness.isLate ? ": too old; either no publisher syncs, or new versions are kept back from this device" : ""
            say("  a version at least every \(AgeText.words(seconds: freshness.interval)); \(newest)\(late)", freshness.isLate ? .attention : nil)
        }
        if let next = nextZone { say("  it goes on as zone \(next); this device has asked to be a member there", .attention) }
        for left in earlierZones {
            let version = left.version.map { ", version \($0)" } ?? ""
            say("  it goes on from zone \(left.zone)\(version)\(leftover(left))", left.isRemoved ? nil : .attention)
        }
        lines += messageLines + deviceLines(all: all)
        if let requests { say("  this look took \(Format.requests(requests))") }
        return lines
    }

    private func leftover(_ left: LeftZone) -> String {
        if left.isRemoved { return ", whose versions were removed" }
        let command = signature?.isSealed == true ? "encrypt" : "sign"
        let prune = HintCommands().complete("snapsync zone \(command) --prune-old")
        return ", whose versions can still be read by whoever can read the store, unless they were removed: \(prune)"
    }

    private var messageLines: [Line] {
        let counts = messages
        let told = [
            counts.unanswered > 0 ? "\(Format.count(counts.unanswered)) handed over and not decided yet" : nil,
            counts.missing > 0 ? "their message is missing from the mailbox, and the next sync puts it back" : nil,
            counts.waiting > 0 ? "\(Format.count(counts.waiting)) to be decided here" : nil,
        ].compactMap(\.self)
        return (told.isEmpty ? [] : [Line("  edits of readers: \(told.joined(separator: ", "))", counts.missing > 0 ? .attention : nil)])
            + (counts.overlays > 0
                ? [Line("  \(Format.count(counts.overlays)) changed here and kept here: \(HintCommands().complete("snapsync pending lists why"))")] : [])
    }

    private func line(_ retention: RetentionReport) -> String {
        let kept = [
            retention.keepWithin.map { "of the last \(AgeText.words(seconds: $0))" },
            retention.keepLast.map { $0 == 1 ? "of the last state of the data" : "of the last \($0) states of the data" },
        ]
        return "  this device keeps the versions \(kept.compactMap { $0 }.joined(separator: " and ")); "
            + (retention.lastRun.map { "it last looked for older ones at \($0)" } ?? "it has not looked for older ones yet")
    }

    /// The devices, one line each. If there are many: only those that are behind, the furthest behind first, and the number of the others.
    func deviceLines(all: Bool) -> [Line] {
        guard !all, devices.count > Self.deviceLimit else { return devices.map(line) }
        let late = devices.filter { $0.behind > 0 }.sorted { ($1.behind, $1.reportAge) < ($0.behind, $0.reportAge) }
        let shown = late.prefix(Self.deviceLimit), current = devices.count - late.count
        var lines = shown.map(line)
        if late.count > shown.count { lines.append(Line("  and \(Format.count(late.count - shown.count)) more that are behind (--all)", .attention)) }
        if current > 0 {
            lines.append("  \(Format.count(current, "device")) of \(Format.count(devices.count)) with the newest data (--all lists them)")
        }
        return lines
    }

    private static let deviceLimit = 10

    private func line(_ device: OtherDevice) -> Line {
        let version = device.version.map { "version \($0)" } ?? "no version yet"
        let lag = device.behind > 0 ? ", \(device.behind) behind" : ""
        let role = device.role + (device.device == self.device ? ", this one" : "") + (device.isMember == false ? ", no member" : "")
        return Line(
            "  device \(device.device) (\(role)): \(version)\(lag), as of \(device.reportedAt), \(AgeText.words(seconds: device.reportAge)) ago",
            device.behind > 0 ? .attention : nil)
    }

    private func share(_ size: Int, of limit: Int) -> String {
        let share = Double(size) / Double(limit) * 100
        return share < 1 ? "under 1 %" : "\(Int(share)) %"
    }
}

/// The result of a Nagios plug-in for a database: a state, one line of text, and performance data.
///
/// Source: "Nagios Plugin Development Guidelines", sections "Plugin Output" and "Performance data".
struct NagiosResult {
    /// The states, with their exit codes.
    enum State: Int32 {
        case ok = 0
        case warning = 1
        case critical = 2
        case unknown = 3

        var word: String { ["OK", "WARNING", "CRITICAL", "UNKNOWN"][Int(rawValue)] }
    }

    private(set) var state = State.ok
    private var findings: [String] = []
    private var summary = ""
    private var figures = ""

    /// The result if nothing is known about the database, for this reason.
    init(unknown reason: String) { add(.unknown, reason) }

    /// - Parameter maximumAge: the maximum age of the last success; nil means three of the scheduler's intervals.
    init(_ report: StatusReport, within maximumAge: Duration?) {
        do {
            try report.verifyFresh(within: maximumAge)
        } catch let error as SyncError {
            add(error.code == .refused ? .unknown : .critical, error.reason)
        } catch {
            add(.unknown, "\(error)")
        }
        if let check = report.lastRestoreCheck, check.problems > 0 {
            add(.critical, "the trial restore of version \(check.version) found \(Format.count(check.problems, "problem"))")
        }
        if let error = report.lastError { add(.warning, "the last run failed: \(error.place): \(error.reason)") }
        if let problem = report.cloudProblem { add(.warning, problem.reason) }
        if !report.gate.isOpen { add(.warning, report.gate.reason.map { "not synced: \($0)" } ?? "not synced") }
        if report.conflicts > 0 { add(.warning, "\(Format.count(report.conflicts, "edit")) lost") }
        if report.messages.missing > 0 { add(.warning, "the message with this device's edits is missing from the mailbox") }
        let age = report.lastSuccessAge.map { "last success \(AgeText.words(seconds: $0)) ago" } ?? "never synced"
        summary = "\(report.version.map { "version \($0)" } ?? "no version yet"), \(age)"
        let limit = maximumAge.map { Int($0.components.seconds) } ?? report.interval.map { $0 * 3 }
        let pending = report.datasets.reduce(0) { $0 + $1.changes }
        figures = [
            report.lastSuccessAge.map { "age=\($0)s;;\(limit.map(String.init) ?? "");0" }, report.version.map { "version=\($0)" },
            report.behind.map { "behind=\($0);;;0" }, "pending=\(pending);;;0", "conflicts=\(report.conflicts);;;0",
        ].compactMap(\.self).joined(separator: " ")
    }

    /// Adds a finding. The most severe finding determines the state; CRITICAL is more severe than UNKNOWN.
    mutating func add(_ state: State, _ finding: String) {
        let order: [State] = [.ok, .warning, .unknown, .critical]
        if order.firstIndex(of: state) ?? 0 > order.firstIndex(of: self.state) ?? 0 {
            self.state = state
            findings.insert(finding, at: 0)
        } else {
            findings.append(finding)
        }
    }

    /// The output line. A bar separates text from performance data, so bars in the text are replaced.
    var line: String {
        let words = (findings + [summary].filter { !$0.isEmpty }).joined(separator: "; ").escaping { $0 == UInt8(ascii: "|") ? "/" : nil }
        return "SNAPSYNC \(state.word) - \(words)" + (figures.isEmpty ? "" : " | \(figures)")
    }
}

/// The result of `status --html`.
private struct PageReport: Encodable {
    struct Zone: Encodable {
        let database: String?
        let cloud: String
        let zone: String
        let worst: String?
    }

    let html: String
    let verdict: String
    /// `ok`, `notice`, `warning` or `error`.
    let severity: String
    /// The page's length in bytes.
    let size: Int
    let milliseconds: Int
    let zones: [Zone]

    init(html: String, _ page: StatusPage, _ size: Int, took: Duration) {
        (self.html, verdict, severity, self.size) = (html, page.verdict, page.severity.rawValue, size)
        milliseconds = Int(took / .milliseconds(1))
        zones = page.zones.map(\.doctor).map { Zone(database: $0.database, cloud: $0.cloud, zone: $0.zone, worst: $0.worst) }
    }
}
