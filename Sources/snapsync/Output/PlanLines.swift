import SnapshotSync
import StrictText

extension SyncPlan {
    /// The plan, formatted for people.
    ///
    /// - Parameter rest: the hint that says how to see the entities that are not listed.
    func lines(rest: String) -> [String] {
        let here = version.map { "version \($0)" } ?? "no version yet", there = newestVersion.map { "version \($0)" } ?? "nothing"
        var lines = ["\(database): \(role) \(device), here is \(here), the cloud has \(there)"]
        lines += refusals.map { "  would stop: \($0)" }
        if isEmpty { lines.append("  a sync would change nothing") }
        for dataset in datasets {
            lines.append("  \(dataset.name)")
            lines.append(
                "    here: \(dataset.local.words); in the cloud: \(dataset.cloud.words)"
                    + (dataset.kept.total > 0 ? "; only here: \(dataset.kept.words)" : ""))
            if dataset.conflicts > 0 { lines.append("    changed on both sides: \(Format.count(dataset.conflicts))") }
            lines += dataset.items.map { "    \($0.side): \($0.change) \($0.key.description.debugDescription), \($0.wins) wins: \($0.reason)" }
            let more = dataset.local.total + dataset.cloud.total + dataset.kept.total - dataset.items.count
            if more > 0 { lines.append("    and \(Format.count(more)) more (\(rest))") }
        }
        return lines
    }
}

extension SyncPlan.Counts {
    fileprivate var words: String {
        total == 0 ? "nothing" : "\(Format.count(added)) added, \(Format.count(changed)) changed, \(Format.count(removed)) removed"
    }
}
