public import CloudStore

/// The changes that other devices make in a zone, starting when the subscription was made.
///
///     for await hint in try await zone.subscribe(RecordSubscription("all")) { await fetch() }
///
/// The zone is read only while a caller waits for the next element. Each read continues from the last one, so nothing is lost in between,
/// and a cloud that is unreachable for a while is not an error. The sequence ends when its task is cancelled, the wait ends, or the zone is
/// deleted.
public struct RecordNotifications: AsyncSequence, Sendable {
    public typealias Element = RecordNotification
    public typealias Failure = Never

    let subscription: RecordSubscription
    let cloud: CloudDatabase
    let zone: ZoneID
    let device: String
    let start: ZoneView
    let wait: @Sendable () async -> Bool

    public func makeAsyncIterator() -> Iterator {
        Iterator(source: self, view: start)
    }

    /// Follows the zone from commit to commit.
    public struct Iterator: AsyncIteratorProtocol {
        let source: RecordNotifications
        var view: ZoneView
        private var pending: ArraySlice<RecordNotification> = []
        private var isOver = false

        init(source: RecordNotifications, view: ZoneView) { (self.source, self.view) = (source, view) }

        /// Returns the next hint; nil after the last one.
        public mutating func next() async -> RecordNotification? {
            while !Task.isCancelled {
                if let hint = pending.popFirst() { return hint }
                if isOver { return nil }
                await look()
                if pending.isEmpty, !isOver {
                    guard await source.wait() else { return nil }
                }
            }
            return nil
        }

        private mutating func look() async {
            do {
                guard let token = view.token else {
                    // The first commits are followed one by one too, unless a checkpoint already replaces them.
                    let changes = try await source.cloud.changes(since: nil, in: source.zone)
                    if changes.base.isEmpty { follow(changes.commits) } else { try await readWhole() }
                    return
                }
                follow(try await source.cloud.changes(since: token, in: source.zone).commits)
            } catch let error as CloudError where error.code == .changeTokenExpired {
                try? await readWhole()
            } catch let error as CloudError where error.code == .userDeletedZone {
                add(.zoneDeleted)
                isOver = true
            } catch let error as CloudError where error.code == .zoneMoved {
                add(.zoneMoved(to: error.successor))
                isOver = true
            } catch {
                // Ignore the error: the next check reads the same changes again.
            }
        }

        private mutating func readWhole() async throws {
            view = ZoneView(try await source.cloud.records(in: source.zone))
            add(.zoneChanged)
        }

        private mutating func follow(_ commits: [Commit]) {
            for commit in commits {
                let before = view.records
                view.apply(commit)
                guard commit.device != source.device else { continue }
                for record in commit.saved {
                    let event: RecordSubscription.Event = before[record.name] == nil ? .creation : .update
                    if source.subscription.wants(event, of: record) { add(event == .creation ? .recordCreated : .recordUpdated, record) }
                }
                for record in commit.deleted.compactMap({ before[$0] }) where source.subscription.wants(.deletion, of: record) {
                    add(.recordDeleted, record)
                }
            }
        }

        private mutating func add(_ kind: RecordNotification.Kind, _ record: CloudRecord? = nil) {
            pending.append(
                RecordNotification(subscription: source.subscription.id, kind: kind, recordType: record?.type, recordName: record?.name))
        }
    }
}

/// A hint that something has happened. It carries no data: fetch the changes.
public struct RecordNotification: Hashable, Sendable {
    /// What happened.
    public enum Kind: Hashable, Sendable {
        case recordCreated, recordUpdated, recordDeleted
        /// More changed than can be followed record by record: the whole zone was read again.
        case zoneChanged
        /// The zone itself was deleted.
        case zoneDeleted
        /// The zone was signed or sealed, and continues in another zone; nil if it does not say in which. The notifications end.
        case zoneMoved(to: ZoneSuccessor?)
    }

    /// The id of the subscription that matched.
    public let subscription: String
    /// What happened.
    public let kind: Kind
    /// The record's type; nil if the hint is about the zone.
    public let recordType: String?
    /// The record's name; nil if the hint is about the zone.
    public let recordName: String?
}
