import ArgumentParser
import Foundation
import SnapshotSync
import StrictText

/// `snapsync share comment`: posts a comment on a shared project.
struct ShareCommentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "comment",
        abstract: "Post a comment on a shared project.",
        discussion: """
            Text and name must not be empty or white space. With --text - the command reads the text from standard input, and prints it on \
            standard output if it cannot be sent.

            EXAMPLES
              snapsync share comment --cloud /mnt/share/cloud --project garden --name Ben --text "Lovely!"
              snapsync share comment --db tracker.db --project garden --name Ben --text - < note.txt
            """)

    @OptionGroup var share: ShareOptions
    @OptionGroup var device: ShareDeviceOptions
    @OptionGroup var project: ShareProjectOptions
    @Option(name: .long, help: ArgumentHelp("The author's name.", valueName: "name"))
    var name: String
    @Option(name: .long, help: ArgumentHelp("The comment; - is standard input.", valueName: "text"))
    var text: String
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !ShareLimits.isBlank(name), !ShareLimits.isBlank(text) else { throw ValidationError("A comment needs a text and a name.") }
    }

    func run() async throws {
        try await output.printer.run(.announce) {
            guard text == "-" else { return try await post(text) }
            let typed = String(decoding: try FileHandle.standardInput.readToEnd() ?? Data(), as: UTF8.self)
            do {
                // The final line feed of a file is not part of the comment.
                try await post(typed.exact.hasSuffix("\n") ? String(typed.dropLast()) : typed)
            } catch {
                try StandardStream.output.write(typed)
                throw error
            }
        }
    }

    private func post(_ text: String) async throws {
        let comment = try await share.sharing(as: device.device).post(text, by: name, on: project.project)
        try output.printer.done(
            ShareCommentReport(project: project.project, comment: ShareCommentLine(comment)), ["posted on \(project.project) as \(comment.name)"])
    }
}
