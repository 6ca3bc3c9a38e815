import CloudStore
import LocalStore
import SnapshotModel
import StrictText

/// The states of entities that the messages of one transaction have made.
///
/// A message's change can be tracked later than the message was made: it must be later than the state that it replaces. The next message of
/// the same transaction is compared with the message's own instant, so that nobody's later edit loses to his earlier one.
final class MadeStates {
    private struct State {
        /// The instant with which the change is tracked.
        let tracked: Instant
        /// The instant that other messages are compared with.
        let claimed: Instant
        let sender: String
    }

    private var states: [ExactText: State] = [:]

    /// Notes that a message made the state of its entity that is tracked with `tracked`.
    func note(_ incoming: IncomingMessage, tracked: Instant, claimed: Instant) {
        if let entity = incoming.entity { states[entity.exact] = State(tracked: tracked, claimed: claimed, sender: incoming.name.sender) }
    }

    /// Returns the instant that messages about an entity are compared with, if a message made the state that is tracked with `tracked`.
    func claimed(_ subject: IncomingMessage.Subject, at tracked: Instant) -> Instant? { state(of: subject, at: tracked)?.claimed }

    /// Returns the device whose message made the state that is tracked with `tracked`.
    func sender(_ subject: IncomingMessage.Subject, at tracked: Instant) -> String? { state(of: subject, at: tracked)?.sender }

    private func state(of subject: IncomingMessage.Subject, at tracked: Instant) -> State? {
        states[InboxEntry.entity(subject.key, of: subject.schema).exact].flatMap { $0.tracked == tracked ? $0 : nil }
    }
}
