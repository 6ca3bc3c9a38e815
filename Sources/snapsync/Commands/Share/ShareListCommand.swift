import ArgumentParser
import SnapshotSync

/// `snapsync share list`: lists the shared projects, newest first.
struct ShareListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the shared projects, newest first.",
        discussion: """
            The order is by the time when they were first shared, so a project that is replaced keeps its place.

            EXAMPLES
              snapsync share list --cloud /mnt/share/cloud
              snapsync share list --db tracker.db --limit 10 --page 2 --json
            """)

    @OptionGroup var share: ShareOptions
    @Option(name: .long, help: ArgumentHelp("At most this many projects.", valueName: "n"))
    var limit = 20
    @Option(name: .long, help: ArgumentHelp("Which page of that many projects, from 1.", valueName: "n"))
    var page = 1
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard limit >= 1, page >= 1 else { throw ValidationError("A limit and a page are at least 1.") }
    }

    func run() async throws {
        try await output.printer.run(.fetch) {
            let found = try await find()
            let report = ShareListReport(
                zone: share.zone, state: found.projects.isEmpty ? .noResults : .success, page: page, hasMore: found.cursor != nil,
                projects: found.projects.map(ShareProjectReport.init), unreadable: found.unreadable)
            try output.printer.print(report, lines(report))
        }
    }

    /// Reads the pages up to the requested one. All pages come from one reading of the zone.
    private func find() async throws -> SharedProjectPage {
        let sharing = try await share.sharing()
        var found = try await sharing.projects(limit: limit)
        for _ in 1..<page {
            guard let cursor = found.cursor else { return SharedProjectPage.end }
            found = try await sharing.projects(continuing: cursor, limit: limit)
        }
        return found
    }

    private func lines(_ report: ShareListReport) -> [String] {
        let lines = report.projects.map(ShareFormat.line) + report.unreadable.map { "  \($0): not a project that this version can read" }
        if lines.isEmpty { return [page == 1 ? "no projects are shared" : "no more projects"] }
        return lines + (report.hasMore ? ["more: --page \(page + 1)"] : [])
    }
}
