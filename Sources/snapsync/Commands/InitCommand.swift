import ArgumentParser
import CloudStore
import CommandSupport
import MaterializedViews
import SnapshotModel
import SnapshotSync
import StrictText

/// `snapsync init`: sets up the database whose tables are published, and makes the zone.
struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Set up a database to publish its tables to a folder or bucket.",
        discussion: """
            Store the settings in the database, track its changes, and create the location and the zone if they are missing. All tables that \
            can be synced are synced, and init lists those that it leaves out. The first device decides permanently whether one writer or all \
            peers publish. Peers need a file system that all of them mount, or a bucket. For peers, init refuses a folder that Syncthing, \
            Dropbox or a similar tool copies. See docs/writers.md.

            With --source and --from, the database is made for one audience: each sync fills its tables from queries on the source, and a sync \
            of the source also syncs it. See docs/howto.md.

            On the other devices, run join. init does not change the journal mode. If init is interrupted, run it again.

            EXAMPLES
              snapsync init app.db /mnt/share/app
              snapsync init app.db /mnt/share/app --exclude cache,log
              snapsync init app.db /mnt/share/app --peers
              snapsync init app.db /mnt/share/app --reader-edits tasks,lists
              snapsync init app.db /mnt/share/app --keep 30d
              snapsync init app.db s3://team-data/app --encrypt
              snapsync init app.db s3://team-data/app --endpoint https://s3.example.org
              snapsync init phone.db /mnt/share/cloud --built-in
              snapsync init b.db share --source app.db --from 'o=SELECT * FROM o WHERE b=7'
            """)

    @OptionGroup var database: DatabaseFile
    @OptionGroup var place: NewLocation
    @OptionGroup var tables: TableOptions
    @OptionGroup var readers: ReaderEditsOption
    @Flag(name: .long, help: "Sync the built-in tables buckets and notifications, and create them if they are missing. The zone is then ZentikSyncZone.")
    var builtIn = false
    @Flag(name: .long, help: "Create a zone in which all devices publish. Default: only this one, the writer.")
    var peers = false
    @Flag(name: .long, help: "Create a signed zone, in which only members can publish and send edits. An existing zone must be signed.")
    var sign = false
    @Flag(
        name: .long,
        help: """
            Create an encrypted and signed zone, which only members can read, and print a recovery code once. An existing zone must be \
            encrypted.
            """)
    var encrypt = false
    @Flag(name: .long, help: "With --encrypt: pad encrypted data to hide exact sizes. This adds at most 12 % to the size.")
    var padded = false
    @Flag(
        name: .long,
        help: """
            With --encrypt: protect the keys for members with X-Wing (ML-KEM-768 and X25519) against quantum computers. This adds about \
            4 kB, and 4 kB for each member.
            """)
    var postQuantum = false
    @Flag(
        name: .long,
        help: """
            With --sign or --encrypt: publish a version at least once a day, so that devices notice if new ones are withheld. To change it \
            later, run zone freshness.
            """)
    var freshness = false
    @Option(name: .long, help: ArgumentHelp("The database that the queries of --from read.", valueName: "file"), completion: .file())
    var source: String?
    @Option(
        name: .long,
        help: ArgumentHelp("Fill this table, in a database made for it, from a query on the source. May be repeated.", valueName: "table=select"))
    var from: [String] = []
    @OptionGroup var keys: ViewKeyOption
    @OptionGroup var setup: SetupOptions
    @OptionGroup(title: "Options for a device that publishes") var publishing: PublisherOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

    func validate() throws {
        guard from.isEmpty == (source == nil) else { throw ValidationError("--source and --from require each other.") }
        guard from.isEmpty || !tables.chosen.isGiven && setup.datasets == nil && !builtIn && !peers else {
            throw ValidationError("--from cannot be combined with --tables, --exclude, --datasets, --built-in or --peers.")
        }
        if let text = from.first(where: { ViewKeyOption.parts($0) == nil }) {
            throw ValidationError("--from requires a table and its query, as in 'orders=SELECT …', not \(text.debugDescription).")
        }
        guard !tables.isGiven || setup.datasets == nil else { throw ValidationError("Choose one of --datasets and --tables.") }
        guard !builtIn || !tables.isGiven && setup.datasets == nil else { throw ValidationError("--built-in cannot be combined with --tables or --datasets.") }
        guard readers.choice == nil || setup.datasets == nil && !builtIn else {
            throw ValidationError("--reader-edits cannot be combined with --datasets, whose file sets messages instead, or --built-in.")
        }
        guard !padded && !postQuantum || encrypt else { throw ValidationError("--padded and --post-quantum require --encrypt.") }
        guard !freshness || sign || encrypt else { throw ValidationError("--freshness requires --sign or --encrypt.") }
    }

    func run() async throws {
        var request = try await setup.request(
            database, place, as: peers ? .peer : .writer, newZone: builtIn ? ZoneID.standard.name : ZoneID.main)
        request.createsTables = builtIn
        if let source {
            request.views = (source, from.compactMap(ViewKeyOption.parts).map { ViewQuery(table: $0.table, query: $0.rest, key: keys.key(of: $0.table)) })
        }
        if tables.isGiven || readers.choice != nil { request.tables = tables.choice() }
        request.readerEdits = readers.choice
        request.isSigned = sign || encrypt
        (request.isSealed, request.isPadded, request.isPostQuantum, request.isFresh) = (encrypt, padded, postQuantum, freshness)
        publishing.complete(&request)
        try await setup.run(request, output)
    }
}

/// `snapsync join`: sets up a database with the tables of an existing zone.
struct JoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Set up a database to get the tables that another device publishes.",
        discussion: """
            Create the database and its tables if they are missing, as the zone describes them, and store the settings. The first sync then \
            imports the rows. Sync the device that publishes before you join. If the tables have rows already, choose --keep-local or \
            --replace-local. A database that join creates uses WAL. If join is interrupted, run it again.

            A reader imports, and can send edits if the publisher allows that. It can choose some of the zone's tables, and downloads the \
            others neither now nor later. With --peer, the device publishes too.

            EXAMPLES
              snapsync join copy.db /mnt/share/app
              snapsync join copy.db /mnt/share/app --keep-local
              snapsync join till.db /mnt/share/app --tables products,prices
              snapsync join laptop.db /mnt/share/app --peer
              snapsync join copy.db s3://team-data/app
              snapsync join new.db /mnt/share/app --writer --take-over --name phone
              snapsync join new.db s3://team-data/app --recover < recovery-code.txt
            """)

    @OptionGroup var database: DatabaseFile
    @OptionGroup var place: NewLocation
    @OptionGroup var tables: TableNameOptions
    @Flag(name: .long, help: "Publish, too, in a zone of peers. Default: read.")
    var peer = false
    @Flag(name: .long, help: "Be the writer of the zone: the device that made it, with a new or restored database.")
    var writer = false
    @Flag(
        name: .long,
        help: """
            Create tables, indexes, views and triggers as the publisher has them, by running the SQL that tables sql prints. SQL that does \
            more is refused.
            """)
    var withSchema = false
    @Flag(
        name: .long,
        help: """
            On a reader: read an encrypted zone with its recovery code from standard input, if no member is left that could approve this \
            device.
            """)
    var recover = false
    @OptionGroup var setup: SetupOptions
    @OptionGroup(title: "Options for a device that publishes") var publishing: PublisherOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

    private var role: SyncRole { peer ? .peer : writer ? .writer : .reader }

    func validate() throws {
        guard !peer || !writer else { throw ValidationError("Choose one of --peer and --writer.") }
        guard role != .reader || !publishing.isGiven else {
            throw ValidationError("--keep, --keep-last, --key-range and --shared-keys require a device that publishes: --peer or --writer.")
        }
        guard !tables.isGiven || role == .reader && setup.datasets == nil else {
            throw ValidationError("--tables and --exclude require a reader, and no --datasets: all peers sync the same tables.")
        }
        guard !recover || role == .reader else { throw ValidationError("--recover requires a reader.") }
        guard !withSchema || setup.datasets == nil else { throw ValidationError("Choose one of --with-schema and --datasets.") }
    }

    func run() async throws {
        var request = try await setup.request(database, place, as: role, newZone: ZoneID.main)
        request.joins = setup.datasets == nil
        request.createsTables = setup.datasets == nil
        request.runsSchema = withSchema
        request.zoneTables = tables.choice
        publishing.complete(&request)
        try await setup.run(request, output, recovers: recover)
    }
}

/// The location that `init` and `join` store.
struct NewLocation: ParsableArguments {
    @Argument(help: ArgumentHelp("The shared folder, or a bucket as s3://BUCKET/PREFIX. Default: SNAPSYNC_LOCATION."), completion: .directory)
    var location: String?
    @OptionGroup(title: "Options for a bucket") var bucket: BucketOptions

    func path() throws -> String {
        guard let location = location ?? LocationOption.ofEnvironment else {
            throw ValidationError("Pass the location after the database: a shared folder, or s3://BUCKET/PREFIX.")
        }
        return try bucket.location(location)
    }
}

/// The options of a device that publishes.
struct PublisherOptions: ParsableArguments {
    @Option(
        name: .customLong("keep"),
        help: ArgumentHelp(
            """
            After publishing, at most once a day, remove versions older than this: 12h, 30d, 8w. To change it later, run config set keep. \
            Default: keep every version.
            """, valueName: "age"))
    var keepWithin: TimeSpan?
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Keep this many last states of the data, and remove older ones as with --keep. With both, a version is kept if either keeps it.
            """, valueName: "n"))
    var keepLast: Int?
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

    var isGiven: Bool { keepWithin != nil || keepLast != nil || keyRange || sharedKeys }

    func validate() throws {
        guard keepLast.map({ $0 >= 1 }) ?? true else { throw ValidationError("--keep-last must be at least 1.") }
        guard keepWithin.map({ $0.duration >= .seconds(1) }) ?? true else { throw ValidationError("--keep must be at least 1s.") }
    }

    func complete(_ request: inout SetupRequest) {
        (request.takesKeyRange, request.sharesKeys) = (keyRange, sharedKeys)
        if keepWithin != nil || keepLast != nil { request.retention = RetentionPolicy(keepLast: keepLast, keepWithin: keepWithin?.duration) }
    }
}

/// The options that `init` and `join` have in common.
struct SetupOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            This device's name, unique in the zone: 1 to 64 of A-Z a-z 0-9 _ - ., not starting with a dot. Default: its name before \
            detach, otherwise the machine's name and eight random digits.
            """,
            valueName: "name"))
    var name: String?
    @OptionGroup var zone: ZoneOption
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
        name: .long, help: ArgumentHelp("Read the tables from this dataset file (JSON), and create none.", valueName: "file"), completion: .file())
    var datasets: String?
    @Flag(name: .long, help: "Let the first import keep the rows that the tables have now and the zone lacks. Default on a device that publishes.")
    var keepLocal = false
    @Flag(name: .long, help: "Let the first import replace the rows that the tables have now, without a copy.")
    var replaceLocal = false
    @Flag(name: .long, help: "Take over the name of another database, after it was lost, copied or restored.")
    var takeOver = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The largest size of an asset. An export warns from 80 % of it, and is refused above it.", valueName: "size"))
    var assetLimit: ByteCount = ByteCount(250_000_000)
    @Flag(
        name: .long,
        help: """
            The folder is copied to each device by a tool such as Syncthing that cannot be detected. Then only one device can publish. \
            Default: detected by the tools' marker files.
            """)
    var replicated = false
    @Flag(
        name: .long,
        help: """
            Lock this device's keys of a signed or encrypted zone with a passphrase, from SNAPSYNC_PASSPHRASE_FILE (mode 600) or the \
            terminal. Every run that uses the keys needs it.
            """)
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
    @Flag(name: .long, help: "Turn sync off until you run config set sync on.")
    var disabled = false
    @Flag(name: .long, help: "Leave the choice to the user: sync is off until config set sync on.")
    var undecided = false
    @OptionGroup var entitlement: EntitlementOptions

    func validate() throws {
        guard !keepLocal || !replaceLocal else { throw ValidationError("Choose one of --keep-local and --replace-local.") }
        guard trust.map({ KeyFingerprint($0) != nil }) ?? true else {
            throw ValidationError("--trust requires eight words of five letters, as init and zone members print them: \(KeyFingerprint.example)")
        }
        guard !disabled || !undecided else { throw ValidationError("Choose one of --disabled and --undecided.") }
    }

    func request(_ database: DatabaseFile, _ place: NewLocation, as role: SyncRole, newZone: String) async throws -> SetupRequest {
        let location = try place.path()
        var request = SetupRequest(
            database: try database.path(), cloud: location, role: role, device: name, zone: try await zone.name(in: location, new: newZone))
        (request.container, request.datasets, request.assetLimit) = (container, datasets, assetLimit.value)
        (request.replacesOwnRows, request.adoptsOwnRows, request.takesOver) = (replaceLocal, keepLocal, takeOver)
        request.entitlementFile = entitlement.entitlement
        request.choice = undecided ? .undecided : disabled ? .off : .on
        request.assumesBuiltIn = false
        request.isReplicated = replicated
        request.keyStore = FileKeyStore.ofCommand(locksNewKeys: passphrase)
        request.trust = trust.flatMap { KeyFingerprint($0) }
        return request
    }

    func run(_ request: SetupRequest, _ output: OutputOptions, recovers: Bool = false) async throws {
        try await output.printer.run {
            var request = request
            if recovers { request.recovery = try recoveryCode() }
            let report = try await SyncEngine.setUp(request)
            try output.printer.done(report, isIrreplaceable: report.signature?.recoveryCode != nil, report.lines)
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
}

extension SetupReport {
    /// The triggers one by one, or a summary if there are many.
    private var triggerLines: [String] {
        guard triggers.count > 20 else { return triggers.map(\.sentence) }
        return TriggerReport.summary(triggers) + [
            "snapsync check \(database.shellWord) -v names each trigger"
        ]
    }

    var lines: [String] {
        var lines = ["\(database) is a \(role) of \(zone == ZoneID.main ? "" : "zone \(zone) in ")\(cloud)"]
        lines.append("  device \(device)\(isReturning ? " again, as before detach" : ""), datasets \(datasets.joined(separator: ", "))")
        lines += (described?.remarks ?? []).map { "  \($0)" }
        if let described, described.tables.contains(where: { $0.timestamp != nil }) {
            lines.append("  last write wins goes by these columns; choose others with --timestamp TABLE=COLUMN, or TABLE=none")
        }
        switch SyncChoice(rawValue: preference) {
        case .off:
            lines.append("  sync is off; to turn it on: snapsync config set \(database.shellWord) sync on")
        case .undecided: lines.append("  sync is neither on nor off yet; to turn it on: snapsync config set \(database.shellWord) sync on")
        default: break
        }
        if cloudMade { lines.append("  made the location \(cloudUUID)") }
        if !tablesMade.isEmpty {
            lines.append("  made the \(Format.word(tablesMade.count, "table")) \(tablesMade.joined(separator: ", "))")
        }
        let further = schemaMade.filter { !$0.utf8.starts(with: "table ".utf8) }
        if !further.isEmpty { lines.append("  made the \(further.joined(separator: ", "))") }
        lines += schemaLeftOut.map { "  not made: \($0)" }
        if !schemaRest.isEmpty {
            let count = schemaRest.count
            lines.append(
                "  the zone keeps the SQL of \(count > 3 ? "\(count) indexes, views and triggers" : schemaRest.joined(separator: ", ")); snapsync join --with-schema runs it, snapsync tables sql prints it"
            )
        }
        if !readerEdits.isEmpty { lines.append("  readers may edit \(readerEdits.joined(separator: ", "))") }
        if let range = keyRange { lines.append("  new rows of tables with AUTOINCREMENT get keys of range \(range), which no other device has") }
        if let signature { lines += signature.lines(zone, device: device, database: database) }
        if journalMode != "wal" {
            lines.append(
                "  the journal mode is \(journalMode); with WAL, programs can write while an export reads: sqlite3 \(database.shellWord) 'PRAGMA journal_mode=WAL'"
            )
        }
        if changesTaken > 0 {
            lines.append(
                "  \(Format.count(changesTaken, "edit")) that waited since detach will be merged by the next import, and published"
            )
        }
        return lines + triggerLines.map { "  \($0)" } + warnings.map { "  warning: \($0)" }
    }
}

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
                "  warning: the zone is \(kind), and nothing was published yet; this device will trust the creator that it meets first. Give --trust, or compare later: snapsync zone members"
            }
        let own = "  the words of this device: \(fingerprint)"
        let next =
            isMember
            ? "  its keys lie in \(keys); whoever has that file can \(isSealed ? "read the zone and " : "")write in its name, and without it this device cannot"
            : "  it reads the zone, but is no member: what it sends is refused until, on a member, these words are compared and approved: snapsync zone approve \(device)"
        return [trusted, own, next] + (recoveryCode.map { RecoveryWords.lines($0) } ?? [])
    }
}
