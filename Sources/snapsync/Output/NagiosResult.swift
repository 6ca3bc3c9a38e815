import SnapshotSync
import StrictText

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
        for fork in report.forks where !fork.isHealed { add(.critical, fork.sentence) }
        if let error = report.lastError { add(.warning, "the last run failed: \(error.place): \(error.reason)") }
        if let problem = report.cloudProblem { add(.warning, problem.error.reason) }
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
