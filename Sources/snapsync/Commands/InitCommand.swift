public import ArgumentParser
import CloudStore
public import SnapshotModel
import SnapshotSync
import StrictText

/// `snapsync init`: writes settings to the database, and creates or joins the zone in the cloud.
struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Set up a database for syncing.",
        discussion: """
            Store the settings in the database, track its changes, and create or join a zone. A writer or peer creates a missing location \
            and zone. A reader needs existing ones. The first device decides permanently whether one writer or all peers publish. Peers \
            need a file system that all of them mount, or a bucket. For peers, init refuses a folder that Syncthing, Dropbox or a similar \
            tool copies. See docs/writers.md.

            With --tables all, a writer or the first peer syncs all tables. Readers and peers that join get the description from the zone, \
            so sync the first device before you set them up. If a reader's tables have rows, choose --adopt or --replace for them. init \
            does not change the journal mode. A database that --create makes uses WAL. If init is interrupted, run it again.

            EXAMPLES
              snapsync init --db app.db --cloud /mnt/share/cloud --role writer --tables all
              snapsync init --db app.db --cloud /mnt/share/cloud --role writer --tables all --skip cache,log
              snapsync init --db app.db --cloud /mnt/share/cloud --role writer --tables all --reader-edits tasks,lists
              snapsync init --db phone.db --cloud /mnt/share/cloud --role writer --create
              snapsync init --db watch.db --cloud /mnt/share/cloud --role reader --create
              snapsync init --db restored.db --cloud /mnt/share/cloud --role writer --create --with-schema --take-over
              snapsync init --db desk.db --cloud /mnt/share/team --role peer --create
              snapsync init --db todo.db --cloud /mnt/share/team --role peer --datasets todo.json --key-range
              snapsync init --db plant.db --cloud /srv/cloud --role writer --datasets plant.json
              snapsync init --db tablet.db --cloud /mnt/share/cloud --role reader --adopt
              snapsync init --db log.db --cloud /srv/cloud --role writer --create --keep 30d
              snapsync init --db restored.db --take-over
              snapsync init --db app.db --cloud s3://team-data/app --role writer --create
              snapsync init --db app.db --cloud /mnt/share/cloud --role writer --signed --tables all
              snapsync init --db app.db --cloud s3://team-data/app --role writer --sealed --tables all
              snapsync init --db new.db --cloud s3://team-data/app --role reader --create --recover < recovery-code.txt
              snapsync init --db app.db --cloud s3://team-data/app --endpoint https://s3.example.org --role peer --create
            """)

    @OptionGroup var database: DatabaseFile
    @Option(
        name: .long, help: ArgumentHelp("The shared folder, or a bucket as s3://BUCKET/PREFIX. Default: SNAPSYNC_CLOUD.", valueName: "dir"),
        completion: .directory)
    var cloud: String?
    @OptionGroup var bucket: BucketOptions
    @Option(
        name: .long,
        help: """
            The role of this device: writer publishes, reader imports, peer does both. Required, unless you take over in a database \
            that is already set up.
            """)
    var role: SyncRole?
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            This device's name, unique in the zone: 1 to 64 of A-Z a-z 0-9 _ - ., not starting with a dot. Default: its name before \
            detach, otherwise the machine's name and eight random digits.
            """,
            valueName: "name"))
    var device: String?
    @Option(name: .long, help: ArgumentHelp("The zone.", valueName: "name"))
    var zone = "ZentikSyncZone"
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            The container identifier: iCloud. and a reverse-DNS name. An existing location must have it. Default: the location's. A new \
            one gets iCloud.org.snapsync.
            """,
            valueName: "id"))
    var container: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Read the tables from this dataset file (JSON) instead of --tables. Default on a reader: the zone's description.
            """, valueName: "file"), completion: .file())
    var datasets: String?
    @OptionGroup var tables: TableOptions
    @OptionGroup var readers: ReaderEditsOption
    @Flag(
        name: .long,
        help: """
            Create the database and the missing tables, as the zone describes them. The first publisher gets the built-in tables. Not \
            with --tables or --datasets.
            """)
    var create = false
    @Flag(
        name: .long,
        help: """
            With --create: create tables, indexes, views and triggers as the publisher has them, by running the SQL that schema \
            prints. SQL that does more is refused.
            """)
    var withSchema = false
    @Flag(name: .long, help: "Let the first import replace the rows that the tables have now, without a copy.")
    var replace = false
    @Flag(
        name: .long,
        help: """
            Let the first import keep the rows that the tables have now and the zone lacks. Default on a writer or peer, unless you \
            pass --replace.
            """)
    var adopt = false
    @Flag(
        name: .long,
        help: """
            Take over the name of another database, after it was lost, copied or restored. In a database that is already set up, omit \
            --role. Then only the name and, with --cloud, the stored path change.
            """)
    var takeOver = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The largest size of an asset. An export warns from 80 % of it, and is refused above it.", valueName: "size"))
    var assetLimit: ByteCount = ByteCount(250_000_000)
    @Option(
        name: .customLong("keep"),
        help: ArgumentHelp(
            """
            For a writer or peer: after publishing, at most once a day, remove versions older than this: 12h, 30d, 8w. To change it \
            later, run prune --automatic or --manual. Default: keep every version.
            """, valueName: "age"))
    var keepWithin: TimeSpan?
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            For a writer or peer: keep this many last states of the data, and remove older ones as with --keep. With both, a version \
            is kept if either keeps it. Default: keep every version.
            """, valueName: "n"))
    var keepLast: Int?
    @Flag(
        name: .long,
        help:
            """
            The folder is copied to each device by a tool such as Syncthing that init cannot detect. Then only one device can publish, \
            and --role peer is refused. Default: detected by the tools' marker files.
            """
    )
    var replicated = false
    @Flag(
        name: .long,
        help: """
            Give new rows of tables with AUTOINCREMENT keys that only this device uses (docs/writers.md). Default: a peer refuses \
            tables in which SQLite makes the keys.
            """)
    var keyRange = false
    @Flag(
        name: .long,
        help: """
            Accept that two devices may use one integer key for two new rows. The later row keeps it, and the other is kept as a \
            conflict.
            """)
    var sharedKeys = false
    @Flag(
        name: .long,
        help:
            """
            For a writer or peer: create a signed zone, in which only members can publish and send edits. An existing zone must be \
            signed. Default: as the existing zone is.
            """
    )
    var signed = false
    @Flag(
        name: .long,
        help:
            """
            For a writer or peer: create a sealed zone, which is signed and which only members can read, and print a recovery code \
            once. An existing zone must be sealed. Default: as the existing zone is.
            """
    )
    var sealed = false
    @Flag(
        name: .long,
        help: "With --sealed: pad encrypted data to hide exact sizes. This adds at most 12 % to the size."
    )
    var padded = false
    @Flag(
        name: .long,
        help:
            """
            With --sealed: protect the keys for members with X-Wing (ML-KEM-768 and X25519) against quantum computers. This adds about \
            4 kB, and 4 kB for each member.
            """
    )
    var postQuantum = false
    @Flag(
        name: .long,
        help:
            """
            With --signed or --sealed: publish a version at least once a day, so that devices notice if new ones are withheld. To \
            change it later, run member freshness.
            """
    )
    var freshness = false
    @Flag(
        name: .long,
        help: """
            With --role reader: read a sealed zone with its recovery code from standard input, if no member is left that could approve \
            this device.
            """)
    var recover = false
    @Flag(
        name: .long,
        help:
            """
            Lock this device's keys of a signed or sealed zone with a passphrase, from SNAPSYNC_PASSPHRASE_FILE (mode 600) or the \
            terminal. Every run that uses the keys needs it.
            """
    )
    var passphrase = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Require that the zone was made by the creator with these eight words. Default: trust the first creator that is found, and \
            print its words.
            """,
            valueName: "words"))
    var trust: String?
    @Flag(name: .long, help: "Turn sync off until you run snapsync enable.")
    var disabled = false
    @Flag(name: .long, help: "Leave the choice to the user: sync is off until snapsync enable.")
    var undecided = false
    @OptionGroup var entitlement: EntitlementOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard role != nil || takeOver else { throw ValidationError("Pass --role writer, reader or peer.") }
        guard !adopt || !replace else { throw ValidationError("Choose one of --adopt and --replace.") }
        guard !create || datasets == nil else {
            throw ValidationError("--create cannot be combined with --datasets. Create the tables of a dataset file yourself.")
        }
        guard create || !withSchema else { throw ValidationError("--with-schema requires --create.") }
        guard !tables.isGiven || datasets == nil else {
            throw ValidationError("Choose one of --datasets and --tables.")
        }
        guard !tables.isGiven || !tables.tables.isEmpty else { throw ValidationError("--skip and --timestamp require --tables.") }
        guard !create || !tables.isGiven else { throw ValidationError("--create cannot be combined with --tables, which describes existing tables.") }
        guard readers.choice == nil || tables.isGiven else {
            throw ValidationError("--reader-edits requires --tables. In a dataset file, set messages instead. In an existing zone, its publisher sets it.")
        }
        guard (keepWithin == nil && keepLast == nil) || (role != nil && role != .reader) else {
            throw ValidationError("--keep and --keep-last require a device that publishes: --role writer or peer.")
        }
        guard !keyRange && !sharedKeys || role != .reader else {
            throw ValidationError("--key-range and --shared-keys require a device that publishes: --role peer, or writer in a zone of peers.")
        }
        guard !signed || (role != nil && role != .reader) else { throw ValidationError("--signed requires a device that publishes: --role writer or peer.") }
        guard !sealed || (role != nil && role != .reader) else { throw ValidationError("--sealed requires a device that publishes: --role writer or peer.") }
        guard !padded && !postQuantum || sealed else { throw ValidationError("--padded and --post-quantum require --sealed.") }
        guard !freshness || signed || sealed else { throw ValidationError("--freshness requires --signed or --sealed.") }
        guard !recover || role == .reader else { throw ValidationError("--recover requires --role reader.") }
        guard trust.map({ KeyFingerprint($0) != nil }) ?? true else {
            throw ValidationError("--trust requires eight words of five letters, as init and member list print them: \(KeyFingerprint.example)")
        }
        guard keepLast.map({ $0 >= 1 }) ?? true else { throw ValidationError("--keep-last must be at least 1.") }
        guard keepWithin.map({ $0.duration >= .seconds(1) }) ?? true else { throw ValidationError("--keep must be at least 1s.") }
        guard !disabled || !undecided else { throw ValidationError("Choose one of --disabled and --undecided.") }
    }

    func run() async throws {
        let db = try database.path()
        guard let role else { return try await takeOver(db) }
        guard let cloud = cloud ?? DatabaseOptions.environment("SNAPSYNC_CLOUD") else {
            throw ValidationError("Pass --cloud DIR, or set SNAPSYNC_CLOUD.")
        }
        var request = SetupRequest(
            database: db, cloud: try bucket.location(cloud), role: role, device: device, zone: zone, createsTables: create)
        (request.container, request.datasets, request.assetLimit) = (container, datasets, assetLimit.value)
        (request.replacesOwnRows, request.adoptsOwnRows, request.takesOver) = (replace, adopt, takeOver)
        request.entitlementFile = entitlement.entitlement
        request.choice = undecided ? .undecided : disabled ? .off : .on
        request.runsSchema = withSchema
        if tables.isGiven { request.tables = tables.choice() }
        request.assumesBuiltIn = false
        request.isReplicated = replicated
        request.takesKeyRange = keyRange
        request.isSigned = signed || sealed
        request.isSealed = sealed
        request.isPadded = padded
        request.isPostQuantum = postQuantum
        request.isFresh = freshness
        request.keyStore = FileKeyStore.ofCommand(locksNewKeys: passphrase)
        request.trust = trust.flatMap { KeyFingerprint($0) }
        request.sharesKeys = sharedKeys
        request.readerEdits = readers.choice
        if keepWithin != nil || keepLast != nil { request.retention = RetentionPolicy(keepLast: keepLast, keepWithin: keepWithin?.duration) }
        try await output.printer.run { [request] in
            var request = request
            if recover { request.recovery = try recoveryCode() }
            let report = try await SyncEngine.setUp(request)
            try output.printer.done(report, isIrreplaceable: report.signature?.recoveryCode != nil, lines(report))
        }
    }

    /// Reads the recovery code from standard input, which may be a terminal or a file.
    private func recoveryCode() throws -> RecoveryCode {
        if StandardStream.isInputTerminal { StandardStream.ask("The \(RecoveryCode.wordCount) words of the recovery code: ") }
        guard let line = readLine(), let code = RecoveryCode(line) else {
            // The error does not repeat the words: even mistyped ones may reveal the secret.
            throw SyncError(
                .refused, at: "standard input", "these are not the words of a recovery code",
                hint: "it has \(RecoveryCode.wordCount) words of five letters, in one line; one that is mistyped is found by the check sum")
        }
        return code
    }

    private func takeOver(_ db: String) async throws {
        try await output.printer.run {
            let report = try await SyncEngine.ofCommand(database: db, cloud: cloud ?? DatabaseOptions.environment("SNAPSYNC_CLOUD")).takeOver(
                as: device, relocatingTo: cloud)
            try output.printer.done(report, isIrreplaceable: report.signature?.recoveryCode != nil, lines(report))
        }
    }

    /// The triggers one by one, or a summary if there are many.
    private func triggerLines(_ report: SetupReport) -> [String] {
        guard report.triggers.count > 20 else { return report.triggers.map(\.sentence) }
        return TriggerReport.summary(report.triggers) + [
            "snapsync doctor --all --db \(report.database.shellWord) names each trigger"
        ]
    }

    private func lines(_ report: SetupReport) -> [String] {
        var lines = ["\(report.database) is a \(report.role) of zone \(report.zone) in \(report.cloud)"]
        lines.append("  device \(report.device)\(report.isReturning ? " again, as before detach" : ""), datasets \(report.datasets.joined(separator: ", "))")
        lines += (report.described?.remarks ?? []).map { "  \($0)" }
        if let described = report.described, described.tables.contains(where: { $0.timestamp != nil }) {
            lines.append("  last write wins goes by these columns; choose others with --timestamp TABLE=COLUMN, or TABLE=none")
        }
        switch SyncChoice(rawValue: report.preference) {
        case .off:
            lines.append("  sync is off; turn it on with: snapsync enable --db \(report.database.shellWord)")
        case .undecided: lines.append("  sync is neither on nor off yet; turn it on with: snapsync enable --db \(report.database.shellWord)")
        default: break
        }
        if report.cloudMade { lines.append("  made the cloud \(report.cloudUUID)") }
        if !report.tablesMade.isEmpty {
            lines.append("  made the \(Format.word(report.tablesMade.count, "table")) \(report.tablesMade.joined(separator: ", "))")
        }
        let further = report.schemaMade.filter { !$0.utf8.starts(with: "table ".utf8) }
        if !further.isEmpty { lines.append("  made the \(further.joined(separator: ", "))") }
        lines += report.schemaLeftOut.map { "  not made: \($0)" }
        if !report.schemaRest.isEmpty {
            let count = report.schemaRest.count
            lines.append(
                "  the zone keeps the SQL of \(count > 3 ? "\(count) indexes, views and triggers" : report.schemaRest.joined(separator: ", ")); --create --with-schema runs it, snapsync schema prints it"
            )
        }
        if !report.readerEdits.isEmpty { lines.append("  readers may edit \(report.readerEdits.joined(separator: ", "))") }
        if let range = report.keyRange { lines.append("  new rows of tables with AUTOINCREMENT get keys of range \(range), which no other device has") }
        if let signature = report.signature { lines += signature.lines(report.zone, device: report.device, database: report.database) }
        if report.journalMode != "wal" {
            lines.append(
                "  the journal mode is \(report.journalMode); with WAL, programs can write while an export reads: sqlite3 \(report.database.shellWord) 'PRAGMA journal_mode=WAL'"
            )
        }
        if report.changesTaken > 0 {
            lines.append(
                "  \(Format.count(report.changesTaken, "edit")) that waited since detach will be merged by the next import, and published"
            )
        }
        return lines + triggerLines(report).map { "  \($0)" } + report.warnings.map { "  warning: \($0)" }
    }
}

extension SyncRole: ExpressibleByArgument {}

extension SignedSetupReport {
    private var kind: String { isSealed ? "sealed" : "signed" }

    /// The trusted creator, this device's own fingerprint, and the remaining steps.
    fileprivate func lines(_ zone: String, device: String, database: String) -> [String] {
        let trusted =
            switch (creator, isVerified) {
            case (let words?, true): words == fingerprint ? "  the zone is \(kind); this device made it" : "  the zone is \(kind), by its creator \(words)"
            case (let words?, false):
                "  warning: the zone is \(kind); from now on this device trusts the creator that it has met: \(words). Compare these words with those on the device that made the zone"
            case (nil, _):
                "  warning: the zone is \(kind), and nothing was published yet; this device will trust the creator that it meets first. Give --trust, or compare later: snapsync member list"
            }
        let own = "  the words of this device: \(fingerprint)"
        let next =
            isMember
            ? "  its keys lie in \(keys); whoever has that file can \(isSealed ? "read the zone and " : "")write in its name, and without it this device cannot"
            : "  it reads the zone, but is no member: what it sends is refused until, on a member, these words are compared and approved: snapsync member approve \(device)"
        return [trusted, own, next] + (recoveryCode.map { RecoveryWords.lines($0) } ?? [])
    }
}
