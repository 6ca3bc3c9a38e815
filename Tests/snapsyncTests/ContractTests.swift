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

    @Test func manualPagesSayWhatTheCommandSays() throws {
        let scratch = try ScratchDirectory()
        let script = CommandPage.root.appendingPathComponent("Scripts/manual.py").path
        let run = try ProgramRun("python3", [script, BuiltCommand.path(), "man"], in: scratch.path)
        try #require(run.status == 0, "\(run.errorText)")
        let checkedIn = CommandPage.root.appendingPathComponent("docs/man")
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path("man")).sorted()
        #expect(try FileManager.default.contentsOfDirectory(atPath: checkedIn.path).sorted() == names)
        #expect(names.count == (try commands().count) + 1)
        for name in names {
            let written = try String(contentsOfFile: scratch.path("man/\(name)"), encoding: .utf8)
            #expect(written == (try String(contentsOf: checkedIn.appendingPathComponent(name), encoding: .utf8)), "make man writes \(name) again")
        }
    }

    @Test func mistypedCommandGetsASuggestion() throws {
        for (line, suggestion) in [("synk", "sync"), ("exprot --db a", "export"), ("hist", "history"), ("conflicts lst --db a", "list")] {
            let run = try BuiltCommand.run(line.split(separator: " ").map(String.init))
            #expect(run.status == 64 && run.text == "")
            #expect(run.errorText.contains("Did you mean '\(suggestion)'?"), "\(run.errorText)")
        }
        let run = try BuiltCommand.run(["quite-another"])
        #expect(run.status == 64 && !run.errorText.contains("Did you mean"))
    }

    @Test func versionIsPrintedByTheCommandAlone() throws {
        let run = try BuiltCommand.run(["--version"])
        #expect(run.status == 0 && run.text.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil && run.errorText == "")
        let changes = try String(contentsOf: CommandPage.root.appendingPathComponent("CHANGELOG.md"), encoding: .utf8)
        #expect(changes.contains("## \(run.text.dropLast())"))
        // The help of cat has one --version: the dataset's.
        #expect(try BuiltCommand.run(["cat", "--help"]).text.matches(of: /\n  --version/).count == 1)
    }

    /// Command lines that are wrong.
    @Test(arguments: [
        "nothing", "init", "init --role writer", "init --role king --db a --cloud b", "init --role writer --db a --cloud b --create --datasets c", "export",
        "export --db a --level 0", "export --db a --level 10", "export --db a --level x", "export --db a more", "export --db", "import --db a --version 0",
        "import --db a --version 1 --file b", "import --db a --accept-rollback 0", "import --db a --accept-rollback 1 --version 1", "doctor",
        "doctor --cloud a --local", "import --db a --datasets b", "import --db a --accept-older", "sync --db a --bogus", "status", "history",
        "history --db a --limit 0",
        "cat", "cat buckets", "verify", "repair", "repair --dry-run", "generate", "generate --db a --notifications -1",
        "generate --db a --notifications 1 --buckets 0", "generate --db a --mark-read 0", "detach",
        "relocate", "relocate --db a", "mirror", "mirror a", "device rename --db a", "device forget --db a", "device rename b",
        "generate --db a --seed -1", "watch", "watch --db a --poll 1ms", "watch --db a --poll 5", "watch --db a --debounce 2m", "schedule --db a --every 15m",
        "schedule --db a --cron",
        "schedule --db a --every 15m --cron --systemd", "schedule --db a --every 0s --cron", "schedule --db a --every 500ms --cron",
        "schedule --every 15m --cron",
        "report", "report --html a", "verify --restore --all --db a", "verify --version 1 --db a", "verify --restore --version 0 --db a",
        "sync --db a --heartbeat b", "sync --db a --heartbeat ftp://b", "watch --db a --heartbeat https://", "schedule --db a --watch --cron",
        "schedule --db a --watch --every 5m --systemd", "schedule --db a --systemd --every 5m --page b", "report --db a", "report --html a --cloud b --limit 3",
        "status --db a --max-age 3h", "status --cloud a --strict", "status --cloud a --prometheus b", "export --db a --asset-limit 0",
        "export --db a --asset-limit 2TB",
        "share publish --cloud a --owner A", "share publish --cloud a --owner A --file a --project b", "share publish --cloud a --file b",
        "share publish --cloud a --file b --owner A --item-table c",
        "share publish --cloud a --project b --owner A", "share publish --db a --project b --owner A --column c",
        "share publish --db a --project b --owner A --column item.name=c",
        "share status --cloud a", "share status --project a", "share list --cloud a --limit 0", "share list --cloud a --page 0",
        "share comment --cloud a --project b --name A",
        "share comment --cloud a --project b --text x", "share bogus",
        "generate --db a --seed -1", "enable", "disable", "open", "migrate --db a", "migrate --from a", "enable --db a --preference-file b",
        "enable --db a --preference-key b",
        "enable --db a --preference-file b --preference-key c --unbind", "init --role writer --db a --cloud b --preference-file c",
        "pin --db a", "pin 0 --db a", "unpin x --db a", "prune --db a", "prune --keep-last 0 --db a", "prune --keep-within 7 --db a",
        "prune --automatic --db a", "prune --automatic --manual --keep-last 1 --db a", "prune --automatic --keep-last 1 --dry-run --db a",
        "init --role reader --db a --cloud b --keep 3d", "init --role reader --db a --cloud b --keep-last 3",
        "init --role writer --db a --cloud b --keep-last 0",
        "history --db a --limit 3 --all",
        "diff 1 --db a", "diff 1 here --db a", "restore --db a", "restore --version 1 --before 2026-01-01T00:00:00Z --db a",
        "restore --before yesterday --db a",
        "replace --yes --db a", "replace both --yes --db a", "replace cloud --db a", "apply --db a", "undo", "plan",
        "messages", "messages --db a --limit 0", "messages --cloud a --request-full", "messages --cloud a --limit 5",
        "conflicts", "conflicts show --db a", "conflicts show x --db a", "conflicts take --db a", "conflicts take 1 --as-new --in-place --db a",
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
        try scene.database("phone.db").run("CREATE TRIGGER hash AFTER INSERT ON buckets BEGIN DELETE FROM notifications WHERE id = app_hash(NEW.id); END")
        check(try scene.json("init --db phone.db --cloud cloud --role writer --device phone"), "init --json")
        try scene.database("phone.db").run("DROP TRIGGER hash")
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
        try scene.database("watch.db").run(
            """
            UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications);
            UPDATE notifications SET title = 'mine' WHERE id = (SELECT max(id) FROM notifications);
            DELETE FROM buckets WHERE id = (SELECT bucketId FROM notifications LIMIT 1);
            """)
        check(try scene.json("messages --cloud cloud"), "messages --json")
        try scene.scratch.write("{}", to: "\(Scene.zone)/messages/watch/note.txt")
        for line in ["sync --db watch.db", "sync --db phone.db"] {
            var report = try scene.json(line)
            for part in ["exported", "imported"] where report[part] != nil { report[part] = [String: Any]() }
            check(report, "sync --json")
            for database in ["watch.db", "phone.db"] { check(try scene.json("messages --db \(database)"), "messages --json") }
        }
        check(try scene.json("conflicts --db phone.db"), "conflicts --json")
        try scene.succeed("sync --db watch.db")
        check(try scene.json("messages --db watch.db"), "messages --json")
        check(try scene.json("status --db watch.db"), "status --json")
        try scene.database("watch.db").run("DELETE FROM snapsync_changes; DELETE FROM snapsync_outbox")
        check(try scene.json("import --db watch.db --version 1"), "import --json")
        let large = try Scene.phone(notifications: 6000)
        try large.succeed("generate --db phone.db --mark-read 3")
        check(try large.json("export --db phone.db"), "export --json")
        check(try scene.json("import --db watch.db --file \(scene.asset("buckets"))"), "import --json")
        check(try scene.json("status --db watch.db"), "status --json")
        check(try scene.json("history --db watch.db"), "history --json")
        check(try scene.json("status --cloud cloud"), "status --cloud --json")
        check(try scene.json("verify --all --cloud cloud"), "verify --json")
        check(try scene.json("doctor --cloud cloud"), "doctor --json")
        let ill = try scene.run("doctor --db phone.db --cloud none --json")
        check(try #require(try JSONSerialization.jsonObject(with: ill.output) as? [String: Any]), "doctor --json")
        for (report, heading) in try Scene.repairReports() { check(report, heading) }
        var accepted = try putBack().json("import --db watch.db --accept-rollback 1")
        check(try #require(accepted["imported"] as? [String: Any]), "import --json")
        accepted["imported"] = [String: Any]()
        check(accepted, "import --accept-rollback --json")
        check(try scene.json("verify --db phone.db --local"), "verify --json")
        try checkVersions(scene) { check($0, $1) }
        try scene.forkOfPeers()
        for _ in 0..<2 {
            check(try scene.json("status --db laptop.db"), "status --json")
            check(try scene.json("history --db laptop.db"), "history --json")
            let verified = try scene.run("verify --db laptop.db --json")
            check(try #require(try JSONSerialization.jsonObject(with: verified.output) as? [String: Any]), "verify --json")
            try scene.succeed("sync --db laptop.db")
        }
        check(try scene.json("schedule --db phone.db --every 15m --cron"), "schedule --json")
        check(try scene.json("schedule --db phone.db --every 15m --systemd"), "schedule --json")
        for line in try await scene.linesOfAWatch() { check(line, "watch --json") }
        try scene.database("phone.db").run("UPDATE buckets SET name = x'00'")
        #expect(try scene.run("sync --db phone.db").status == 65)
        check(try scene.json("status --db phone.db"), "status --json")
        for report in try scene.sharingReports() { check(report.object, report.heading) }
        try scene.scratch.write(#"{"validUntil":"2999-01-01T00:00:00Z"}"#, to: "licence.json")
        check(try scene.json("enable --db watch.db --preference-file settings.json --preference-key sync --entitlement licence.json"), "enable --json")
        check(try scene.json("status --db watch.db"), "status --json")
        try FileManager.default.removeItem(atPath: scene.scratch.path("licence.json"))
        check(try scene.json("status --db watch.db"), "status --json")
        check(try scene.json("disable --db watch.db"), "enable --json")
        check(try scene.json("status --db watch.db"), "status --json")
        check(try scene.json("verify --restore --db phone.db"), "verify --restore --json")
        check(try scene.json("status --db phone.db"), "status --json")
        check(try scene.json("schedule --db phone.db --watch --systemd"), "schedule --json")
        check(try scene.json("report --html page.html --db phone.db --cloud cloud"), "report --json")
        let bad = try scene.run("report --html page.html --cloud none --json")
        check(try #require(try JSONSerialization.jsonObject(with: bad.output) as? [String: Any]), "report --json")
        check(try scene.json("open --db watch.db"), "open --json")
        check(try scene.json("open --db phone.db"), "open --json")
        try scene.scratch.write(
            #"{"id":"old","name":"Old","createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:00:00Z","shade":1}"#, to: "old/Bucket/old.json")
        try scene.scratch.write("no", to: "old/Bucket/note.txt")
        try scene.scratch.write("no", to: "old/Bucket/bad.json")
        check(try scene.json("migrate --db phone.db --from old --skip-bad"), "migrate --json")
        check(try scene.json("detach --db watch.db"), "detach --json")
        let away = try scene.run("status --db phone.db --cloud none --json")
        #expect(away.status == 69)
        check(try #require(try JSONSerialization.jsonObject(with: away.output) as? [String: Any]), "status --json")
        let refused = try scene.run("export --db watch.db --json")
        check(try #require(try JSONSerialization.jsonObject(with: refused.errors) as? [String: Any]), "errors")

        try scene.database("own.db").run(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, updated_at TEXT, modified INTEGER, n INTEGER AS (id)); CREATE TABLE v(id TEXT PRIMARY KEY NOT NULL, mtime INTEGER); INSERT INTO v VALUES('a', 1700000000); CREATE TABLE u(x TEXT PRIMARY KEY); INSERT INTO u VALUES(NULL)"
        )
        var described = try scene.json("describe --db own.db")
        described["file"] = [String: Any]()
        check(described, "describe --json")
        try scene.database("changed.db").run("CREATE TABLE own(id TEXT PRIMARY KEY NOT NULL)")
        try scene.succeed("init --db changed.db --cloud cloud --zone Changed --role writer --device changed --tables all")
        try scene.database("changed.db").run("ALTER TABLE own ADD COLUMN more TEXT")
        check(try scene.json("describe --update --db changed.db"), "describe --update --json")
        try scene.database("numbered.db").run("CREATE TABLE todo(id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT)")
        check(try scene.json("init --db numbered.db --cloud team --role peer --tables all --key-range"), "init --json")
        let unfit = try scene.run("init --db own.db --cloud cloud --role writer --tables all --json")
        check(try #require(try JSONSerialization.jsonObject(with: unfit.errors) as? [String: Any]), "errors")

        let contested = try Scene.phoneAndWatch()
        try contested.database("watch.db").run("UPDATE buckets SET name = 'by watch' WHERE id = (SELECT min(id) FROM buckets)")
        try contested.database("phone.db").run("UPDATE buckets SET name = 'by phone' WHERE id = (SELECT min(id) FROM buckets)")
        for name in ["phone", "watch", "phone"] { try contested.succeed("sync --db \(name).db") }
        for name in ["phone", "watch"] { check(try contested.json("conflicts --db \(name).db"), "conflicts --json") }
        check(try contested.json("relocate --db watch.db --cloud cloud"), "relocate --json")
        check(try contested.json("mirror cloud copy"), "mirror --json")
        check(try contested.json("device rename kitchen --db watch.db"), "device rename --json")
        check(try contested.json("device forget kitchen --db phone.db"), "device forget --json")

        let signed = try SignedScene()
        check(try signed.json("init --db phone.db --cloud cloud --role writer --device phone --create --signed"), "init --json")
        try signed.succeed("generate --db phone.db --notifications 5")
        try signed.succeed("sync --db phone.db")
        try signed.succeed("init --db watch.db --cloud cloud --role reader --device watch --create")
        check(try signed.json("member list --db phone.db"), "member list --json")
        check(try signed.json("member approve watch --yes --db phone.db"), "member approve --json")
        check(try signed.json("member role watch observer --db phone.db"), "member role --json")
        check(try signed.json("status --db phone.db"), "status --json")
        check(try signed.json("status --cloud cloud"), "status --cloud --json")
        check(try signed.json("history --db phone.db"), "history --json")
        check(try signed.json("member list --db phone.db"), "member list --json")
        check(try signed.json("member remove watch --db phone.db"), "member remove --json")
        let sealed = try SignedScene()
        check(try sealed.json("init --db phone.db --cloud cloud --role writer --device phone --create --sealed"), "init --json")
        try sealed.succeed("sync --db phone.db")
        try sealed.join("watch")
        try sealed.join("late") { check($0, "member approve --json") }
        check(try sealed.json("status --db phone.db"), "status --json")
        check(try sealed.json("status --cloud cloud"), "status --cloud --json")
        check(try sealed.json("member remove watch --db phone.db"), "member remove --json")
        check(try sealed.json("key rotate --new-recovery-code --db phone.db"), "key rotate --json")
        try contested.database("phone.db").run("UPDATE notifications SET bucketId = 'gone' WHERE id = (SELECT min(id) FROM notifications)")
        check(try contested.json("verify --db phone.db --local"), "verify --json")
        check(["conflicts": [try contested.json("conflicts show 1 --db watch.db")], "database": "", "open": 1, "removed": 0], "conflicts --json")
        check(try contested.json("conflicts take 1 --db watch.db"), "conflicts take --json")
        check(try contested.json("conflicts clear --db phone.db"), "conflicts clear --json")

        for (heading, fields) in page.fields {
            // Only a bucket has requests: BucketTests looks at them.
            let unseen = Set(fields.map(\.path).filter { $0.split(separator: ".").first != "requests" }).subtracting(seen[heading] ?? [])
            #expect(unseen.isEmpty, "no report showed \(unseen.sorted()) of \(heading)")
        }
    }

    /// A reader that has seen version 2 of a zone that was put back to version 1.
    private func putBack() throws -> Scene {
        let scene = try Scene.phoneAndWatch()
        try scene.scratch.copy(scene.scratch.path("cloud"), to: "backup")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'two'")
        for line in ["sync --db phone.db", "sync --db watch.db"] { try scene.succeed(line) }
        try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
        try scene.scratch.copy(scene.scratch.path("backup"), to: "cloud")
        return scene
    }

    /// What hints and findings advise can be typed.
    @Test func textsNameOnlyCommandsAndFlagsThatExist() throws {
        let page = try CommandPage()
        let known = Dictionary(grouping: page.flags, by: { $0.key.split(separator: " ").first.map(String.init) ?? "" }).mapValues {
            Set($0.flatMap(\.value).map(\.name))
        }
        let prose: Set<String> = ["on", "makes", "works", "here", "had", "has", "set", "out", "itself", "init", "is", "can", "reads", "and", "or", "then"]
        var count = 0
        let sources = CommandPage.root.appendingPathComponent("Sources").path
        for name in try FileManager.default.subpathsOfDirectory(atPath: sources) where name.hasSuffix(".swift") {
            let text = try String(contentsOfFile: "\(sources)/\(name)", encoding: .utf8)
            for line in text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                for match in line.matches(of: /snapsync ([a-z]+)((?: (?:--[a-z-]+|[A-Z][A-Z…]*|\\\([^)]*\)|[0-9]+[A-Za-z]*))*)/) {
                    let command = String(match.1)
                    guard let flags = known[command] else {
                        #expect(prose.contains(command), "\(name): snapsync \(command)")
                        continue
                    }
                    count += 1
                    for flag in match.2.split(separator: " ") where flag.hasPrefix("--") {
                        #expect(flags.contains(String(flag)), "\(name): snapsync \(command) \(flag)")
                    }
                }
            }
        }
        #expect(count > 80)
    }

    /// The reports of the commands that keep, compare and bring back versions.
    private func checkVersions(_ scene: Scene, _ check: ([String: Any], String) throws -> Void) throws {
        try scene.succeed("import --db watch.db")
        try check(try scene.json("pin 1 --name first --db phone.db"), "pin --json")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'other'")
        try check(try scene.json("plan --db phone.db"), "plan --json")
        for line in try scene.succeed("diff 1 local --values --json --db phone.db").split(separator: "\n") {
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            // The values are named by the dataset's own columns.
            try check(object.mapValues { $0 is [String: Any] ? [String: Any]() : $0 }, object["datasets"] == nil ? "diff --json" : "diff counts --json")
        }
        try check(try scene.json("restore --version 1 --db phone.db"), "restore --json")
        try check(try scene.json("status --db phone.db"), "status --json")
        try check(try scene.json("undo --db phone.db"), "restore --json")
        try check(try scene.json("history --db phone.db"), "history --json")
        var replaced = try scene.json("replace cloud --yes --db phone.db")
        try check(try #require(replaced["replaced"] as? [String: Any]), "restore --json")
        try check(try #require(replaced["exported"] as? [String: Any]), "export --json")
        for part in ["replaced", "exported"] { replaced[part] = [String: Any]() }
        try check(replaced, "replace cloud --json")
        try scene.database("watch.db").run("UPDATE buckets SET name = 'mine'")
        var local = try scene.json("replace local --yes --db watch.db")
        try check(try #require(local["imported"] as? [String: Any]), "import --json")
        local["imported"] = [String: Any]()
        try check(local, "replace local --json")
        try scene.age()
        try check(try scene.json("prune --keep-last 1 --db phone.db"), "prune --json")
        try check(try scene.json("prune --keep-last 100 --keep-within 1s --automatic --db phone.db"), "prune --json")
        try check(try scene.json("status --db phone.db"), "status --json")
        try scene.succeed("prune --keep-last 1 --automatic --db phone.db")
        try scene.age()
        try scene.succeed("generate --db phone.db --mark-read 2 --seed 4")
        try check(try scene.json("export --db phone.db"), "export --json")
        try check(try scene.json("status --db phone.db"), "status --json")
        try check(try scene.json("prune --manual --db phone.db"), "prune --manual --json")
    }

    @Test func demoShowsTheMainJob() throws {
        let scene = try Scene()
        let run = try scene.run("demo --directory shown")
        #expect(run.status == 0 && run.errorText == "", "\(run.errorText)")
        for line in [
            "$ snapsync export --db phone.db\npublished version 1\n", "$ zcat ", "{\"syncTimestamp\":\"", "imported version 1\n", "published version 2\n",
            "imported version 2\n", "all is well\n",
        ] {
            #expect(run.text.contains(line), "\(line)")
        }
        let shown = { (name: String) in try SQLiteShell(name, in: scene.scratch.path("shown")).values(of: "notifications", orderedBy: "id") }
        #expect(try shown("phone.db") == shown("watch.db") && !shown("watch.db").isEmpty)
        Scene.checkRefusal(try scene.run("demo --directory shown"), exit: 78, saying: ["shown", "cannot be made", "does not exist yet"])
        // A demo of its own leaves nothing behind, whatever the environment says.
        try FileManager.default.createDirectory(atPath: scene.scratch.path("temporary"), withIntermediateDirectories: false)
        try scene.succeed("demo", environment: ["SNAPSYNC_DB": "none.db", "SNAPSYNC_CLOUD": "none", "TMPDIR": scene.scratch.path("temporary")])
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path("temporary")) == [])
        #expect(!scene.scratch.exists("none.db"))
    }
}
