import ArgumentParser
import CommandSupport
import Foundation
import SnapshotModel
import ProjectSharing
import SnapshotSync
import StrictText

/// `snapsync-examples share publish`: shares a project with its items.
struct SharePublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Share a project with its items under an owner's name; replaces what was shared before.",
        discussion: """
            Publish a project from a JSON file. A project with the same id is replaced. Other people see the old project or the new one, \
            never a mixture. If it is unchanged, no version is made. The file is described in docs/from-cloudkit.md.

            EXAMPLES
              snapsync-examples share publish /mnt/share --file garden.json --owner Anna
            """)

    @OptionGroup var share: ShareOptions
    @OptionGroup var device: ShareDeviceOptions
    @Option(name: .long, help: ArgumentHelp("The owner's name, which everyone sees.", valueName: "name"))
    var owner: String
    @Option(
        name: .long, help: ArgumentHelp("Read the project from this JSON file. Pass - to read standard input.", valueName: "file"), completion: .file())
    var file: String
    @OptionGroup(title: "Common options") var output: OutputOptions

    func validate() throws {
        guard !ShareLimits.isBlank(owner) else { throw ValidationError("--owner must not be blank.") }
    }

    func run() async throws {
        try await output.printer.run(.announce) {
            let draft =
                try file == "-"
                ? ProjectDraft(json: FileHandle.standardInput.readToEnd() ?? Data(), named: "standard input") : ProjectDraft(file: file)
            let sharing = try share.sharing(as: device.device)
            let publication = try await sharing.publish(draft, owner: owner)
            try output.printer.done(
                SharePublishReport(
                    project: draft.id, owner: owner, device: sharing.device, zone: share.zone, outcome: publication, items: draft.items.count),
                [line(draft, publication)])
        }
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
