import GRDB
import StrictText
import TestSupport
import Testing

/// What is quoted comes out again, byte for byte, at SQLite and at a shell, whatever is in it.
@Suite struct QuotingTests {
    private let seed = UInt64.random(in: 1...UInt64.max)

    @Test func aQuotedNameIsThatNameToSQLite() throws {
        let queue = try DatabaseQueue()
        try queue.write { db in
            for (number, name) in OddText(seed: seed, count: 3000).enumerated() {
                try db.execute(sql: "CREATE TABLE \((name + "t").sqlIdentifier)(\(name.sqlIdentifier))")
                let found = try Row.fetchOne(
                    db, sql: "SELECT s.name, i.name FROM sqlite_schema s, pragma_table_info(s.name) i WHERE s.type = 'table'")
                #expect(found.map { Array(($0[0] as String).utf8) } == Array((name + "t").utf8), "seed \(seed), name \(number)")
                #expect(found.map { Array(($0[1] as String).utf8) } == Array(name.utf8), "seed \(seed), name \(number)")
                try db.execute(sql: "DROP TABLE \((name + "t").sqlIdentifier)")
            }
        }
    }

    @Test func aQuotedTextIsThatTextToSQLite() throws {
        let queue = try DatabaseQueue()
        try queue.read { db in
            for (number, text) in OddText(seed: seed, count: 3000, hasControls: true).enumerated() {
                let row = try #require(try Row.fetchOne(db, sql: "SELECT \(text.sqlText), quote(?)", arguments: [text]))
                #expect(Array((row[0] as String).utf8) == Array(text.utf8), "seed \(seed), text \(number)")
                #expect(Array((row[1] as String).utf8) == Array(text.sqlText.utf8), "seed \(seed), text \(number)")
            }
        }
    }

    @Test func aQuotedWordIsThatWordToAShell() throws {
        let odd = Array(OddText(seed: seed, count: 1000, hasControls: true)).filter { $0.utf8.last != UInt8(ascii: "\n") }
        let words = odd + ["", "-", "~", "a\u{301}", "'\u{301}; touch pwned; '", "a\nb", "it's\u{1B}[2J\\", "\u{7F}0%s\\n", "-\t%", "\u{646}\u{200C}\u{647}"]
        #expect(!words.map(\.shellWord).contains { $0.unicodeScalars.contains(where: VisibleText.isControl) }, "seed \(seed)")
        for shell in ["sh", "bash"] { #expect(try self.words(of: words, in: shell) == words.map { Array($0.utf8) }, "seed \(seed)") }
    }

    /// Other shells make another word of a line break at the end, but one word.
    @Test func aWordThatEndsWithLineBreaksIsThatWordToBash() throws {
        let words = ["a\n", "\n", "it's\n\n"]
        #expect(try self.words(of: words, in: "bash") == words.map { Array($0.utf8) })
        #expect(try self.words(of: words, in: "sh").count == words.count)
    }

    /// What a shell makes of quoted words.
    private func words(of texts: [String], in shell: String) throws -> [[UInt8]] {
        let scratch = try ScratchDirectory()
        // In a file: one argument of a program may have 128 KiB.
        try scratch.write("printf '%s\\0' \(texts.map(\.shellWord).joined(separator: " "))", to: "words.sh")
        let run = try ProgramRun(shell, ["words.sh"], in: scratch.path)
        #expect(run.status == 0, "seed \(seed): \(run.errorText)")
        return run.output.split(separator: 0, omittingEmptySubsequences: false).dropLast().map(Array.init)
    }
}
