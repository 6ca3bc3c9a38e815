import ArgumentParser
import Foundation
import SnapshotModel
import SnapshotSync
import StrictText

/// `snapsync share publish`: shares a project with its items.
struct SharePublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Share a project with its items under an owner's name; replaces what was shared before.",
        discussion: """
            Publish a project from a JSON file or from two tables of a database. A project with the same id is replaced. Other people see \
            the old project or the new one, never a mixture. If it is unchanged, no version is made. The file and the tables are \
            described in docs/from-cloudkit.md.

            EXAMPLES
              snapsync share publish --cloud /mnt/share/cloud --file garden.json --owner Anna
              snapsync share publish --db tracker.db --project garden --owner Anna
              snapsync share publish --db tracker.db --project 7 --owner Anna --item-table tasks --column item.title=name
            """)

    @OptionGroup var share: ShareOptions
    @OptionGroup var device: ShareDeviceOptions
    @Option(name: .long, help: ArgumentHelp("The owner's name, which everyone sees.", valueName: "name"))
    var owner: String
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Read the project from this JSON file. Pass - to read standard input. Pass either this or --project.", valueName: "file"), completion: .file())
    var file: String?
    @Option(name: .long, help: ArgumentHelp("Read the project with this id from the database. Pass either this or --file.", valueName: "id"))
    var project: String?
    @Option(name: .customLong("project-table"), help: ArgumentHelp("With --project: the table of projects. Default: projects.", valueName: "table"))
    var projectTable: String?
    @Option(name: .customLong("item-table"), help: ArgumentHelp("With --project: the table of items. Default: items.", valueName: "table"))
    var itemTable: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            With --project: the column of a field, if its name differs, such as project.title=name or item.project=project_id. May be \
            repeated.
            """,
            valueName: "field=column"))
    var column: [String] = []
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (file == nil) != (project == nil) else { throw ValidationError("Pass either --file FILE, or --project ID with --db FILE.") }
        guard project != nil || (projectTable == nil && itemTable == nil && column.isEmpty) else {
            throw ValidationError("--project-table, --item-table and --column require --project.")
        }
        guard !ShareLimits.isBlank(owner) else { throw ValidationError("--owner must not be blank.") }
        _ = try tables()
    }

    func run() async throws {
        try await output.printer.run(.announce) {
            let draft = try draft()
            let sharing = try share.sharing(as: device.device)
            let publication = try await sharing.publish(draft, owner: owner)
            try output.printer.done(
                SharePublishReport(
                    project: draft.id, owner: owner, device: sharing.device, zone: share.zone, outcome: publication, items: draft.items.count),
                [line(draft, publication)])
        }
    }

    private func draft() throws -> ProjectDraft {
        if file == "-" { return try ProjectDraft(json: FileHandle.standardInput.readToEnd() ?? Data(), named: "standard input") }
        if let file { return try ProjectDraft(file: file) }
        guard let project, share.database.file.pathIfAny != nil else {
            throw ValidationError("--project requires a database. Pass --db FILE, or set SNAPSYNC_DB.")
        }
        return try share.database.engine().project(project, from: tables())
    }

    private func tables() throws -> ProjectTables {
        var tables = ProjectTables(projects: projectTable ?? "projects", items: itemTable ?? "items")
        for text in column {
            let parts = text.exact.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let field = ProjectTables.Field(rawValue: parts[0]) else {
                throw ValidationError(
                    "--column requires FIELD=COLUMN. The fields are \(ProjectTables.Field.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            tables.columns[field] = parts[1]
        }
        return tables
    }

    private func line(_ draft: ProjectDraft, _ publication: SharePublication) -> String {
        let items = ShareFormat.items(draft.items.count)
        return switch publication {
        case .created: "shared \"\(draft.title)\" under the name \(owner): \(items)"
        case .replaced: "replaced \"\(draft.title)\", shared under the name \(owner): \(items)"
        case .unchanged: "nothing new: \"\(draft.title)\" is shared just so, \(items)"
        }
    }
}
