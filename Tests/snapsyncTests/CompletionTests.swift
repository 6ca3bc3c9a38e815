import Foundation
@testable import snapsync
import TestSupport
import Testing

/// What a shell offers, asked of bash itself with the script that the built command prints.
@Suite(.runsPrograms) struct CompletionTests {
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

    @Test func shellOffersWhatTheDatabaseAndTheCloudHold() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.publishMore(1)
        try scene.succeed("sync --db watch.db")
        let before = try FileListing(of: scene.scratch.path("cloud"))
        #expect(try offered(["expo"], in: scene) == ["export"])
        #expect(try offered(["conflicts", "t"], in: scene) == ["take"])
        #expect(try offered(["sync", "--db", "ph"], in: scene).contains("phone.db"))
        #expect(try offered(["init", "--cloud", "cl"], in: scene) == ["cloud"])
        #expect(try offered(["init", "--role", ""], in: scene).sorted() == ["peer", "reader", "writer"])
        #expect(try offered(["cat", "--db", "watch.db", ""], in: scene).sorted() == ["buckets", "notifications"])
        #expect(try offered(["cat", "--cloud", "cloud", "no"], in: scene) == ["notifications_data"])
        #expect(try offered(["pin", "--db", "phone.db", ""], in: scene) == ["2", "1"])
        #expect(try offered(["cat", "buckets", "--db=phone.db", "--version", ""], in: scene) == ["2", "1"])
        #expect(try offered(["device", "forget", "--db", "phone.db", "w"], in: scene) == ["watch"])
        // Without a database, or with one that cannot be read, nothing is offered and nothing said.
        #expect(try offered(["pin", ""], in: scene).isEmpty)
        #expect(try offered(["pin", "--db", "none.db", ""], in: scene).isEmpty)
        #expect(try FileListing(of: scene.scratch.path("cloud")) == before)
        #expect(!FileManager.default.fileExists(atPath: scene.scratch.path("none.db")))
    }

    /// Bash runs the commands in the words that it is offered, and a cloud may hold any name.
    @Test func nameThatBashWouldExpandIsNotOffered() {
        for name in ["watch", "phone-2", "büro_1.b", "7"] { #expect(Completions.isPlain(name), "\(name)") }
        for name in ["$(touch x)", "`id`", "a b", "a;b", "-rf", "~root", "*", "a\nb", "a'b", "\\"] { #expect(!Completions.isPlain(name), "\(name)") }
    }

    @Test func scriptsOfAllShellsNameEveryCommand() throws {
        for shell in ["bash", "zsh", "fish"] {
            let script = try BuiltCommand.run(["--generate-completion-script", shell])
            #expect(script.status == 0)
            for command in ["export", "conflicts", "relocate"] { #expect(script.text.contains(command), "\(shell)") }
        }
    }
}
