import ArgumentParser
import SnapshotSync

/// `snapsync member freshness`: promises a version at least once a day.
struct MemberFreshnessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "freshness",
        abstract: "Let publishers make a version at least once a day, so that devices notice when new versions are withheld.",
        discussion: """
            Whoever administers the store cannot forge a version, but can keep new ones back. With on, each publisher signs a version at
            least once a day, also if nothing was changed, with its usual syncs; it changes no row and costs one small file. A reader
            whose newest version is more than three days old warns: sync, status and doctor say so. off takes that back. Run it on a
            member that publishes (78). init --freshness does the same for a new zone.

            EXAMPLES
              snapsync member freshness on --db desk.db
              snapsync member freshness off --db desk.db
            """)

    enum State: String, ExpressibleByArgument, CaseIterable {
        case on, off
    }

    @Argument(help: "Whether there is a version at least once a day.")
    var state: State
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let report = try await engine.setFreshness(state == .on)
            try output.printer.done(
                report,
                [
                    report.interval == nil
                        ? "zone \(report.zone) has a version only when there is something new, from version \(report.version) on"
                        : "zone \(report.zone) has a version at least once a day, from version \(report.version) on; devices warn after three days without one"
                ])
        }
    }
}
