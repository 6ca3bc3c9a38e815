import Foundation
import TestSupport
import Testing

#if os(Linux)
    /// A sample of the random histories of `make model`: the model of the merge (`Tests/Model`) and the built command do the same steps, and every
    /// device has what the model says after each of them.
    @Suite struct ModelTests {
        /// Histories of writers, peers and readers beside the model of the merge. More: `make torture`.
        @Test func aFewHistoriesMergeAsTheModelDoes() async throws {
            try await compare([1, 2, 3, 4, 5, 6])
        }

        /// Nor does the order of syncs that do not meet matter, nor more of them, a new name, `detach` and `join`, or another folder.
        @Test func whatMustNotMatterDoesNot() async throws {
            let run = try await ProgramRun.long("python3", ["-B", Repository.path("Tests/Model/relations.py"), BuiltCommand.path(), "1", "5"])
            #expect(run.status == 0 && run.text.contains("5 pairs"), "\(run.text)\(run.errorText)")
        }

        /// Histories that once differed: a row that is inserted and deleted before a sync (42), also at a publisher (30078), a deletion after a reader's edit
        /// that came late (30638), an edit that restores a row (46), a reader's insertion in place of a row (136), a row that is written anew under a clock
        /// that is behind (172), and a held row: of a reader (342), with columns of different instants (362), that an edit has restored (292, 510792), also
        /// with edits from before the deletion (331155), a parent that is brought back: by a reader who may add no rows (20023), held (20085), for a row that
        /// another has replaced (503455), a reader's held row that fits at the publisher (50164), a held row that is put on its deletion again (501574), and
        /// edits that follow a version's by microseconds (501648), a version without a row that it held, as changes (550097), and a reader's row that is written
        /// again as it was (570150).
        @Test func aHistoryThatOnceDifferedMergesAsTheModelDoes() async throws {
            try await compare([42, 46, 136, 172, 292, 342, 362, 20023, 20085, 30078, 30638, 50164, 331155, 501574, 501648, 503455, 510792, 550097, 570150])
        }

        /// Two histories at a time; each one that differs is printed with its seed.
        private func compare(_ seeds: [Int]) async throws {
            let list = seeds.map(String.init).joined(separator: ",")
            let words = try ["-B", Repository.path("Tests/Model/command.py"), BuiltCommand.path(), "--seeds", list]
            let run = try await ProgramRun.long("python3", words, environment: ["JOBS": "2", "LIMIT": "99"])
            #expect(run.status == 0 && run.text.contains("\(seeds.count) histories"), "\(run.text)\(run.errorText)")
        }
    }
#endif
