import TestSupport
import Testing

/// Random histories of `Tests/IndependentWriter`: the command and a program in Python, written from the pages, as peers, and as writer and reader.
@Suite struct SecondWriterTests {
    @Test func fiveHistoriesEndEqual() async throws {
        let words = try ["-B", Repository.path("Tests/IndependentWriter/random_histories.py"), BuiltCommand.path(), "1", "5"]
        let run = try await ProgramRun.long("python3", words, environment: ["JOBS": "2"])
        #expect(run.status == 0 && run.text.contains("5 histories"), "\(run.text)\(run.errorText)")
    }
}
