import ArgumentParser
import SnapshotSync

/// `snapsync member remove`: ends a device's membership, so that its signatures are refused.
struct MemberRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "End a device's membership of the signed zone.",
        discussion: """
            Ends a device's membership: snapsync member remove NAME. Versions, messages and reports that it signs from then on are \
            refused. What it could read it can still read, as long as it can read the cloud; in a sealed zone (docs/security.md) nothing \
            that is published afterwards. The last member that publishes stays (78).

            EXAMPLE
              snapsync member remove phone --db desk.db
            """)

    @Argument(help: "The member's name, as member list shows it.", completion: Completions.devices)
    var name: String
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let report = try await engine.removeMember(name)
            try output.printer.done(
                report,
                [
                    "\(report.device) is no member of zone \(report.zone) any more, from version \(report.version) on",
                    report.epoch.map {
                        "  what is published from now on has new keys, of epoch \($0), which it does not get; what it could read it can still read"
                    } ?? "  what it could read it can still read, as long as it can read the cloud",
                ])
        }
    }
}
