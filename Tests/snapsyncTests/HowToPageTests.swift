import Foundation
import TestSupport
import Testing

/// The sessions of `docs/howto.md`, run as they stand there.
@Suite(.runsPrograms) struct HowToPageTests {
    /// The page's sections, by their headings.
    private static func sections() throws -> [String: String] {
        let page = try String(contentsOf: CommandPage.root.appendingPathComponent("docs/howto.md"), encoding: .utf8)
        let parts = page.components(separatedBy: "\n## ").dropFirst()
        return Dictionary(uniqueKeysWithValues: parts.map { part in (String(part.prefix { $0 != "\n" }), part) })
    }

    /// Runs the session of a section.
    private func run(_ section: String, steps count: Int, environment: [String: String] = [:]) throws {
        let scratch = try ScratchDirectory()
        try scratch.write(section, to: "section/README.md")
        let session = try ExampleSession(folder: scratch.path("section"))
        #expect(session.steps.count == count)
        for difference in try session.run(in: scratch, environment: environment) { Issue.record("\(difference)") }
    }

    @Test func pageHasTheseSections() throws {
        #expect(
            try Self.sections().keys.sorted() == [
                "A phone's folder", "Back to last Tuesday", "Changing the schema", "Giving up a device", "Machines far apart, through a bucket",
                "Moving a cloud",
                "Two machines through a NAS",
            ])
    }

    @Test func twoMachinesThroughANAS() throws { try run(#require(Self.sections()["Two machines through a NAS"]), steps: 11) }

    @Test func backToLastTuesday() throws { try run(#require(Self.sections()["Back to last Tuesday"]), steps: 11) }

    @Test func aPhonesFolder() throws { try run(#require(Self.sections()["A phone's folder"]), steps: 11) }

    @Test func movingACloud() throws { try run(#require(Self.sections()["Moving a cloud"]), steps: 8) }

    @Test func changingTheSchema() throws { try run(#require(Self.sections()["Changing the schema"]), steps: 12) }

    @Test func givingUpADevice() throws { try run(#require(Self.sections()["Giving up a device"]), steps: 9) }

    @Test(.enabled(if: BucketServer.isAvailable)) func machinesFarApart() throws {
        let server = try BucketServer.shared.get(), bucket = try server.bucket()
        let section = try #require(Self.sections()["Machines far apart, through a bucket"]).replacing("s3://backup/", with: "s3://\(bucket)/")
        try run(section, steps: 6, environment: BucketScene.keys.merging(["AWS_ENDPOINT_URL_S3": server.endpoint]) { $1 })
    }
}

/// The session of `docs/tutorial.md`, run as it stands there on the database that it shows.
@Suite(.runsPrograms) struct TutorialPageTests {
    @Test func tutorialDoesWhatItShows() throws {
        let scratch = try ScratchDirectory()
        let page = try String(contentsOf: CommandPage.root.appendingPathComponent("docs/tutorial.md"), encoding: .utf8)
        try scratch.write(page, to: "page/README.md")
        let schema = try #require(page.components(separatedBy: "```sql\n").dropFirst().first?.components(separatedBy: "```").first)
        try scratch.write(schema, to: "page/library.sql")
        let session = try ExampleSession(folder: scratch.path("page"))
        #expect(session.steps.count == 25)
        for difference in try session.run(in: scratch) { Issue.record("\(difference)") }
    }
}
