import ArgumentParser
import CommandSupport

/// The root command of the second program: what only the examples and the designs that they come from need.
@main
struct Examples: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapsync-examples",
        abstract: "Share projects with comments, and make sample data, for the examples of snapsync.",
        discussion: """
            EXAMPLES
              snapsync-examples generate phone.db
              snapsync-examples share list /mnt/share/cloud
            """,
        version: "0.3.0",
        subcommands: [ShareCommand.self, GenerateCommand.self])

    static func main() async { await Program.run(Examples.self) }
}
