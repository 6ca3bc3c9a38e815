import Foundation
import TestSupport
import Testing

/// Looking up an error by its number, its name, or the identifier that another command printed.
@Suite(.runsPrograms) struct ExplainTests {
    @Test func anErrorIsLookedUpByWhatACommandPrinted() throws {
        let scene = try Scene()
        let run = try scene.run("status none.db --json")
        let document = try #require(try JSONSerialization.jsonObject(with: Data(run.errorText.utf8)) as? [String: [String: Any]])
        let identifier = try #require(document["error"]?["identifier"] as? String)
        #expect(identifier == "database.notFound")
        #expect(
            try scene.succeed("explain \(identifier)") == """
                database.notFound
                  meaning: there is no such file
                  try again: after the next step
                  title: Database missing
                  message: The app’s database is not there.
                  next step: Restore it from a backup, or set the app up again.

                """)
    }

    @Test func exitCodeIsLookedUp() throws {
        let scene = try Scene()
        #expect(try scene.succeed("explain 78").hasPrefix("sync.refused, exit code 78\n  meaning: "))
        let errors = try #require(try scene.json("explain 75")["errors"] as? [[String: Any]])
        #expect(errors.map { $0["identifier"] as? String } == ["sync.tryAgainLater"] && errors.first?["exitCode"] as? Int == 75)
    }

    @Test func numbersAndNamesAreThoseOfCloudKit() throws {
        let scene = try Scene()
        #expect(try scene.succeed("explain 19 --language it").contains("cloud.constraintViolation, CKError 19 constraintViolation\n"))
        let errors = try #require(try scene.json("explain zoneBusy --language it")["errors"] as? [[String: Any]])
        #expect(errors.map { $0["title"] as? String } == ["Occupato"] && errors.first?["number"] as? Int == 23)
        try scene.refuse("explain 37", exit: 66, saying: ["none has the number or name \"37\"", "docs/errors.md"])
        #expect(try scene.run("explain 14 --language xx").status == 64)
    }
}
