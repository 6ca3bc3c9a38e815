import CloudStore
import SnapshotEngine
import SnapshotVersions
import StrictText

/// A command that a page offers for copying.
struct CopyCommand: Sendable {
    /// The purpose, for the page's label.
    let purpose: String
    /// The command line, quoted for a shell.
    let line: String

    /// - Parameter words: the words after `snapsync`; nil for a word that is unsafe for a shell.
    init?(_ purpose: String, _ words: [String?]) {
        let known = words.compactMap(\.self)
        // A name from a cloud may contain terminal control characters or look like an option.
        guard known.count == words.count, !known.contains(where: { $0.unicodeScalars.contains(where: VisibleText.isControl) }) else { return nil }
        self.purpose = purpose
        line = (["snapsync"] + known).map(\.shellWord).joined(separator: " ")
    }

    /// The commands for a zone: checking, restoring, repairing and approving members.
    static func all(_ zone: ZoneOverview) -> [CopyCommand] {
        let database = zone.database ?? "FILE", here = zone.database.map { ["--db", $0] } ?? ["--cloud", zone.cloud, "--zone", zone.zone]
        var commands: [CopyCommand?] = []
        if zone.status != nil { commands.append(CopyCommand("Sync now", ["sync", "--db", database])) }
        commands.append(CopyCommand("Look for everything that could be wrong", ["doctor", "--all"] + here))
        commands.append(CopyCommand("Check every kept version to the last byte", ["verify", "--all"] + here))
        commands.append(CopyCommand("Restore the newest version on trial, and compare", ["verify", "--restore"] + here))
        commands += restoring(zone, database, here)
        if !CloudLocation.isBucket(zone.cloud) {
            commands.append(CopyCommand("See what repair would mend", ["repair", "--dry-run"] + here))
            commands.append(CopyCommand("Bring damaged files back", ["repair"] + here))
        }
        if let requests = zone.details.members?.requests {
            commands += requests.filter { !$0.isNameTaken }.prefix(requestLimit).map { request in
                CopyCommand(
                    "Admit \(request.device): it shows the words again and asks whether they are those on the device",
                    ["member", "approve", request.device.exact.hasPrefix("-") ? nil : request.device, "--db", database])
            }
        }
        if let status = zone.status, status.conflicts > 0 { commands.append(CopyCommand("See the edits that lost", ["conflicts", "list", "--db", database])) }
        return commands.compactMap(\.self)
    }

    private static func restoring(_ zone: ZoneOverview, _ database: String, _ here: [String]) -> [CopyCommand?] {
        guard let change = zone.details.change else { return [] }
        let before = "\(change.from)"
        var commands = [CopyCommand("See what version \(change.to) changed, with values", ["diff", before, "\(change.to)", "--values"] + here)]
        if zone.status?.role == "reader" {
            commands.append(CopyCommand("Show version \(before) on this device, until the next import", ["import", "--version", before, "--db", database]))
        } else {
            commands.append(CopyCommand("Go back to version \(before), the one before the newest", ["restore", "--version", before, "--db", database]))
            let dayBefore = zone.madeAt.advanced(byMicroseconds: -86_400_000_000)
            if let first = zone.details.facts.flatMap({ try? $0.commits.get().first }), first.timestamp < dayBefore {
                commands.append(CopyCommand("Go back to how it was a day before this page", ["restore", "--before", "\(dayBefore)", "--db", database]))
            }
        }
        if zone.status?.undo != nil { commands.append(CopyCommand("Take the last restore or replace back", ["undo", "--db", database])) }
        commands.append(CopyCommand("Keep version \(change.to) whatever is pruned", ["pin", "\(change.to)", "--db", database]))
        return commands
    }

    private static let requestLimit = 20
}
