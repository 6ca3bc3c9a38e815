import ArgumentParser
import Foundation
import Platform
@testable import snapsync
import TestSupport
import Testing

/// The words of the command line, however the program was started.
@Suite(.runsPrograms) struct ArgumentTests {
    @Test func wordsAreThoseThatTheProcessWasStartedWith() {
        #expect(ProgramArguments.words == Array(CommandLine.arguments.dropFirst()))
        #expect(!ProgramArguments.words.isEmpty)
    }

    @Test func withoutArgumentsTheFirstStepsAreShown() throws {
        let run = try BuiltCommand.run([])
        #expect(run.status == 0 && run.errorText == "")
        #expect(run.text.hasPrefix("snapsync copies tables between SQLite databases through a shared folder or an s3:// bucket.\n"))
        // Each of them is a command.
        let lines = run.text.split(separator: "\n").filter { $0.hasPrefix("  snapsync ") }
        #expect(lines.count > 8)
        for line in lines {
            let words = line.components(separatedBy: "   ")[0].split(separator: " ").dropFirst().map(String.init)
            #expect(throws: Never.self, "\(line)") { try Snapsync.parseAsRoot(words) }
        }
    }

    /// A library that is loaded before the program and sets a variable moves `environ`, from where Swift's library searches for the
    /// arguments of a static program. The module that reads them is built into a small static program here.
    @Test(.enabled(if: Self.canLinkStatically, "Swift's static library or a C compiler is missing"))
    func staticProgramFindsItsWordsBehindAPreloadedLibrary() throws {
        let scratch = try ScratchDirectory()
        // A name that is not there yet: one that is takes no new room. The program that starts this one is preloaded, too.
        try scratch.write(
            """
            #include <stdio.h>
            #include <stdlib.h>
            __attribute__((constructor)) static void begin(void) {
                char name[32];
                int number = 0;
                do snprintf(name, sizeof name, "EARLY%d", number++); while (getenv(name));
                setenv(name, "1", 1);
            }

            """, to: "early.c")
        try scratch.write("print(CommandLine.arguments.count > 1 ? \"found\" : \"lost\", ProgramArguments.words)\n", to: "main.swift")
        let sources = Repository.path("Sources")
        try scratch.write("module CLinux { header \"\(sources)/CLinux/include/CLinux.h\" }\n", to: "module.modulemap")
        let platform = try FileManager.default.contentsOfDirectory(atPath: "\(sources)/Platform").filter { $0.hasSuffix(".swift") }
        for words in [
            ["clang", "-shared", "-fPIC", "-o", "early.so", "early.c"],
            ["clang", "-c", "-I", "\(sources)/CLinux/include", "-o", "CLinux.o", "\(sources)/CLinux/CLinux.c"],
            [
                "swiftc", "-static-stdlib", "-package-name", "words", "-enable-upcoming-feature", "InternalImportsByDefault", "-Xcc", "-D_GNU_SOURCE", "-I",
                ".", "-o", "words", "main.swift", "CLinux.o",
            ]
                + platform.map { "\(sources)/Platform/\($0)" },
        ] {
            let built = try ProgramRun(words[0], Array(words.dropFirst()), in: scratch.path)
            try #require(built.status == 0, "\(words): \(built.errorText)")
        }
        let words = ["sync", "a b", "--quiet"]
        #expect(try ProgramRun("./words", words, in: scratch.path).text == "found \(words)\n")
        let preloaded = try ProgramRun("./words", words, in: scratch.path, environment: ["LD_PRELOAD": scratch.path("early.so")])
        #expect(preloaded.text == "lost \(words)\n", "\(preloaded.text)\(preloaded.errorText)")
    }

    private static var canLinkStatically: Bool {
        let tools = ["clang", "swiftc"].allSatisfy { (try? ProgramRun("which", [$0]))?.status == 0 }
        guard tools, let compiler = try? ProgramRun("bash", ["-c", "dirname $(dirname $(readlink -f $(which swiftc)))"]) else { return false }
        let root = compiler.text.trimmingCharacters(in: .newlines)
        return FileManager.default.fileExists(atPath: "\(root)/lib/swift_static/linux")
    }

    // MARK: What a shell offers

    /// What bash offers for the last of the words. The words before `snapsync` are commands for bash.
    private func offered(_ words: [String], in scene: Scene) throws -> [String] {
        try scene.scratch.write(BuiltCommand.run(["--generate-completion-script", "bash"]).text, to: "completion.bash")
        let run = try ProgramRun(
            "bash",
            [
                "-c",
                """
                shopt -s extglob
                snapsync() { "$COMMAND" "$@"; }
                source completion.bash
                COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*"
                COMP_POINT=${#COMP_LINE}
                _snapsync snapsync "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
                printf '%s\\n' "${COMPREPLY[@]}"
                """, "bash", "snapsync",
            ] + words, in: scene.scratch.path, environment: ["COMMAND": BuiltCommand.path()])
        return run.text.split(separator: "\n").map(String.init)
    }

    @Test func shellOffersCommandsFilesAndWords() throws {
        let scene = try Scene.phone()
        #expect(try offered(["expo"], in: scene) == ["export"])
        #expect(try offered(["conflicts", "t"], in: scene).contains("take"))
        #expect(try offered(["sync", "ph"], in: scene).contains("phone.db"))
        #expect(try offered(["init", "phone.db", "cl"], in: scene) == ["cloud"])
        #expect(try offered(["zone", "approve", "phone.db", "watch", "--role", ""], in: scene).sorted() == ["observer", "peer", "reader", "writer"])
    }

    @Test func scriptsOfAllShellsNameEveryCommand() throws {
        for shell in ["bash", "zsh", "fish"] {
            let script = try BuiltCommand.run(["--generate-completion-script", shell])
            #expect(script.status == 0)
            for command in ["export", "conflicts", "rotate-keys"] { #expect(script.text.contains(command), "\(shell)") }
        }
    }
}
