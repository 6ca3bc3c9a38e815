import Foundation
import TestSupport
import Testing

/// `snapsync share`, as two devices use it: Anna's, whose tracker is set up for syncing, and Ben's, which has the directory alone.
@Suite(.runsPrograms) struct ShareTests {
    private static let ben = "cloud --device ben"

    private func scene() throws -> Scene {
        try Scene.copy(of: "a project tracker") { scene in
            let example = Repository.path("Fixtures/Examples/project-tracker")
            for name in ["tracker", "anna"] { try scene.database("anna.db").run(String(contentsOfFile: "\(example)/\(name).sql", encoding: .utf8)) }
            try scene.scratch.copy(example + "/tracker.json", to: "tracker.json")
            try scene.succeed("init anna.db cloud --name anna --datasets tracker.json")
            try scene.scratch.write(
                """
                {"id": "garden", "title": "Garden", "detail": "Before the frost", "items": [{"id": "1", "title": "Dig the beds", "completed": true},
                 {"id": "2", "title": "Sow beans", "detail": "the white ones"}, {"id": "3", "title": "Mend the fence"}]}
                """, to: "garden.json")
        }
    }

    private func object(_ text: String) throws -> [String: Any] { try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]) }

    @Test func projectTravelsToAnotherDevice() throws {
        let scene = try scene()
        #expect(try scene.succeed("share status \(Self.ben) --project garden".replacing(" --device ben", with: "")) == "absent\n")
        #expect(try scene.succeed("share list cloud") == "no projects are shared\n")
        #expect(try scene.succeed("share publish anna.db --file garden.json --owner Anna") == "shared \"Garden\" under the name Anna: 3 items\n")
        #expect(try scene.succeed("share publish anna.db --file garden.json --owner Anna") == "nothing new: \"Garden\" is shared just so, 3 items\n")
        #expect(try scene.succeed("share status cloud --project garden") == "exists\n")

        let shown = try scene.json("share show cloud --project garden")
        let items = try #require(shown["items"] as? [[String: Any]])
        #expect(items.map { $0["title"] as? String } == ["Dig the beds", "Sow beans", "Mend the fence"])
        #expect(items.map { $0["completed"] as? Bool } == [true, false, false])
        let lines = try scene.succeed("share show cloud --project garden").split(separator: "\n").map(String.init)
        #expect(lines.dropFirst() == ["  Before the frost", "  [x] Dig the beds", "  [ ] Sow beans", "      the white ones", "  [ ] Mend the fence"])

        try scene.scratch.write(
            #"{"id": "garden", "title": "Garden", "closed": true, "items": [{"id": "2", "title": "Sow peas"}, {"id": "3", "title": "Mend the fence"}]}"#,
            to: "garden.json")
        #expect(try scene.succeed("share publish anna.db --file garden.json --owner Anna") == "replaced \"Garden\", shared under the name Anna: 2 items\n")
        #expect(try scene.succeed("share show cloud --project garden").contains("2 items, closed, shared 20"))
    }

    @Test func projectTravelsFromAFileAndBack() throws {
        let scene = try scene()
        let file =
            "{\"id\":\"7/\u{e9}\",\"title\":\"T\",\"items\":[{\"id\":\"1\",\"title\":\"one\",\"detail\":\"d\",\"completed\":true},{\"id\":\"2\",\"title\":\"\"}]}"
        try scene.scratch.write(file, to: "p.json")
        try scene.succeed("share publish \(Self.ben) --file p.json --owner Ben")
        let listed = try scene.json("share list anna.db")
        let project = try #require((listed["projects"] as? [[String: Any]])?.first)
        #expect(
            project["id"] as? String == "7/\u{e9}" && project["owner"] as? String == "Ben" && project["device"] as? String == "ben"
                && project["items"] as? Int == 2)
        // Standard input will do as well.
        let run = try ProgramRun(
            BuiltCommand.path(of: "snapsync-examples"), ["share", "publish", "cloud", "--device", "ben", "--file", "-", "--owner", "Ben"],
            in: scene.scratch.path,
            input: Data(file.utf8))
        #expect(run.status == 0 && run.text == "nothing new: \"T\" is shared just so, 2 items\n", "\(run.errorText)")
    }

    @Test func onlyTheOwnersDeviceReplacesOrRemoves() throws {
        let scene = try scene()
        try scene.succeed("share publish anna.db --file garden.json --owner Anna")
        try scene.scratch.write("{\"id\":\"garden\",\"title\":\"Mine\"}", to: "p.json")
        for line in ["share publish \(Self.ben) --file p.json --owner Ben", "share remove \(Self.ben) --project garden"] {
            try scene.refuse(line, exit: 77, saying: ["p-garden", "the device anna shared it", "another id"])
        }
        try scene.succeed("share comment \(Self.ben) --project garden --name Ben --text Hm")
        #expect(try scene.succeed("share remove anna.db --project garden") == "removed garden and 1 comment\n")
        #expect(try scene.succeed("share status anna.db --project garden") == "absent\n")
        try scene.refuse("share remove anna.db --project garden", exit: 66, saying: ["p-garden", "no such project", "share list"], watching: ["anna.db"])
        // Gone is gone: the id is free.
        try scene.succeed("share publish \(Self.ben) --file p.json --owner Ben")
        #expect(try scene.succeed("share comments anna.db --project garden") == "no comments\n")
    }

    @Test func commentsAreListedInTheirOrder() throws {
        let scene = try scene()
        try scene.succeed("share publish anna.db --file garden.json --owner Anna")
        let texts = ["Lovely!", "What of the fence?", "two\nlines \u{1b}[31m"]
        for (index, text) in texts.enumerated() {
            let device = index == 1 ? ["anna.db"] : ["cloud", "--device", "ben"]
            let run = try BuiltCommand.run(
                ["share", "comment"] + device + ["--project", "garden", "--name", index == 1 ? "Anna" : "Ben", "--text", text], in: scene.scratch.path)
            #expect(run.status == 0 && run.text == "posted on garden as \(index == 1 ? "Anna" : "Ben")\n", "\(run.errorText)")
        }
        let comments = try #require(try scene.json("share comments cloud --project garden")["comments"] as? [[String: Any]])
        #expect(comments.map { $0["text"] as? String } == texts && comments.map { $0["name"] as? String } == ["Ben", "Anna", "Ben"])
        #expect(comments.map { $0["device"] as? String } == ["ben", "anna", "ben"])
        let lines = try scene.succeed("share comments cloud --project garden").split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("  ") } == ["  Lovely!", "  What of the fence?", "  two", "  lines \\u{1b}[31m"])
    }

    @Test func textFromStandardInputIsGivenBackWhenItIsNotSent() throws {
        let scene = try scene()
        func comment(_ project: String, _ text: String) throws -> ProgramRun {
            try ProgramRun(
                BuiltCommand.path(of: "snapsync-examples"),
                ["share", "comment", "cloud", "--device", "ben", "--project", project, "--name", "Ben", "--text", "-"],
                in: scene.scratch.path, input: Data(text.utf8))
        }
        try scene.succeed("share publish anna.db --file garden.json --owner Anna")
        let sent = try comment("garden", "a note\n")
        #expect(sent.status == 0 && sent.text == "posted on garden as Ben\n")
        let lost = try comment("house", "a note\nof two lines\n")
        #expect(lost.status == 66 && lost.text == "a note\nof two lines\n" && lost.errorText.contains("no such project") && !lost.errorText.contains("note"))
        let empty = try comment("garden", " \n\n")
        #expect(empty.status == 78 && empty.errorText.contains("the text is empty"))
        #expect((try scene.json("share comments cloud --project garden")["comments"] as? [Any])?.count == 1)
    }

    @Test func listGoesByPagesNewestFirst() throws {
        let scene = try scene()
        for number in 1...5 {
            try scene.scratch.write("{\"id\":\"p\(number)\",\"title\":\"P\"}", to: "p.json")
            try scene.succeed("share publish \(Self.ben) --file p.json --owner Ben")
        }
        let pages = try (1...4).map { try scene.json("share list cloud --limit 2 --page \($0)") }
        #expect(pages.map { ($0["projects"] as? [[String: Any]])?.map { $0["id"] as? String } } == [["p5", "p4"], ["p3", "p2"], ["p1"], []])
        #expect(pages.map { $0["hasMore"] as? Bool } == [true, true, false, false])
        #expect(pages.map { $0["state"] as? String } == ["success", "success", "success", "noResults"])
        #expect(try scene.succeed("share list cloud --limit 2").hasSuffix("more: --page 2\n"))
    }

    @Test func whatIsMissingOrWrongIsSaid() throws {
        let scene = try scene()
        try scene.scratch.write("{\"id\":\"a\",\"titel\":\"T\"}", to: "misspelt.json")
        try scene.scratch.write("{\"id\":\"a\",\"title\":\" \"}", to: "blank.json")
        try scene.refuse("share publish anna.db --file none.json --owner A", exit: 66, saying: ["none.json", "cannot be read"])
        try scene.refuse(
            "share publish anna.db --file misspelt.json --owner A", exit: 65, saying: ["misspelt.json", "titel", "not known", "docs/from-cloudkit.md"])
        try scene.refuse("share publish anna.db --file blank.json --owner A", exit: 78, saying: ["the project's title is empty"])
        for look in ["show", "comments"] { try scene.refuse("share \(look) anna.db --project none", exit: 66, saying: ["p-none", "no such project"]) }
        try scene.refuse("share comment anna.db --project none --name A --text x", exit: 66, saying: ["no such project"])
        try scene.refuse("share list nowhere", exit: 66, saying: ["nowhere"])
        try scene.refuse("share publish anna.db --file garden.json --owner A --device ../x", exit: 78, saying: ["device", "not allowed"])
    }

    @Test func awkwardIDsNeverReachAFileName() throws {
        let scene = try scene()
        let id = "../../../escape"
        try scene.scratch.write("{\"id\":\"\(id)\",\"title\":\"T\",\"items\":[{\"id\":\"\(id)\",\"title\":\"x\"}]}", to: "p.json")
        try scene.succeed("share publish \(Self.ben) --file p.json --owner Ben")
        #expect(try scene.succeed("share status cloud --project \(id)") == "exists\n")
        #expect(try !scene.cloudListing().entries.keys.contains { $0.contains("escape") })
        #expect(!scene.scratch.exists("escape"))
    }
}

extension Scene {
    /// What every `share` command prints for programs, in a scene with a cloud and a writer `phone.db`.
    func sharingReports() throws -> [(object: [String: Any], heading: String)] {
        try scratch.write("{\"id\":\"p\",\"title\":\"P\",\"detail\":\"d\",\"items\":[{\"id\":\"1\",\"title\":\"one\"}]}", to: "p.json")
        return [
            (try json("share publish phone.db --file p.json --owner O"), "share publish --json"),
            (try json("share status phone.db --project p"), "share status --json"),
            (try json("share comment phone.db --project p --name N --text x"), "share comment --json"),
            (try json("share comments phone.db --project p"), "share comments --json"),
            (try json("share list phone.db"), "share list --json"),
            (try json("share show phone.db --project p"), "share show --json"),
            (try json("share remove phone.db --project p"), "share remove --json"),
        ]
    }
}
