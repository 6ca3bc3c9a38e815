import ArgumentParser
import CloudStore
import SnapshotSync

/// `snapsync licence key`: makes a vendor's signing key.
struct LicenceKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Create a key that signs licences, in a new file, and print its public key.",
        discussion: """
            The file (mode 600) is the vendor's secret: whoever has it can issue licences. The public key may be known to everybody. If the file \
            is there, its public key is printed again.

            EXAMPLE
              snapsync licence key vendor.key
            """)

    @Argument(help: "The key file.", completion: .file())
    var file: String
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await output.printer.run {
            let isNew = !LicenceKeyFile.exists(file)
            if isNew { try LicenceKeyFile.write(LicenceKey(), to: file) }
            let report = LicenceKeyReport(file: file, publicKey: try LicenceKeyFile.read(file).publicKey, isNew: isNew)
            try output.printer.print(report, ["\(file): public key \(report.publicKey)"])
        }
    }
}

private struct LicenceKeyReport: Encodable {
    let file: String
    let publicKey: String
    let isNew: Bool
}
