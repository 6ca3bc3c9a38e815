import ArgumentParser
import CommandSupport
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

            With --replace, publish this device's data as the newest version even if the zone has newer or more data, and pin the version \
            that it replaces. undo reverses that. The command asks for confirmation. Without a terminal, pass --yes.

            EXAMPLES
              snapsync export phone.db
              snapsync export phone.db --full
              snapsync export phone.db --allow-shrink notifications
              snapsync export phone.db --replace
            """)

    @OptionGroup var options: EngineArguments
    @Flag(
        name: .long,
        help: """
            Write every dataset whole, even if it has not changed. Use it if a file in the shared folder is damaged or missing.
            """)
    var full = false
    @Flag(name: .long, help: "Replace the shared data by this device's.")
    var replace = false
    @OptionGroup var confirmation: ConfirmationOption
    @OptionGroup var shrinking: ShrinkOptions

    func validate() throws {
        guard !replace || !full && shrinking.allowShrink.isEmpty else { throw ValidationError("--replace cannot be combined with --full or --allow-shrink.") }
        if replace { try confirmation.validate(for: "replace the shared data") }
    }

    func run() async throws {
        if replace { return try await replaceShared() }
        try await options.done("export") { engine, progress in
            let report = try await engine.export(isFull: full, allowing: shrinking.approval, progress: progress)
            return (report, report.lines)
        }
    }

    private func replaceShared() async throws {
        try await options.run("export") { engine, progress in
            guard try confirmation.isConfirmed("Replace the shared data?") else { return }
            let report = try await engine.versions.replaceCloud(progress: progress)
            try options.printer.done(report, report.lines)
        }
    }
}

extension ReplaceCloudReport {
    /// What was replaced.
    fileprivate var lines: [String] {
        guard replaced.hasChanged else { return ["the location has this device's data already"] + exported.lines }
        return ["the data of this device replace version \(replaced.versionBefore ?? 0), which is pinned"]
            + replaced.datasets.map {
                "  \($0.name): \(Format.count($0.added)) added, \(Format.count($0.changed)) changed, \(Format.count($0.removed)) removed"
            }
            + replaced.warnings.map { "  warning: \($0)" } + exported.lines
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
