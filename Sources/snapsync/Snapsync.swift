import ArgumentParser
import CommandSupport
import StrictText

/// The root command. Each command parses its arguments, calls one method of the engine, and prints the result.
@main
struct Snapsync: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapsync",
        abstract: "Sync tables between SQLite databases through a shared folder or a bucket.",
        discussion: """
            A writer publishes versions of its tables. Readers import each version in one transaction. Peers do both. A location is a folder \
            or an s3:// bucket. The database is the first argument of a command. If SNAPSYNC_DB names it, you can leave it out.

            EXAMPLES
              snapsync demo
              snapsync init app.db /mnt/share/app
              snapsync sync app.db
              snapsync join copy.db /mnt/share/app
              snapsync sync copy.db

            EXIT CODES
              0   done, or nothing to do
              64  usage
              65  data refused: damaged, or rolled back
              66  nothing there
              69  location unavailable
              74  input or output failed
              75  try again later
              77  permission denied
              78  refused; snapsync explain 78
            """,
        version: "0.3.0",
        groupedSubcommands: [
            CommandGroup(
                name: "Everyday",
                subcommands: [
                    InitCommand.self, JoinCommand.self, SyncCommand.self, WatchCommand.self, StatusCommand.self, ServiceCommand.self, DemoCommand.self,
                ]),
            CommandGroup(
                name: "Look",
                subcommands: [
                    LogCommand.self, DiffCommand.self, ShowCommand.self, QueryCommand.self, GetCommand.self, ChangesCommand.self, PendingCommand.self,
                    ConflictsCommand.self, CheckCommand.self, ExplainCommand.self,
                ]),
            CommandGroup(
                name: "History",
                subcommands: [RestoreCommand.self, UndoCommand.self, PinCommand.self, PruneCommand.self, RepairCommand.self, CopyCommand.self]),
            CommandGroup(name: "Halves of sync", subcommands: [ExportCommand.self, ImportCommand.self]),
            CommandGroup(
                name: "Settings",
                subcommands: [TablesCommand.self, ConfigCommand.self, DeviceCommand.self, ZoneCommand.self, DetachCommand.self]),
        ])

    static func main() async { await Program.run(Snapsync.self, welcome: welcome, elsewhere: elsewhere) }

    /// What other programs call a command.
    private static let elsewhere: [ExactText: String] = [
        "push": "export", "pull": "import", "clone": "join", "list": "tables list", "ls": "tables list", "backup": "copy", "cat": "show", "dump": "show",
        "history": "log", "snapshots": "log", "fsck": "check", "doctor": "check", "verify": "check --read-data", "settings": "config", "cron": "service cron",
        "remove": "detach", "plan": "sync -n", "version": "--version", "devices": "device list", "encrypt": "zone encrypt", "rollback": "restore",
        "revert": "undo", "gc": "prune", "merge": "sync",
        "-v": "--version", "-V": "--version", "--db": "COMMAND DB",
    ]
}

extension Snapsync {
    /// What the program prints without arguments.
    private static var welcome: String {
        """
        snapsync copies tables between SQLite databases through a shared folder or an s3:// bucket.

        On the machine that owns the data:
          snapsync init app.db /mnt/share/app
          snapsync sync app.db

        On each machine that needs a copy:
          snapsync join copy.db /mnt/share/app
          snapsync sync copy.db

        To edit on several machines, use init with --peers, and join with --peer.

        Often used:
          snapsync status app.db       what this database has, and how far behind it is
          snapsync sync app.db -n      what a sync would do
          snapsync log app.db          the versions; restore goes back to one
          snapsync conflicts app.db    edits that lost to later ones
          snapsync check app.db        find problems, and how to fix them
          snapsync service cron app.db --every 15m

        snapsync demo shows the main job on sample data.
        snapsync --help lists all commands, and snapsync help COMMAND describes one.
        """
    }
}
