import Foundation
import SnapshotSync
import TestSupport
import Testing

@testable import CommandSupport
@testable import snapsync

/// How lines look on a terminal: the width of help, the colours, and the line of progress.
@Suite(.runsPrograms) struct TerminalLookTests {
    /// Runs the command with standard output and standard error on a terminal of a size; prints what reached it.
    private static let terminal = """
        import fcntl, os, pty, struct, subprocess, sys, termios, threading
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack('HHHH', 40, int(sys.argv[1]), 0, 0))
        seen = []
        def read():
            while True:
                try: piece = os.read(main, 65536)
                except OSError: break
                if not piece: break
                seen.append(piece)
        reader = threading.Thread(target=read)
        reader.start()
        status = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=side, stderr=side).returncode
        os.close(side)
        reader.join()
        print(b''.join(seen).decode().replace('\\r\\n', '\\n'), end='')
        print('[exit %d]' % status)
        """

    private func show(_ line: String, in scene: Scene, columns: Int, _ environment: [String: String] = [:]) throws -> String {
        let words = try [BuiltCommand.path()] + line.split(separator: " ").map(String.init)
        let variables = ["TERM": "xterm", "NO_COLOR": "", "COLUMNS": ""].merging(environment) { $1 }
        return try Python.run(Self.terminal, ["\(columns)"] + words, in: scene.scratch.path, environment: variables)
    }

    @Test func helpFitsTheTerminalAndHasNoRaggedParagraphs() throws {
        let scene = try Scene()
        for columns in [70, 120] {
            let text = try show("detach --help", in: scene, columns: columns)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.allSatisfy { $0.count <= columns }, "\(text)")
            // Within a paragraph each line is as full as the next word lets it be; the parser keeps the last column free.
            for (line, next) in zip(lines, lines.dropFirst()) where line.count > 40 && !line.hasPrefix(" ") && !next.isEmpty && !next.hasPrefix(" ") {
                #expect(line.count + 1 + (next.split(separator: " ").first?.count ?? 0) >= columns, "\(columns): \(line)\n\(next)")
            }
        }
    }

    @Test func coloursAreForTerminalsAlone() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.markRead(1)
        try scene.sync("phone")
        let coloured = try show("status watch.db", in: scene, columns: 200)
        #expect(coloured.contains("\u{1B}[33m  version 1, newest is 2, 1 behind\u{1B}[0m\n"))
        #expect(coloured.contains("\u{1B}[33m  device watch (reader, this one): version 1, 1 behind, "))
        for variables in [["NO_COLOR": "1"], ["TERM": "dumb"]] {
            #expect(!(try show("status watch.db", in: scene, columns: 200, variables)).contains("\u{1B}"))
        }
        #expect(!(try scene.succeed("status watch.db")).contains("\u{1B}"))
        #expect(try show("check watch.db --read-data", in: scene, columns: 200).contains("\u{1B}[32mall is well\u{1B}[0m\n"))
        let error = try show("status none.db", in: scene, columns: 200)
        #expect(error.hasPrefix("\u{1B}[31msnapsync status:\u{1B}[0m ") && error.hasSuffix("[exit 66]\n"), "\(error)")
        #expect(try scene.run("status none.db").errorText.hasPrefix("snapsync status: "))
        // What other programs get has none, whatever it is shown on.
        #expect(!(try show("status watch.db --json", in: scene, columns: 200)).contains("\u{1B}"))
    }

    @Test func progressHasABarARateAndTheTimeThatIsLeft() {
        func progress(_ count: Int, of total: Int?) -> SyncProgress { SyncProgress(step: .encode, dataset: "songs", entityCount: count, expectedCount: total) }
        #expect(
            ProgressLine.text(progress(135_000, of: 300_000), rate: 52_310.4, columns: 100)
                == "encode songs: 135,000 of 300,000, 45 %  [#############-----------------]  52,310/s, 4 s left")
        #expect(ProgressLine.text(progress(1000, of: nil), rate: 500, columns: 80) == "encode songs: 1,000  500/s")
        #expect(ProgressLine.text(progress(1000, of: 900), rate: nil, columns: 80) == "encode songs: 1,000")
        #expect(ProgressLine.text(progress(300_000, of: 300_000), rate: 1, columns: 60) == "encode songs: 300,000 of 300,000, 100 %  1/s, 0 s left")
        for columns in 1...120 {
            #expect(ProgressLine.text(progress(135_000, of: 300_000), rate: 52_310, columns: columns).count < max(columns, 2))
        }
    }
}
