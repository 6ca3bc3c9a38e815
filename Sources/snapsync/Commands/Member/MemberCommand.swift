public import ArgumentParser
public import CloudStore

/// `snapsync member`: manages who may write to a signed zone.
struct MemberCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "member",
        abstract: "Show and change who may publish and send edits in a signed zone.",
        discussion: """
            A device asks to be a member when it is set up in a signed zone (init). A member that publishes approves it.

            EXAMPLES
              snapsync member list --db desk.db
              snapsync member approve phone --db desk.db
              snapsync member role phone observer --db desk.db
              snapsync member remove phone --db desk.db
              snapsync member freshness on --db desk.db
            """,
        subcommands: [
            MemberListCommand.self, MemberApproveCommand.self, MemberRoleCommand.self, MemberRemoveCommand.self, MemberFreshnessCommand.self,
            MemberSettleCommand.self,
        ])
}

extension MemberRole: ExpressibleByArgument {}
