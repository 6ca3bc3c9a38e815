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
            Sets a database up for syncing: settings, change tracking, zone. A writer or peer makes the cloud and the zone where they are \
            missing; a reader finds them. In a zone that a peer makes, every peer publishes; a zone keeps the rule that it was made with. \
            Peers need one file system that all of them mount, or a bucket. A folder of Syncthing, Dropbox, iCloud Drive and similar tools \
            is refused (78). See docs/writers.md. A writer says with --tables all which tables are synced; a reader, or a peer that joins, takes \
            their description from the zone. If nothing has been published there yet, it ends with 66. A reader whose tables have rows \
            already is refused (78) until you choose --adopt or --replace for these rows. init leaves the database's journal mode as it \
            is; a database that --create makes gets WAL. If an init was interrupted, run it again. It recorded in the database which zone \
            it was making, so it finds that zone.

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
              snapsync init --db app.db --cloud /srv/cloud --role reader --preference-file settings.json --preference-key iCloudSync
              snapsync init --db tablet.db --cloud /mnt/share/cloud --role reader --adopt
              snapsync init --db board.db --cloud /srv/team --role peer --create --share group
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
        name: .long, help: ArgumentHelp("The directory that the devices share, or a bucket: s3://BUCKET/PREFIX. Default: SNAPSYNC_CLOUD.", valueName: "dir"),
        completion: .directory)
    var cloud: String?
    @OptionGroup var bucket: BucketOptions
    @Option(
        name: .long,
        help: "What this device does: writer publishes, reader imports, peer does both. Required, except to take over in a database that is set up.")
    var role: SyncRole?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "This device's name, the only one of that name in the zone: 1 to 64 of A-Z a-z 0-9 _ - ., no dot at the beginning. Default: the name that it had before detach, else the machine's name and eight random digits.",
            valueName: "name"))
    var device: String?
    @Option(name: .long, help: ArgumentHelp("The zone.", valueName: "name"))
    var zone = "ZentikSyncZone"
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The container identifier, iCloud. and a reverse-DNS name: a cloud that is made gets it, and one that is there must have it. Default: the cloud's; one that is made gets iCloud.org.snapsync.",
            valueName: "id"))
    var container: String?
    @Option(
        name: .long,
        help: ArgumentHelp("A dataset file (JSON) instead of --tables. Default at a reader: what the zone describes.", valueName: "file"), completion: .file())
    var datasets: String?
    @OptionGroup var tables: TableOptions
    @OptionGroup var readers: ReaderEditsOption
    @Flag(
        name: .long,
        help: """
            Make the database, and the tables that are missing: those that the zone describes, for the first publisher the built-in ones; not \
            with --tables or --datasets.
            """)
    var create = false
    @Flag(
        name: .long,
        help: """
            With --create: make the tables as the publisher has them, and its indexes, views and triggers, by running the SQL text that the \
            zone keeps (snapsync schema prints it). A text that is more than that is refused (65).
            """)
    var withSchema = false
    @Flag(name: .long, help: "Let the first import replace rows that are in the tables already.")
    var replace = false
    @Flag(name: .long, help: "Let the first import keep rows that are in the tables already and that the cloud lacks; a writer's always stay.")
    var adopt = false
    @Flag(
        name: .long,
        help: """
            Take over a name under which another database has synced: after a lost, copied or restored database. In a database that is set up, \
            without --role: nothing else is changed but, with --cloud, the stored path of the cloud directory.
            """)
    var takeOver = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            How large an asset may be: from 80 % on an export warns, beyond the limit nothing is published (78).
            """, valueName: "size"))
    var assetLimit: ByteCount = ByteCount(250_000_000)
    @Option(
        name: .customLong("keep"),
        help: ArgumentHelp(
            """
            Keep versions for this time; after a publish, at most once a day, remove older ones as prune --keep-within does: 12h, 30d, \
            8w; with writer and peer. prune --automatic and --manual change it later. Default: every version.
            """, valueName: "age"))
    var keepWithin: TimeSpan?
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Keep this many last states of the data and remove older ones, as with --keep; with both, a version stays if either keeps it. \
            Default: every version.
            """, valueName: "n"))
    var keepLast: Int?
    @Option(
        name: .customLong("on-zone-deletion"),
        help: ArgumentHelp(
            """
            What happens to this database's rows if the zone is deleted one day: keep, or erase rows that came from it and were not changed \
            here.
            """, valueName: "mode"))
    var onZoneDeletion = ZoneDeletionPolicy.keep
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Who else may use the files in the cloud directory: nobody but their owner, the directory's group, or all to read. Default: as the directory's mode says; owner for one that is made.",
            valueName: "who"))
    var share: CloudSharing?
    @Flag(
        name: .long,
        help:
            "A tool such as Syncthing gives each device a copy of the directory, although no marker file in or above it shows that, as behind a bind mount: one device publishes, and --role peer is refused (78). From then on doctor reports it. Default: detected by the tools' own marker files."
    )
    var replicated = false
    @Flag(
        name: .long,
        help: """
            New rows of tables with AUTOINCREMENT get keys of a range that this device alone has, so that two peers never give one key to \
            two rows; needs the zone's first version (66) at every device but the one that makes the zone (docs/writers.md). Default: a table \
            in which SQLite makes the keys is refused at a peer (78).
            """)
    var keyRange = false
    @Flag(
        name: .long,
        help: """
            Accept that two devices that insert at the same time, peers or readers that may edit the table, may give one integer key to two \
            rows: the later keeps it, the other is kept as a conflict.
            """)
    var sharedKeys = false
    @Flag(
        name: .long,
        help:
            "Make a signed zone: the keys of its members say who may publish and send messages; with writer and peer. A zone that is there and is not signed is refused (78). Default: a zone that is there says itself what it is."
    )
    var signed = false
    @Flag(
        name: .long,
        help:
            "Make a sealed zone: a signed one that nobody but its members can read; with writer and peer. Prints a recovery code once. A zone that is there and is not sealed is refused (78). Default: a zone that is there says itself what it is."
    )
    var sealed = false
    @Flag(
        name: .long,
        help: "With --sealed: pad what is encrypted, so that the store learns sizes roughly; at most 12 % more bytes."
    )
    var padded = false
    @Flag(
        name: .long,
        help:
            "With --sealed: give the members the keys by X-Wing (ML-KEM-768 and X25519), so that a quantum computer alone does not read them; about 4 kB more for each member."
    )
    var postQuantum = false
    @Flag(
        name: .long,
        help:
            "With --signed or --sealed: the publishers make a version at least once a day, so that devices notice when new ones are kept back (member freshness changes it later)."
    )
    var freshness = false
    @Flag(
        name: .long,
        help: "Read a sealed zone with its recovery code, from standard input, where no member is left that could approve this device; with --role reader.")
    var recover = false
    @Flag(
        name: .long,
        help:
            "Lock the keys that this device gets in a signed or sealed zone with a passphrase, from SNAPSYNC_PASSPHRASE_FILE (mode 600) or the terminal: every run that needs the keys needs it, too."
    )
    var passphrase = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The eight words of the creator of a signed zone: a zone that another one made is refused (65), and one that is not signed (78). Default: the creator that is met first; init says so and prints the words.",
            valueName: "words"))
    var trust: String?
    @Flag(name: .long, help: "Turn sync off until snapsync enable.")
    var disabled = false
    @Flag(
        name: .long,
        help: "Leave the choice to the user: nothing is synced until snapsync enable, or until the preference file says true.")
    var undecided = false
    @OptionGroup var binding: PreferenceOptions
    @OptionGroup var entitlement: EntitlementOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard role != nil || takeOver else { throw ValidationError("Say what this device does: --role writer, reader or peer.") }
        guard !adopt || !replace else { throw ValidationError("Own rows are kept (--adopt) or replaced (--replace), not both.") }
        guard !create || datasets == nil else {
            throw ValidationError("--create makes the tables that the zone describes, or the built-in ones; the tables of a dataset file are yours to make.")
        }
        guard create || !withSchema else { throw ValidationError("--with-schema belongs to --create.") }
        guard !tables.isGiven || datasets == nil else {
            throw ValidationError("The tables are described by a file (--datasets) or from the database (--tables), not both.")
        }
        guard !tables.isGiven || !tables.tables.isEmpty else { throw ValidationError("--skip and --timestamp belong to --tables.") }
        guard !create || !tables.isGiven else { throw ValidationError("--tables describes the tables that the database has; there is nothing to create.") }
        guard readers.choice == nil || tables.isGiven else {
            throw ValidationError("--reader-edits belongs to --tables; in a dataset file, messages says what readers may edit, and in a zone its publisher.")
        }
        guard share == nil || (role != nil && role != .reader) else {
            throw ValidationError("--share sets the rights of a cloud directory, which is for who publishes there: --role writer or peer.")
        }
        guard (keepWithin == nil && keepLast == nil) || (role != nil && role != .reader) else {
            throw ValidationError("--keep and --keep-last are for who publishes: --role writer or peer.")
        }
        guard !keyRange && !sharedKeys || role != .reader else {
            throw ValidationError("--key-range and --shared-keys are for who publishes where others do, too: --role peer, or writer in a zone of peers.")
        }
        guard !signed || (role != nil && role != .reader) else { throw ValidationError("--signed is for who makes the zone: --role writer or peer.") }
        guard !sealed || (role != nil && role != .reader) else { throw ValidationError("--sealed is for who makes the zone: --role writer or peer.") }
        guard !padded && !postQuantum || sealed else { throw ValidationError("--padded and --post-quantum are for who makes a sealed zone: --sealed.") }
        guard !freshness || signed || sealed else { throw ValidationError("--freshness is for who makes a signed zone: --signed or --sealed.") }
        guard !recover || role == .reader else { throw ValidationError("--recover reads what there is: --role reader.") }
        guard trust.map({ KeyFingerprint($0) != nil }) ?? true else {
            throw ValidationError("--trust takes eight words of five letters, as init and member list print them: \(KeyFingerprint.example)")
        }
        guard keepLast.map({ $0 >= 1 }) ?? true else { throw ValidationError("--keep-last takes a number from 1.") }
        guard keepWithin.map({ $0.duration >= .seconds(1) }) ?? true else { throw ValidationError("--keep takes an age from 1s.") }
        guard !disabled || !undecided else { throw ValidationError("Sync is turned off (--disabled) or left to the user (--undecided), not both.") }
        _ = try binding.file()
    }

    func run() async throws {
        let db = try database.path()
        guard let role else { return try await takeOver(db) }
        guard let cloud = cloud ?? DatabaseOptions.environment("SNAPSYNC_CLOUD") else {
            throw ValidationError("Say which directory: --cloud DIR, or set SNAPSYNC_CLOUD.")
        }
        var request = SetupRequest(
            database: db, cloud: try bucket.location(cloud), role: role, device: device, zone: zone, container: container,
            datasets: datasets, createsTables: create, replacesOwnRows: replace, assetLimit: assetLimit.value,
            preference: try binding.file(), entitlementFile: entitlement.entitlement, adoptsOwnRows: adopt, takesOver: takeOver)
        request.choice = undecided ? .undecided : disabled ? .off : .on
        request.runsSchema = withSchema
        request.entitlementKey = entitlement.entitlementKey
        if tables.isGiven { request.tables = tables.choice() }
        request.assumesBuiltIn = false
        request.sharing = share
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
        request.zoneDeletion = onZoneDeletion
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
            "snapsync doctor --all --db \(report.database.shellWord) names each trigger and the tables that it writes"
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
            lines.append("  sync is off\(disabled ? "" : ", as the preference file says"); turn it on with: snapsync enable --db \(report.database.shellWord)")
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
extension CloudSharing: ExpressibleByArgument {}
extension ZoneDeletionPolicy: ExpressibleByArgument {}

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
