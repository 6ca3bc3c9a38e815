import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync licence check`: checks whether a licence is valid.
struct LicenceCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a licence's signature and its end.",
        discussion: """
            Ends with 65 if the licence was altered or signed with another key, and with 78 if it has ended or is for another product.

            EXAMPLE
              snapsync licence check ann.licence --public-key "$PUBLIC_KEY" --product org.example.board
            """)

    @Argument(help: "The licence file.", completion: .file())
    var file: String
    @Option(name: .long, help: ArgumentHelp("The vendor's public key: 64 hexadecimal digits, as licence key prints them.", valueName: "digits"))
    var publicKey: String
    @Option(name: .long, help: ArgumentHelp("What the licence has to be for. Default: anything.", valueName: "id"))
    var product: String?
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run {
            let licence = try LicenceFile(path: file, publicKey: publicKey, product: product).licence()
            if let end = licence.validUntil, end <= .now {
                throw SyncError(
                    .refused, step: .verify, at: file, "the licence of \(licence.holder) ended at \(end)", hint: "get a new one from whoever issued it"
                )
            }
            let report = LicenceReport(file: file, licence)
            try output.printer.print(report, report.lines)
        }
    }
}
