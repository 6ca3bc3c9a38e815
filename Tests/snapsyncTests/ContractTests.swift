import Foundation
import TestSupport
import Testing

/// The command takes and prints what `docs/cli.md` says, no more and no less.
@Suite struct ContractTests {
    /// What the built command says of its own arguments.
    private struct Help: Decodable {
        struct Command: Decodable {
            let commandName: String
            let abstract: String?
            let discussion: String?
            let subcommands: [Command]?
            let arguments: [Argument]?
        }
        struct Argument: Decodable {
            struct Name: Decodable {
                let kind: String
                let name: String
            }
            let kind: String
            let names: [Name]?
            let valueName: String?
            let defaultValue: String?
            let abstract: String?
        }
        let command: Command
    }

    /// Every command with its words (`["share", "list"]`), also those that only hold others.
    private func commands() throws -> [(words: [String], command: Help.Command)] {
        func beneath(_ command: Help.Command, _ words: [String]) -> [(words: [String], command: Help.Command)] {
            (command.subcommands ?? []).filter { $0.commandName != "help" }.flatMap { one in
                [(words + [one.commandName], one)] + beneath(one, words + [one.commandName])
            }
        }
        return beneath(try JSONDecoder().decode(Help.self, from: BuiltCommand.run(["--experimental-dump-help"]).output).command, [])
    }

    @Test func pageListsEveryCommandAndFlag() throws {
        let page = try CommandPage()
        let commands = try commands().filter { ($0.command.subcommands ?? []).isEmpty }
        #expect(Set(page.flags.keys) == Set(commands.map { $0.words.joined(separator: " ") }))
        for (words, command) in commands {
            let name = words.joined(separator: " ")
            let options = (command.arguments ?? []).filter { argument in
                argument.kind != "positional" && argument.valueName != "help" && !(argument.valueName == "version" && argument.kind == "flag")
            }
            let documented = page.flags[name] ?? []
            #expect(Set(options.compactMap { $0.names?.first.map { "--" + $0.name } }) == Set(documented.map(\.name)), "\(name)")
            for option in options {
                guard let value = option.defaultValue, let flag = option.names?.first?.name else { continue }
                #expect(documented.contains { $0.name == "--" + flag && $0.defaultText.contains(value) }, "\(name) --\(flag): \(value)")
            }
        }
    }

    @Test func everyCommandsHelpHasAnExample() throws {
        for (words, command) in try commands() {
            let run = try BuiltCommand.run(words + ["--help"])
            #expect(run.status == 0 && run.errorText == "")
            #expect(run.text.contains("EXAMPLE"))
            #expect(run.text.contains("\n  snapsync \(words.joined(separator: " "))"), "\(run.text)")
            #expect(run.text == (try BuiltCommand.run(["help"] + words).text))
            #expect((command.abstract ?? "").hasSuffix("."))
            for argument in command.arguments ?? [] { #expect(argument.abstract?.isEmpty == false, "\(words) \(argument)") }
        }
        let all = try BuiltCommand.run(["--help"]).text
        for (words, _) in try commands() where words.count == 1 { #expect(all.contains("\n  \(words[0]) ")) }
        for code in [0, 64, 65, 66, 69, 74, 75, 77, 78] { #expect(all.contains(" \(code) ")) }
    }

    /// Command lines that are wrong.
    @Test(arguments: [
        "nothing", "init", "init --role writer", "init --role king --db a --cloud b", "init --role writer --db a --cloud b --create --datasets c", "export",
        "export --db a --level 0", "export --db a --level 10", "export --db a --level x", "export --db a more", "export --db", "import --db a --version 0",
        "import --db a --version 1 --file b", "import --db a --datasets b", "import --db a --accept-older", "sync --db a --bogus", "status", "history", "history --db a --limit 0",
        "cat", "cat buckets", "verify", "generate", "generate --db a --notifications -1", "generate --db a --notifications 1 --buckets 0", "generate --db a --mark-read 0", "detach",
        "generate --db a --seed -1", "watch", "watch --db a --poll 1ms", "watch --db a --poll 5", "watch --db a --debounce 2m", "schedule --db a --every 15m", "schedule --db a --cron",
        "schedule --db a --every 15m --cron --systemd", "schedule --db a --every 0s --cron", "schedule --db a --every 500ms --cron", "schedule --every 15m --cron",
        "status --db a --max-age 3h", "status --cloud a --strict", "status --cloud a --prometheus b", "export --db a --asset-limit 0", "export --db a --asset-limit 2TB",
        "share publish --cloud a --owner A", "share publish --cloud a --owner A --file a --project b", "share publish --cloud a --file b", "share publish --cloud a --file b --owner A --item-table c",
        "share publish --cloud a --project b --owner A", "share publish --db a --project b --owner A --column c", "share publish --db a --project b --owner A --column item.name=c",
        "share status --cloud a", "share status --project a", "share list --cloud a --limit 0", "share list --cloud a --page 0", "share comment --cloud a --project b --name A",
        "share comment --cloud a --project b --text x", "share bogus",
    ])
    func wrongCommandLinesEndWith64(line: String) throws {
        let scene = try Scene()
        let run = try scene.run(line)
        #expect(run.status == 64, "\(run.text)\(run.errorText)")
        #expect(run.text == "" && run.errorText.hasPrefix("Error: ") && run.errorText.contains("--help"), "\(run.text)\(run.errorText)")
        #expect(try FileListing(of: scene.scratch.path).entries.count == 1)
    }

    @Test func reportsHaveExactlyTheFieldsOfThePage() async throws {
        let page = try CommandPage()
        var seen: [String: Set<String>] = [:]
        func check(_ object: [String: Any], _ heading: String, at location: SourceLocation = #_sourceLocation) {
            #expect(page.differences(of: object, from: heading, seen: &seen[heading, default: []]) == [], "\(heading)", sourceLocation: location)
        }
        let scene = try Scene()
        check(try scene.json("generate --db phone.db --notifications 20 --buckets 2"), "generate --json")
        check(try scene.json("init --db phone.db --cloud cloud --role writer --device phone"), "init --json")
        check(try scene.json("status --db phone.db"), "status --json")
        check(try scene.json("status --cloud cloud"), "status --cloud --json")
        check(try scene.json("history --cloud cloud"), "history --json")
        check(try scene.json("export --db phone.db"), "export --json")
        check(try scene.json("export --db phone.db"), "export --json")
        check(try scene.json("init --db watch.db --cloud cloud --role reader --device watch --create"), "init --json")
        check(try scene.json("status --db watch.db"), "status --json")
        check(try scene.json("import --db watch.db"), "import --json")
        check(try scene.json("import --db watch.db"), "import --json")
        check(try scene.json("generate --db phone.db --mark-read 1"), "generate --mark-read --json")
        for (line, part) in [("sync --db phone.db", "exported"), ("sync --db watch.db", "imported")] {
            var report = try scene.json(line)
            check(try #require(report[part] as? [String: Any]), part == "exported" ? "export --json" : "import --json")
            // The part's own fields stand under the command that it is of.
            report[part] = [String: Any]()
            check(report, "sync --json")
        }
        check(try scene.json("import --db watch.db --version 1"), "import --json")
        let large = try Scene.phone(notifications: 6000)
        try large.succeed("generate --db phone.db --mark-read 3")
        check(try large.json("export --db phone.db"), "export --json")
        check(try scene.json("import --db watch.db --file \(scene.asset("buckets"))"), "import --json")
        check(try scene.json("status --db watch.db"), "status --json")
        check(try scene.json("history --db watch.db"), "history --json")
        check(try scene.json("status --cloud cloud"), "status --cloud --json")
        check(try scene.json("verify --all --cloud cloud"), "verify --json")
        check(try scene.json("verify --db phone.db --local"), "verify --json")
        check(try scene.json("schedule --db phone.db --every 15m --cron"), "schedule --json")
        check(try scene.json("schedule --db phone.db --every 15m --systemd"), "schedule --json")
        for line in try await scene.linesOfAWatch() { check(line, "watch --json") }
        try scene.database("phone.db").run("UPDATE buckets SET name = x'00'")
        #expect(try scene.run("sync --db phone.db").status == 65)
        check(try scene.json("status --db phone.db"), "status --json")
        check(try scene.json("detach --db watch.db"), "detach --json")
        for report in try scene.sharingReports() { check(report.object, report.heading) }
        let refused = try scene.run("export --db watch.db --json")
        check(try #require(try JSONSerialization.jsonObject(with: refused.errors) as? [String: Any]), "errors")

        for (heading, fields) in page.fields {
            let unseen = Set(fields.map(\.path)).subtracting(seen[heading] ?? [])
            #expect(unseen.isEmpty, "no report showed \(unseen.sorted()) of \(heading)")
        }
    }

    @Test func demoShowsTheMainJob() throws {
        let scene = try Scene()
        let run = try scene.run("demo --directory shown")
        #expect(run.status == 0 && run.errorText == "", "\(run.errorText)")
        for line in ["$ snapsync export --db phone.db\npublished version 1\n", "$ zcat ", "{\"syncTimestamp\":\"", "imported version 1\n", "published version 2\n", "imported version 2\n", "all is well\n"] {
            #expect(run.text.contains(line), "\(line)")
        }
        let shown = { (name: String) in try SQLiteShell(name, in: scene.scratch.path("shown")).values(of: "notifications", orderedBy: "id") }
        #expect(try shown("phone.db") == shown("watch.db") && !shown("watch.db").isEmpty)
        Scene.checkRefusal(try scene.run("demo --directory shown"), exit: 78, saying: ["shown", "cannot be made", "does not exist yet"])
        // A demo of its own leaves nothing behind, whatever the environment says.
        let temporary = try FileManager.default.contentsOfDirectory(atPath: NSTemporaryDirectory()).filter { $0.hasPrefix("snapsync-demo") }
        try scene.succeed("demo", environment: ["SNAPSYNC_DB": "none.db", "SNAPSYNC_CLOUD": "none"])
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: NSTemporaryDirectory()).filter { $0.hasPrefix("snapsync-demo") }).isSubset(of: temporary))
        #expect(!scene.scratch.exists("none.db"))
    }
}
