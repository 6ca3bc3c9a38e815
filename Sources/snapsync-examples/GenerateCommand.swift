import ArgumentParser
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync-examples generate`: adds sample notifications and buckets.
struct GenerateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Add realistic sample notifications and buckets to a database.",
        discussion: """
            Add sample buckets and notifications. The same numbers and seed give the same rows on every machine. A missing database or \
            table is created. With --mark-read, existing notifications are marked as read instead.

            EXAMPLES
              snapsync-examples generate phone.db --notifications 150 --buckets 8 --seed 1
              snapsync-examples generate phone.db --mark-read 3
            """)

    @OptionGroup var database: DatabaseFile
    @Option(name: .long, help: ArgumentHelp("The number of notifications.", valueName: "n"))
    var notifications = 150
    @Option(name: .long, help: ArgumentHelp("The number of buckets.", valueName: "n"))
    var buckets = 8
    @Option(name: .long, help: ArgumentHelp("Mark this many notifications as read, chosen by the seed, and add none.", valueName: "n"))
    var markRead: Int?
    @Option(name: .long, help: ArgumentHelp("The random seed.", valueName: "n"))
    var seed: UInt64 = 1
    @OptionGroup(title: "Common options") var output: OutputOptions

    func validate() throws {
        guard notifications >= 0, buckets >= 0 else { throw ValidationError("--notifications and --buckets must not be negative.") }
        guard markRead.map({ $0 >= 1 }) ?? true else { throw ValidationError("--mark-read must be at least 1.") }
        guard buckets > 0 || notifications == 0 else { throw ValidationError("--notifications requires at least one bucket.") }
    }

    func run() async throws {
        let path = try database.path()
        try await output.printer.work("generate") { _ in
            if let markRead {
                let report = try await SampleFiller.markRead(database: path, count: markRead, seed: seed)
                return try output.printer.done(report, ["\(path): marked \(Format.count(report.marked, "notification")) as read"])
            }
            let report = try await SampleFiller.fill(database: path, notifications: notifications, buckets: buckets, seed: seed)
            try output.printer.done(
                report,
                ["\(path): added \(Format.count(report.notifications, "notification")) in \(Format.count(report.buckets, "bucket")) (seed \(report.seed))"])
        }
    }
}
