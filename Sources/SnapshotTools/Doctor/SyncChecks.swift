import SnapshotEngine
import SnapshotHistory
import SnapshotVersions
import StrictText
import SyncRuns

/// Findings about a database's syncing: the gate, pending changes, failures and overdue runs.
enum SyncChecks {
    static func findings(_ status: StatusReport, at place: String) -> [DoctorReport.Finding] {
        gate(status.gate) + [version(status, at: place)] + freshness(status) + changes(status, at: place) + messages(status, at: place) + [
            schedule(status, at: place), lastRun(status, at: place),
        ] + conflicts(status, at: place) + copies(status, at: place)
    }

    static func gate(_ gate: GateReport) -> [DoctorReport.Finding] {
        guard gate.isOpen else {
            return [
                .warning(
                    "gate", code: .refused, "this database is not synced: \(gate.reason ?? "sync is off")",
                    means: "the location was not looked at; changes go on being noted, and nothing is lost", do: gate.hint)
            ]
        }
        let until = gate.entitledUntil.map { ", and the user may until \($0)" } ?? ""
        guard let problem = gate.entitlementProblem else { return [.ok("gate", "this database is synced: the user wants it\(until)")] }
        return [
            .notice(
                "gate", "this database is synced by the last answer, for whether the user may cannot be asked for: \(problem)",
                means: "the answer holds until its end", do: "see that the entitlement's file can be read")
        ]
    }

    private static func version(_ status: StatusReport, at place: String) -> DoctorReport.Finding {
        guard let version = status.version else {
            guard let newest = status.newestVersion, newest > 0 else {
                return .notice("version", "no version is here yet", means: "the database was set up and never synced", do: "run: snapsync sync \(place)")
            }
            return .notice(
                "version", "no version is here yet, and the location has version \(newest)",
                means:
                    "nothing is published from here before the first import; where a row is here and in the location, the location's counts and the one from here is kept",
                do: "run: snapsync import \(place)")
        }
        guard let behind = status.behind, behind > 0 else { return .ok("version", "version \(version) is here") }
        return .notice(
            "version", "version \(version) is here, \(behind) behind the newest", means: "the next sync brings what is new", do: "run: snapsync sync \(place)")
    }

    private static func freshness(_ status: StatusReport) -> [DoctorReport.Finding] {
        guard let promise = status.freshness else { return [] }
        guard promise.isLate else {
            return [.ok("freshness", "the zone has a version at least every \(AgeText.words(seconds: promise.interval)), and so it has here")]
        }
        return [
            .warning(
                "freshness", code: .tryAgainLater,
                "the newest version that came here is of \(promise.newest?.description ?? "never"), and the zone has one at least every \(AgeText.words(seconds: promise.interval))",
                means: "either no publisher syncs, or somebody keeps new versions back from this device",
                do: "ask a publisher for its version: snapsync status there")
        ]
    }

    private static func changes(_ status: StatusReport, at place: String) -> [DoctorReport.Finding] {
        status.datasets.compactMap { dataset in
            // Before the first version there is nothing to compare with.
            guard status.version != nil else { return nil }
            guard dataset.isTracked else {
                return .notice(
                    "changes", "\(dataset.name): not every change since the last version is noted", means: "the next sync compares all rows",
                    do: "run: snapsync sync \(place)")
            }
            guard dataset.changes > 0 else { return .ok("changes", "\(dataset.name): nothing was changed since the last sync") }
            let found = "\(dataset.name): \(Format.count(dataset.changes, "entity was", or: "entities were")) changed since the last version"
            guard !dataset.changesStay else {
                return .notice(
                    "changes", found, means: "readers may not edit \(dataset.name), so no other device gets this",
                    do: "edit it at the publisher; or let readers edit it: snapsync tables edits \(dataset.name) there")
            }
            return .notice(
                "changes", found,
                means: status.role == "reader" ? "the next sync hands over what readers may edit" : "the next sync publishes them",
                do: "run: snapsync sync \(place)")
        }
    }

    private static func messages(_ status: StatusReport, at place: String) -> [DoctorReport.Finding] {
        let counts = status.messages
        let waiting = [(counts.unanswered, "handed over and not decided yet"), (counts.waiting, "to be decided here")].filter { $0.0 > 0 }
        var findings: [DoctorReport.Finding] = []
        if !waiting.isEmpty {
            findings.append(
                .notice(
                    "messages", "edits of readers: " + waiting.map { "\($0.0) \($0.1)" }.joined(separator: ", "),
                    means: "the next sync of this device, then of the publisher's, settles them", do: "run: snapsync sync \(place)"))
        }
        if counts.missing > 0 {
            findings.append(
                .warning(
                    "messages", code: .tryAgainLater, "the message with this device's edits is not in the mailbox as it was sent",
                    means: "the publisher may never see it; the next sync here puts it back",
                    do:
                        "run: snapsync sync \(place); if it happens again, see that the tool that carries the directory carries messages/ back from this device and removes nothing there"
                ))
        }
        return findings.isEmpty ? [.ok("messages", "no message is under way")] : findings
    }

    private static func schedule(_ status: StatusReport, at place: String) -> DoctorReport.Finding {
        guard let interval = status.interval else { return .ok("schedule", "no interval is set") }
        do {
            try status.verifyFresh()
            return .ok("schedule", "the last success is not older than three intervals of \(AgeText.words(seconds: interval))")
        } catch {
            let error = SyncError(error, step: .read)
            return .warning(
                "schedule", code: .tryAgainLater, error.reason,
                means: "what should run a sync every \(AgeText.words(seconds: interval)) does not, or each run fails",
                do: "see that it runs: systemctl list-timers, or crontab -l; or run: snapsync sync \(place)")
        }
    }

    private static func lastRun(_ status: StatusReport, at place: String) -> DoctorReport.Finding {
        guard let failure = status.lastError, let at = status.lastErrorAt else {
            return .ok("lastRun", status.lastSuccess.map { "the last run ended well, at \($0)" } ?? "no run has failed")
        }
        return .warning(
            "lastRun", code: .tryAgainLater, "the last run failed, at \(at): \(failure.place): \(failure.reason)",
            means: "nothing was changed by it; if the reason is still there, it is among these findings",
            do: failure.hint.flatMap { $0.exact.contains("snapsync check") ? nil : $0 } ?? "run: snapsync sync \(place)")
    }

    private static func conflicts(_ status: StatusReport, at place: String) -> [DoctorReport.Finding] {
        guard status.conflicts > 0 else { return [.ok("conflicts", "no edit that lost waits for the user")] }
        return [
            .notice(
                "conflicts",
                "\(Format.count(status.conflicts, "edit")) lost and not yet reviewed",
                means: "the conflict journal keeps each for 90 days; then it is gone", do: "run: snapsync conflicts \(place)")
        ]
    }

    private static func copies(_ status: StatusReport, at place: String) -> [DoctorReport.Finding] {
        guard !status.copies.isEmpty else { return [.ok("copies", "no copy of earlier data lies beside the database")] }
        let size = Format.bytes(status.copies.reduce(0) { $0 + $1.size })
        return [
            .notice(
                "copies",
                "\(Format.count(status.copies.count, "copy", or: "copies")) of earlier data in \(status.database).snapsync-kept (\(size))",
                means: "what was replaced on purpose is kept there",
                do: "snapsync prune \(place) --copies --keep-last N keeps the last N")
        ]
    }
}
