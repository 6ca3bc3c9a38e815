import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync report`: writes an HTML page for people.
struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Write an HTML status page: devices, versions, sizes, the last change, and what needs attention.",
        discussion: """
            Writes one HTML page for people: the verdict in a sentence, what needs attention and what mends it, devices with their lag, \
            last report and messages, versions over time, datasets with rows, bytes, their part of the asset limit and a forecast, what \
            the last version changed, who signs and who asks to be a member, forks, guards, conflicts, and commands to copy for restore, \
            repair and approval. The page is one file. It holds no script and loads nothing; its own Content-Security-Policy forbids both. \
            Names and values enter it only as text.

            The page tells what status, history, doctor, messages, member list and diff find. Unlike doctor it does not read the whole \
            database and does not try out what the cloud can do, so it writes nothing but the page. One bar of the plot stands for a span \
            of time that the page names, so that there are at most 96 bars. The forecast is a straight line through the sizes of the last \
            90 days; between two snapshot assets a size is estimated from the number of rows.

            Several clouds can stand on one page. Each --cloud is a cloud that is read without a database; it does not rename the cloud of \
            --db, as it does elsewhere (SNAPSYNC_CLOUD does). The file is replaced whole, as one step: a reader sees the old page or the \
            new one. A page that is there keeps its owner and permissions; a new one can be read by its owner alone, because it shows the \
            keys of rows. The page is written even if a cloud cannot be read, and says why; then the exit code says so, too. Findings do \
            not change the exit code: use status --strict or doctor in a monitor.

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
        try await output.printer.work("report") { _ in
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

    init(html: String, _ page: ReportPage, _ size: Int, took: Duration) {
        (self.html, verdict, severity, self.size) = (html, page.verdict, page.severity.rawValue, size)
        milliseconds = Int(took / .milliseconds(1))
        zones = page.zones.map { Zone(database: $0.database, cloud: $0.cloud, zone: $0.zone, worst: $0.doctor.worst) }
    }
}
