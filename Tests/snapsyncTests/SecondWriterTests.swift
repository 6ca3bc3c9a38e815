import TestSupport
import Testing

/// Random histories of `Tests/IndependentWriter`: the command and a program in Python, written from the pages, as peers, and as writer and reader.
@Suite(.runsPrograms) struct SecondWriterTests {
    @Test func fiveHistoriesEndEqual() throws {
        let run = try ProgramRun("python3", ["-B", Repository.path("Tests/IndependentWriter/random_histories.py"), BuiltCommand.path(), "1", "5"])
        #expect(run.status == 0 && run.text.contains("5 histories"), "\(run.text)\(run.errorText)")
    }
}
