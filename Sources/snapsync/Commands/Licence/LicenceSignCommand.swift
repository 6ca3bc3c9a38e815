import ArgumentParser
import CloudStore
import Foundation
import SnapshotSync
import StrictText

/// `snapsync licence sign`: signs a licence.
struct LicenceSignCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign a licence and write it to a new file.",
        discussion: """
            EXAMPLES
              snapsync licence sign --key vendor.key --product org.example.board --holder "Ann Example" --out ann.licence
              snapsync licence sign --key vendor.key --product org.example.board --holder "Ann Example" --until 2027-01-01T00:00:00Z --out ann.licence
            """)

    @Option(name: .long, help: ArgumentHelp("The vendor's key file.", valueName: "file"), completion: .file())
    var key: String
    @Option(name: .long, help: ArgumentHelp("What the licence is for, such as the application's container identifier.", valueName: "id"))
    var product: String
    @Option(name: .long, help: ArgumentHelp("Whom it is given to.", valueName: "name"))
    var holder: String
    @Option(name: .long, help: ArgumentHelp("When it ends (RFC 3339). Default: never.", valueName: "time"))
    var until: RestoreCommand.Time?
    @Option(name: .long, help: ArgumentHelp("The licence file to write.", valueName: "file"), completion: .file())
    var out: String
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !product.isEmpty, !holder.isEmpty else { throw ValidationError("--product and --holder take a text.") }
    }

    func run() async throws {
        try await output.printer.run {
            let licence = Licence(product: product, holder: holder, validUntil: until?.instant)
            let bytes = try SignedLicence.sign(licence, with: LicenceKeyFile.read(key))
            do {
                try bytes.write(to: URL(fileURLWithPath: out), options: .withoutOverwriting)
            } catch let error as CocoaError where error.code == .fileWriteFileExists {
                throw SyncError(.refused, step: .store, at: out, "there is a file of that name", hint: "name another one, or remove it first")
            } catch {
                throw SyncError(.inputOutput, step: .store, at: out, "the licence cannot be written", hint: "check the folder and its room")
            }
            try output.printer.print(LicenceReport(file: out, licence), LicenceReport(file: out, licence).lines)
        }
    }
}

/// The output of `licence sign` and `licence check`.
struct LicenceReport: Encodable {
    let file: String
    let product: String
    let holder: String
    let issuedAt: Instant
    let validUntil: Instant?

    init(file: String, _ licence: Licence) {
        self.file = file
        (product, holder, issuedAt, validUntil) = (licence.product, licence.holder, licence.issuedAt, licence.validUntil)
    }

    var lines: [String] { ["\(file): \(holder) may sync with \(product)\(validUntil.map { ", until \($0)" } ?? "")"] }
}
