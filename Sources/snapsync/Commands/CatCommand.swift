import ArgumentParser
import SnapshotSync

/// `snapsync cat`: prints a dataset's JSON after checking it.
struct CatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat",
        abstract: "Print a dataset as one JSON container, after checking every byte.",
        discussion: """
            Prints a dataset as one JSON container on standard output: the same bytes as zcat of the asset. It checks every block before \
            it prints it. If a block is damaged, the output ends before it, and the command ends with 65. Call it as snapsync cat DATASET; \
            where only --cloud is given, a record's name as history shows it works, too.

            EXAMPLES
              snapsync cat notifications --db phone.db | jq '.notifications[0]'
              snapsync cat buckets --version 3 --cloud /mnt/share/cloud
            """)

    @Argument(help: "The dataset: buckets, notifications, … or a record's name, as history shows it.", completion: Completions.datasets)
    var dataset: String
    @Option(name: .long, help: ArgumentHelp("The version; default: the newest.", valueName: "n"), completion: Completions.versions)
    var version: Int?
    @Flag(name: .long, help: "For people: print text that is a JSON object or array as that value.")
    var nested = false
    @OptionGroup var look: LookOptions

    func run() async throws {
        try await Printer(isJSON: false).run {
            let isTerminal = StandardStream.output.isTerminal
            func put(_ text: UnsafeRawBufferPointer) throws {
                // On a terminal, control characters in values are escaped; a file or pipe gets the unchanged bytes.
                guard isTerminal else { return try StandardStream.output.write(text) }
                try StandardStream.output.write(Printer.escape(json: String(decoding: text, as: UTF8.self)))
            }
            var lines = NestedJSON()
            try await look.inspector().writeContainer(of: dataset, version: version) { text in
                if nested { try lines.unfold(text).withUnsafeBytes(put) } else { try put(text) }
            }
            try lines.end().withUnsafeBytes(put)
        }
    }
}
