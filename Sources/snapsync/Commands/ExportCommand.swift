import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync export`: publishes a version if anything is new.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Publish a version of the database, if anything has changed.",
        discussion: """
            Read all datasets from one state of the database and publish them in one version. If nothing has changed, nothing is written. \
            export is for writers and peers. A peer that is not up to date must run sync instead.

            EXAMPLES
              snapsync export --db phone.db
              snapsync export --db phone.db --json
              snapsync export --db phone.db --full
              snapsync export --db phone.db --allow-shrink notifications
              snapsync export --db phone.db --asset-limit 500MB
            """)

    @OptionGroup var options: EngineArguments
    @Flag(
        name: .long,
        help: """
            Write every dataset whole, even if it has not changed. Use it if a file in the shared folder is damaged or missing.
            """)
    var full = false
    @Option(name: .long, help: ArgumentHelp("Store a new limit for the size of an asset. Default: the limit that init stored.", valueName: "size"))
    var assetLimit: ByteCount?
    @OptionGroup var shrinking: ShrinkOptions

    func run() async throws {
        try await options.done("export") { engine, progress in
            if let assetLimit { try engine.setAssetLimit(assetLimit.value) }
            let report = try await engine.export(isFull: full, allowing: shrinking.approval, progress: progress)
            return (report, report.lines)
        }
    }
}

extension ExportReport {
    /// The published version and the assets that were written.
    var lines: [String] {
        guard published else {
            return [version.map { "nothing new since version \($0); nothing was written" } ?? "nothing to publish"] + notes
        }
        return ["published version \(version ?? 0)"]
            + written.map { one in
                if one.kind == .changes, let changes = one.changes {
                    let deleted = changes.deleted > 0 ? ", \(changes.deleted) deleted" : ""
                    return
                        "  \(one.name): \(changes.changed) of \(Format.entities(one.recordCount)) changed\(deleted), \(Format.bytes(changes.size)) in \(changes.file)"
                }
                let (blocks, reusedBlocks) = (one.blocks ?? 0, one.blocksReused ?? 0)
                let reused = reusedBlocks > 0 ? ", \(Format.count(reusedBlocks)) of \(Format.count(blocks, "block")) unchanged" : ""
                return
                    "  \(one.name): \(Format.entities(one.recordCount)), \(Format.bytes(one.rawSize)) of JSON as \(Format.bytes(one.size)) in \(one.file)\(reused)"
            }
            + unchanged.map { "  \($0): unchanged" } + answers + removed + notes
    }

    private var answers: [String] {
        guard messagesApplied + messagesRefused > 0 else { return [] }
        return ["  edits of readers: \(messagesApplied) applied" + (messagesRefused > 0 ? ", \(messagesRefused) refused" : "")]
    }

    /// The versions that automatic retention removed.
    private var removed: [String] {
        guard let pruned else { return [] }
        let versions = Format.count(pruned.removedVersions.count, "old version"), files = Format.count(pruned.removedFiles, "file")
        return ["  removed \(versions) that the settings do not keep: \(files), \(Format.bytes(pruned.bytesFreed))"]
    }

    private var notes: [String] { warnings.map { "  warning: \($0)" } + Format.conflicts(conflictReasons) }
}
