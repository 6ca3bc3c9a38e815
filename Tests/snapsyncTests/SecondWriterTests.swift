import TestSupport
import Testing

/// Random histories of `Tests/IndependentWriter`: the command and a program in Python, written from the pages, as peers, and as writer and reader.
@Suite(.runsPrograms) struct SecondWriterTests {
    @Test(arguments: Sample.of(stride(from: 1, to: 500, by: 5).map { $0 }, oneIn: 100)) func fiveHistoriesEndEqual(seed: Int) throws {
        let script = Repository.path("Tests/IndependentWriter/random_histories.py")
        let run = try ProgramRun("python3", ["-B", script, BuiltCommand.path(), "\(seed)", "5"])
        #expect(run.status == 0, "\(run.text)\(run.errorText)")
        #expect(run.text.contains("5 histories"), "\(run.text)")
    }
}
