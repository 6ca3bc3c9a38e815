import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import snapsync

/// The command takes and prints what the documents say, no more and no less.
@Suite(.runsPrograms) struct ContractTests {
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

    @Test func everyCommandsHelpHasAnExample() throws {
        for (words, command) in try commands() {
            let run = try BuiltCommand.run(words + ["--help"])
            #expect(run.status == 0 && run.errorText == "")
            #expect(run.text.contains("EXAMPLE"))
            #expect(run.text.contains("\n  snapsync \(words.joined(separator: " "))"), "\(run.text)")
            #expect(run.text == (try BuiltCommand.run(["help"] + words).text))
            #expect((command.abstract ?? "").hasSuffix("."))
            #expect(run.text.split(separator: "\n").allSatisfy { $0.utf8.count <= 80 }, "\(words)")
            for example in (command.discussion ?? "").split(separator: "\n") where example.hasPrefix("  ") {
                #expect(run.text.contains("\n\(example)\n"), "\(words): it does not fit: \(example)")
            }
            for argument in command.arguments ?? [] { #expect(argument.abstract?.isEmpty == false, "\(words) \(argument)") }
        }
        let all = try BuiltCommand.run(["--help"]).text
        for (words, _) in try commands() where words.count == 1 { #expect(all.contains("\n  \(words[0]) ")) }
        for code in [0, 64, 65, 66, 69, 74, 75, 77, 78] { #expect(all.contains(" \(code) ")) }
    }

    /// The long names of a command's options: `--zone`.
    private func options(_ command: Help.Command) -> [String] {
        (command.arguments ?? []).filter { argument in
            argument.kind != "positional" && argument.valueName != "help" && !(argument.valueName == "version" && argument.kind == "flag")
        }
        .compactMap { $0.names?.first { $0.kind == "long" }.map { "--" + $0.name } }
    }

    /// `make install` makes them: one page for each command with each of its options.
    @Test func manualPagesHaveEveryCommandAndOption() throws {
        let scratch = try ScratchDirectory()
        let script = Repository.path("Scripts/manual.py")
        let run = try ProgramRun("python3", [script, BuiltCommand.path(), "man"], in: scratch.path)
        try #require(run.status == 0, "\(run.errorText)")
        let commands = try commands()
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path("man")).count == commands.count + 1)
        for (words, command) in commands {
            let page = String(decoding: try scratch.read("man/snapsync-\(words.joined(separator: "-")).1"), as: UTF8.self)
            for option in options(command) { #expect(page.contains(option.replacing("-", with: "\\-")), "\(words): \(option)") }
        }
    }

    /// At each level: the command that was meant, and the usage of the level.
    @Test(arguments: [
        ("synk", "sync", "snapsync <subcommand>"), ("exprot a", "export", "snapsync <subcommand>"), ("restor", "restore", "snapsync <subcommand>"),
        ("history", "log", "snapsync <subcommand>"), ("verify", "snapsync check --read-data", "snapsync <subcommand>"),
        ("help snc", "sync", "snapsync <subcommand>"), ("conflicts lst a", "list", "snapsync conflicts <subcommand>"),
        ("zone aprove", "approve", "snapsync zone <subcommand>"), ("help zone aprove", "approve", "snapsync zone <subcommand>"),
        ("device fogret x", "forget", "snapsync device <subcommand>"), ("zone rotat", "rotate-keys", "snapsync zone <subcommand>"),
        ("share publsh", "publish", "snapsync-examples share <subcommand>"),
    ])
    func mistypedCommandGetsASuggestion(line: String, suggestion: String, usage: String) throws {
        let run = try BuiltCommand.run(line.split(separator: " ").map(String.init))
        #expect(run.status == 64 && run.text == "")
        #expect(run.errorText.contains("Did you mean '\(suggestion)'?\nUsage: \(usage)\n"), "\(run.errorText)")
    }

    @Test func wordThatResemblesNoCommandIsCalledUnknown() throws {
        for (line, level) in [("quite-another", "snapsync"), ("zone zzzz", "snapsync zone")] {
            let run = try BuiltCommand.run(line.split(separator: " ").map(String.init))
            #expect(run.status == 64 && run.text == "")
            #expect(run.errorText.contains("'\(level) --help' lists the commands.\nUsage: \(level) <subcommand>\n"), "\(run.errorText)")
        }
        // Text that could steer a terminal is shown, not obeyed.
        #expect(try BuiltCommand.run(["\u{1B}[2J"]).errorText.contains("Unknown command '\\u{1b}[2J'."))
    }

    /// Whether the parser finds it or the command itself.
    @Test(arguments: ["sync", "status", "zone members", "device forget x", "conflicts list", "conflicts", "show", "check", "watch"])
    func missingArgumentShowsTheUsageOfTheCommand(line: String) throws {
        let words = line.split(separator: " ").map(String.init)
        let run = try BuiltCommand.run(words, environment: ["SNAPSYNC_DB": ""])
        #expect(run.status == 64 && run.text == "")
        let command = line.replacing(" x", with: "")
        #expect(run.errorText.contains(/\nUsage: snapsync [a-z ]+[<\[]/) && run.errorText.contains("\n  See 'snapsync \(command)"), "\(run.errorText)")
    }

    @Test func versionIsPrintedByTheCommandAlone() throws {
        let run = try BuiltCommand.run(["--version"])
        #expect(run.status == 0 && run.text.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil && run.errorText == "")
        let changes = try String(contentsOf: Repository.root.appendingPathComponent("CHANGELOG.md"), encoding: .utf8)
        #expect(changes.contains("## \(run.text.dropLast())"))
        // The help of a command has one --version: the program's.
        #expect(try BuiltCommand.run(["show", "--help"]).text.matches(of: /\n  --version/).count == 1)
    }

    /// Command lines that are wrong.
    @Test(arguments: [
        "nothing", "init", "init a", "init a b --role king", "init a b --built-in --datasets c", "init a b --built-in --tables c", "export",
        "export a --level 1", "export a more", "export --full", "import a --at 1",
        "import a --accept-rollback 0", "import a --accept-rollback 1 --file b", "check",
        "check a --levels", "import a --datasets b", "import a --accept-older", "sync a --bogus", "status", "log",
        "log a --limit 0",
        "show", "show buckets", "check --read-data", "repair", "repair -n", "generate", "generate a --notifications -1",
        "generate a --notifications 1 --buckets 0", "generate a --mark-read 0", "detach",
        "device move", "device move a", "copy", "copy a", "device rename a", "device forget a", "device claim", "join", "join a", "join a b --peer --writer",
        "generate a --seed -1", "watch", "watch a --poll 1ms", "watch a --poll 5", "watch a --debounce 2m", "service a --every 15m",
        "service cron a", "service systemd a",
        "service cron a --every 15m --systemd", "service cron a --every 0s", "service cron a --every 500ms",
        "service cron --every 15m",
        "status --html a", "status a --html", "check a --restore --all-versions", "check a --at 1", "check a --restore --at 0", "check a -v -q",
        "sync a --heartbeat b", "sync a --heartbeat ftp://b", "watch a --heartbeat https://", "service cron a --watch",
        "service systemd a --watch --every 5m", "status a --also b", "status a --html b --limit 3", "status a --html b --strict",
        "status a --max-age 3h", "status --location a", "config set a asset-limit 0",
        "config set a asset-limit 2TB", "config set a", "config set a sync", "config set a sync maybe", "config set a other 1", "config get a", "config",
        "share publish a --owner A", "share publish a --file b",
        "share status a", "share status --project a", "share list a --limit 0", "share list a --page 0",
        "share comment a --project b --name A",
        "share comment a --project b --text x", "share bogus",
        "config set sync on", "config set sync off", "import a --add", "import a --file b --add --accept-older",
        "init a b --built-in --disabled --undecided",
        "pin a", "pin a 0", "pin a x --remove", "pin a 1 --name b --remove", "prune a", "prune a --keep-last 0", "prune a --keep-within 7",
        "config set a keep 0s", "config set a keep-last 0", "config set a keep-last 1 -n",
        "join a b --keep 3d", "join a b --keep-last 3",
        "init a b --built-in --keep-last 0",
        "log a --limit 3 --all",
        "diff a 1", "diff a 1 here", "restore a", "restore a 0", "restore a 1 t",
        "restore a yesterday",
        "export --replace --yes", "export a --replace --full --yes", "export a --replace", "sync a --plan", "sync a --plan b -n", "sync a --all", "undo",
        "sync -n",
        "pending", "pending a --limit 0", "repair a --request-full -n", "tables add a", "tables remove a", "tables edits a", "tables adopt a --remove b",
        "conflicts", "conflicts show a", "conflicts show a x", "conflicts take a", "conflicts take a 1 --as-new --in-place",
    ])
    func wrongCommandLinesEndWith64(line: String) throws {
        do {
            // Those of the other program are run.
            if !["generate", "share"].contains(where: line.hasPrefix) { _ = try Snapsync.parseAsRoot(line.split(separator: " ").map(String.init)) }
        } catch {
            let text = Snapsync.fullMessage(for: error)
            #expect(Snapsync.exitCode(for: error).rawValue == 64 && text.hasPrefix("Error: ") && text.contains("--help"), "\(text)")
            return
        }
        // The command finds it, not its parser.
        let scene = try Scene()
        let run = try scene.run(line)
        #expect(run.status == 64, "\(run.text)\(run.errorText)")
        #expect(run.text == "" && run.errorText.hasPrefix("Error: ") && run.errorText.contains("--help"), "\(run.text)\(run.errorText)")
        #expect(try FileListing(of: scene.scratch.path).entries.count == 1)
    }

    /// What hints and findings advise can be typed.
    @Test func textsNameOnlyCommandsAndFlagsThatExist() throws {
        let known = try commands().map { (words: $0.words, flags: Set(($0.command.arguments ?? []).flatMap { ($0.names ?? []).map(\.name) })) }
        let prose: Set<String> = [
            "copies", "on", "makes", "works", "here", "had", "has", "set", "out", "itself", "is", "can", "reads", "and", "or", "then", "help",
        ]
        let typed = /snapsync ([a-z]+)((?: (?:--?[a-z-]+|[a-z]+(?:-[a-z]+)*|[A-Z][A-Z…]*|\\\([^)]*\)|[0-9]+[A-Za-z]*))*)/
        var count = 0
        let sources = Repository.path("Sources")
        for name in try FileManager.default.subpathsOfDirectory(atPath: sources) where name.hasSuffix(".swift") {
            let text = try String(contentsOfFile: "\(sources)/\(name)", encoding: .utf8)
            for line in text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                for match in line.matches(of: typed) {
                    var path = [String(match.1)], words = match.2.split(separator: " ").map(String.init)[...]
                    guard known.contains(where: { $0.words == path }) else {
                        #expect(prose.contains(path[0]), "\(name): snapsync \(path[0])")
                        continue
                    }
                    count += 1
                    while let word = words.popFirst(), word.first?.isLowercase != true || known.contains(where: { $0.words == path + [word] }) {
                        if known.contains(where: { $0.words == path + [word] }) { path.append(word) }
                        guard word.hasPrefix("-") else { continue }
                        let flag = String(word.drop { $0 == "-" })
                        #expect(known.contains { $0.words.starts(with: path) && $0.flags.contains(flag) }, "\(name): snapsync \(path) \(word)")
                    }
                }
            }
        }
        #expect(count > 80)
    }

    @Test func demoShowsTheMainJob() throws {
        let scene = try Scene()
        let run = try scene.run("demo --directory shown")
        #expect(run.status == 0 && run.errorText == "", "\(run.errorText)")
        for line in [
            "$ snapsync export phone.db\npublished version 1\n", "$ zcat ", "{\"syncTimestamp\":\"", "imported version 1\n", "published version 2\n",
            "imported version 2\n", "all is well\n",
        ] {
            #expect(run.text.contains(line), "\(line)")
        }
        let shown = { (name: String) in try SQLiteShell(name, in: scene.scratch.path("shown")).values(of: "notifications", orderedBy: "id") }
        #expect(try shown("phone.db") == shown("watch.db") && !shown("watch.db").isEmpty)
        Scene.checkRefusal(try scene.run("demo --directory shown"), exit: 78, saying: ["shown", "cannot be made", "does not exist yet"])
        // A demo of its own leaves nothing behind, whatever the environment says.
        try FileManager.default.createDirectory(atPath: scene.scratch.path("temporary"), withIntermediateDirectories: false)
        try scene.succeed("demo", environment: ["SNAPSYNC_DB": "none.db", "SNAPSYNC_LOCATION": "none", "TMPDIR": scene.scratch.path("temporary")])
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path("temporary")) == [])
        #expect(!scene.scratch.exists("none.db"))
    }
}
