import Foundation
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
