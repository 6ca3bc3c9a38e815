import CloudStore
import LocalStore
import SnapshotModel
import StrictText

/// What the commits that a device has not read yet say of messages.
struct MailboxAnswers: Sendable {
    /// The answers of each commit that has some.
    var commits: [(number: Int, answers: MessageAnswers)] = []
    /// Whether no commit since the token was missed.
    var isComplete = true

    /// Takes the answers, in the transaction that moves the token past them.
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
    /// What became of messages, as a commit says it.
    init(_ entries: [InboxEntry]) {
        self.init(applied: entries.filter(\.isApplied).map(\.id), refused: entries.filter { !$0.isApplied }.map(\.id))
    }
}
