import ArgumentParser

/// `snapsync share`: projects that everyone with access to the cloud can see.
struct ShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: "Share projects with everyone who can read the location, and comment on them.",
        discussion: """
            A project with its items is published under its owner's name, from a JSON file or from a database's tables. Others list it, look at \
            it and comment on it; the device that shared it alone replaces or removes it.

            EXAMPLES
              snapsync share publish --cloud /mnt/share/cloud --file garden.json --owner Anna
              snapsync share list --cloud /mnt/share/cloud
              snapsync share comment --cloud /mnt/share/cloud --project garden --name Ben --text "Lovely!"
            """,
        subcommands: [
            SharePublishCommand.self, ShareStatusCommand.self, ShareListCommand.self, ShareShowCommand.self, ShareRemoveCommand.self,
            ShareCommentCommand.self, ShareCommentsCommand.self, ShareMembersCommand.self, ShareApproveCommand.self, ShareDismissCommand.self,
        ])
}
