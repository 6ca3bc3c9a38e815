import CloudStore
import LocalStore
import SnapshotModel
import StrictText

/// The answers to messages in the commits that a device has not read yet.
struct MailboxAnswers: Sendable {
    /// The answers of each commit that has any.
    var commits: [(number: Int, answers: MessageAnswers)] = []
    /// Whether every commit since the token was read.
    var isComplete = true

    /// Records the answers, in the transaction that moves the token past their commits.
    func take(in transaction: LocalTransaction, role: SyncRole, at instant: Instant) throws {
        if role.publishes {
            for commit in commits {
                try transaction.inbox.recordAnswers(applied: commit.answers.applied, refused: commit.answers.refused, in: commit.number, at: instant)
            }
        }
        if !isComplete { try transaction.outbox.recordMissedAnswers() }
        for commit in commits { try transaction.outbox.recordAnswers(applied: commit.answers.applied, refused: commit.answers.refused) }
    }
}

extension MessageAnswers {
    /// The answers to some messages as a commit carries them.
    init(_ entries: [InboxEntry]) {
        self.init(applied: entries.filter(\.isApplied).map(\.id), refused: entries.filter { !$0.isApplied }.map(\.id))
    }
}
