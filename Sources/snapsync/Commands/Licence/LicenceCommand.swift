import ArgumentParser
import CloudStore
import Foundation
import SnapshotSync
import StrictText

/// `snapsync licence`: signed files that state who may sync.
struct LicenceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "licence",
        abstract: "Create, sign and check licences: signed files that state who may sync, and until when.",
        discussion: """
            As a vendor, create a key once, and sign licences with it. An application, or init --entitlement-key, has the public key and \
            accepts only licences of this key.

            EXAMPLES
              snapsync licence key vendor.key
              snapsync licence sign --key vendor.key --product org.example.board --holder "Ann Example" --until 2027-01-01T00:00:00Z --out ann.licence
              snapsync licence check ann.licence --public-key "$PUBLIC_KEY"
            """,
        subcommands: [LicenceKeyCommand.self, LicenceSignCommand.self, LicenceCheckCommand.self])
}

/// `snapsync licence check`: checks whether a licence is valid.
struct LicenceCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a licence's signature and its end.",
        discussion: """
            Check that the licence was not altered, was signed with this key, is for the product, and has not ended.

            EXAMPLE
              snapsync licence check ann.licence --public-key "$PUBLIC_KEY" --product org.example.board
            """)

    @Argument(help: "The licence file.", completion: .file())
    var file: String
    @Option(name: .long, help: ArgumentHelp("The vendor's public key: 64 hexadecimal digits, as licence key prints them.", valueName: "digits"))
    var publicKey: String
    @Option(name: .long, help: ArgumentHelp("The product that the licence must be for. Default: any.", valueName: "id"))
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

/// `snapsync licence key`: makes a vendor's signing key.
struct LicenceKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Create a key that signs licences, in a new file, and print its public key.",
        discussion: """
            The key file (mode 600) is secret: anyone who has it can issue licences. You can publish the public key. If the file exists, \
            its public key is printed again.

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
    @Option(name: .long, help: ArgumentHelp("The product that the licence is for, such as the application's container identifier.", valueName: "id"))
    var product: String
    @Option(name: .long, help: ArgumentHelp("The name of the person or company that gets the licence.", valueName: "name"))
    var holder: String
    @Option(name: .long, help: ArgumentHelp("When the licence ends (RFC 3339). Default: never.", valueName: "time"))
    var until: RestoreCommand.Time?
    @Option(name: .long, help: ArgumentHelp("The licence file to write. It must not exist.", valueName: "file"), completion: .file())
    var out: String
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !product.isEmpty, !holder.isEmpty else { throw ValidationError("--product and --holder must not be empty.") }
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
