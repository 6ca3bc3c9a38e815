import ArgumentParser
import SnapshotSync

/// `snapsync member settle`: lets a person resolve a fork in which both sides changed the members.
struct MemberSettleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settle",
        abstract: "Resolve conflicting changes to the member list.",
        discussion: """
            If two peers publish the same version number and both changed the list of members, one of the two versions counts. The device
            whose version does not publishes its change again by itself, and both changes hold. Where it cannot, because the other one has
            removed it or a member that it had removed has published since, every device that had seen its version refuses the zone (65).
            Ask the members; then run this on such a device: it imports the version that stands and, if it publishes, removes again whom
            the lost version had removed. So two members that have removed each other are both removed.

            EXAMPLE
              snapsync member settle --db desk.db
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let report = try await engine.settleMembers()
            try output.printer.done(
                report,
                [
                    "this device takes the members of zone \(report.zone) as version \(report.version ?? 0) has them; it is \(report.role.map { "a \($0)" } ?? "no member")",
                    report.repeated.isEmpty ? "  nobody had to be removed again" : "  changed or removed again: \(report.repeated.joined(separator: ", "))",
                ])
        }
    }
}
