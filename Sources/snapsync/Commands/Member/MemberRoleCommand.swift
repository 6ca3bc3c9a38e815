import ArgumentParser
import CloudStore
import SnapshotSync

/// `snapsync member role`: changes the role of a member.
struct MemberRoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "role",
        abstract: "Give a member of the signed zone another role.",
        discussion: """
            The roles are those of member approve.

            EXAMPLE
              snapsync member role phone observer --db desk.db
            """)

    @Argument(help: "The member's name, as member list shows it.", completion: Completions.devices)
    var name: String
    @Argument(help: "What it may do: writer and peer publish, reader sends messages, observer only reads.")
    var role: MemberRole
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let report = try await engine.setMemberRole(role, of: name)
            try output.printer.done(report, ["\(report.device) has the role \(report.role) in zone \(report.zone) from version \(report.version) on"])
        }
    }
}
