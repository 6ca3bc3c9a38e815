import ArgumentParser
import SnapshotSync

/// `snapsync report`: one HTML page for people.
struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Writes one HTML page that says how databases and clouds are: verdict, devices, versions, sizes, last change, commands.",
        discussion: """
            The page is one file without any script: open it in a browser, mail it, print it. Nothing is read that status, history, doctor and
            diff do not read, and nothing is changed but the page. It shows the keys of rows, and their values only with --values.
            A page that is there keeps its permissions; a new one is for its owner alone. The page is written even if a cloud is away,
            and says so; then the exit code says why.

            EXAMPLES
              snapsync report --html report.html --db phone.db
              snapsync report --html /srv/www/sync.html --cloud /mnt/share/cloud --cloud s3://backup/app
            """)

    @Option(name: .long, help: ArgumentHelp("The page to write.", valueName: "file"), completion: .file())
    var html: String
    @OptionGroup var database: DatabaseFile
    @Option(
        name: .long,
        help: ArgumentHelp("A cloud to tell of without a database. May be given several times. Default, without --db: SNAPSYNC_CLOUD.", valueName: "dir"),
        completion: .directory)
    var cloud: [String] = []
    @Option(name: .long, help: ArgumentHelp("The zone of each --cloud.", valueName: "name"))
    var zone = "ZentikSyncZone"
    @Flag(name: .long, help: "Show the values of the rows that the last version changed, not only their keys.")
    var values = false
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard database.pathIfAny != nil || !cloud.isEmpty || DatabaseOptions.environment("SNAPSYNC_CLOUD") != nil else {
            throw ValidationError("Say what the page is to tell of: --db FILE, --cloud DIR, or both.")
        }
        guard !html.isEmpty else { throw ValidationError("--html needs the name of a file.") }
    }

    func run() async throws {
        try await output.printer.run {
            let begin = ContinuousClock.now
            var zones: [ZoneOverview] = []
            let elsewhere = DatabaseOptions.environment("SNAPSYNC_CLOUD")
            if let path = database.db ?? (cloud.isEmpty ? database.pathIfAny : nil) {
                zones.append(try await SyncEngine.ofCommand(database: path, cloud: elsewhere).overview(hasValues: values))
            }
            let clouds = cloud.isEmpty && zones.isEmpty ? [elsewhere].compactMap(\.self) : cloud
            for cloud in clouds { zones.append(await SnapshotInspector.overview(cloud: cloud, zone: zone, hasValues: values)) }
            let page = ReportPage(zones)
            let size = try page.write(to: html)
            let report = PageReport(html: html, page, size, took: ContinuousClock.now - begin)
            try output.printer.print(report, ["\(html): \(page.verdict)", "  \(Format.bytes(size)) in \(report.milliseconds) ms"])
            if let error = zones.lazy.compactMap(\.error).first { throw error }
        }
    }
}

/// What `report` wrote.
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

    init(html: String, _ page: ReportPage, _ size: Int, took: Duration) {
        (self.html, verdict, severity, self.size) = (html, page.verdict, page.severity.rawValue, size)
        milliseconds = Int(took / .milliseconds(1))
        zones = page.zones.map { Zone(database: $0.database, cloud: $0.cloud, zone: $0.zone, worst: $0.doctor.worst) }
    }
}
