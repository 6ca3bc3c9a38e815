import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync report`: writes an HTML page for people.
struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Write an HTML status page: what needs attention, devices, versions, members and messages.",
        discussion: """
            Write what doctor, status, history, member list and messages print to one page for a browser, with a first line that says \
            whether all is well. The page is one file without scripts, and it loads nothing. Unlike doctor, report neither reads the whole \
            database nor tests what the store can do.

            Pass --cloud for each shared folder to show without a database. With --db it does not replace the database's own folder. For \
            that, set SNAPSYNC_CLOUD. The file is replaced in one step. An existing page keeps its owner and permissions. Only its owner \
            can read a new one. If a folder cannot be read, the page shows the reason, and report exits \
            with that status. Findings do not change the exit status: for a monitor, use status --strict or doctor.

            EXAMPLES
              snapsync report --html report.html --db phone.db
              snapsync report --html sync.html --cloud /mnt/share --cloud s3://backup/app
            """)

    @Option(name: .long, help: ArgumentHelp("The page to write.", valueName: "file"), completion: .file())
    var html: String
    @OptionGroup var database: DatabaseFile
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Also show this shared folder or bucket, without a database. May be repeated. Default, without --db: SNAPSYNC_CLOUD.
            """, valueName: "dir"),
        completion: .directory)
    var cloud: [String] = []
    @Option(name: .long, help: ArgumentHelp("The zone in each --cloud.", valueName: "name"))
    var zone = "ZentikSyncZone"
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard database.pathIfAny != nil || !cloud.isEmpty || DatabaseOptions.environment("SNAPSYNC_CLOUD") != nil else {
            throw ValidationError("Pass --db FILE, --cloud DIR, or both.")
        }
        guard !html.isEmpty else { throw ValidationError("--html requires the name of a file.") }
    }

    func run() async throws {
        try await output.printer.work("report") { _ in
            let begin = ContinuousClock.now
            var zones: [StatusPage.Zone] = []
            let elsewhere = DatabaseOptions.environment("SNAPSYNC_CLOUD")
            if let path = database.db ?? (cloud.isEmpty ? database.pathIfAny : nil) {
                zones.append(try await StatusPage.Zone(SyncEngine.ofCommand(database: path, cloud: elsewhere)))
            }
            let clouds = cloud.isEmpty && zones.isEmpty ? [elsewhere].compactMap(\.self) : cloud
            for cloud in clouds { zones.append(await StatusPage.Zone(cloud: cloud, zone: zone)) }
            let page = StatusPage(zones: zones), text = page.text
            try ReplacedFile.write(text, to: html, mode: 0o600, keepsMode: true)
            let report = PageReport(html: html, page, text.utf8.count, took: ContinuousClock.now - begin)
            try output.printer.print(report, ["\(html): \(page.verdict)", "  \(Format.bytes(report.size)) in \(report.milliseconds) ms"])
            if let error = zones.lazy.compactMap(\.error).first { throw error }
        }
    }
}

/// The result of `report`.
private struct PageReport: Encodable {
    struct Zone: Encodable {
        let database: String?
        let cloud: String
        let zone: String
        let worst: String?
    }

    let html: String
    let verdict: String
    /// `ok`, `notice`, `warning` or `error`.
    let severity: String
    /// The page's length in bytes.
    let size: Int
    let milliseconds: Int
    let zones: [Zone]

    init(html: String, _ page: StatusPage, _ size: Int, took: Duration) {
        (self.html, verdict, severity, self.size) = (html, page.verdict, page.severity.rawValue, size)
        milliseconds = Int(took / .milliseconds(1))
        zones = page.zones.map(\.doctor).map { Zone(database: $0.database, cloud: $0.cloud, zone: $0.zone, worst: $0.worst) }
    }
}
