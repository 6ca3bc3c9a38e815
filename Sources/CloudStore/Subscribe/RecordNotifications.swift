/// What happens in a zone from the subscription on, as other devices cause it.
///
///     for await hint in try await zone.subscribe(RecordSubscription("all")) { await fetch() }
///
/// Looks only while somebody waits for the next element, and reads on from what it read last: nothing is lost while nobody looks, and a
/// cloud that is away for a while is no error. Ends when the waiting does: its task was cancelled.
public struct RecordNotifications: AsyncSequence, Sendable {
    public typealias Element = RecordNotification
    public typealias Failure = Never

    let subscription: RecordSubscription
    let cloud: any RecordDatabase
    let zone: ZoneID
    let device: String
    let start: ZoneView
    let wait: @Sendable () async -> Bool

    public func makeAsyncIterator() -> Iterator {
        Iterator(source: self, view: start)
    }

    /// Reads on from commit to commit.
    public struct Iterator: AsyncIteratorProtocol {
        let source: RecordNotifications
        var view: ZoneView
        private var pending: ArraySlice<RecordNotification> = []
        private var isOver = false

        init(source: RecordNotifications, view: ZoneView) {
            self.source = source
            self.view = view
        }

        /// The next hint; nil when there will be none.
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
                    // The first commits are followed one by one too, unless a checkpoint stands in for them already.
                    let changes = try await source.cloud.changes(since: nil, in: source.zone)
                    if changes.base.isEmpty { follow(changes.commits) } else { try await readWhole() }
                    return
                }
                follow(try await source.cloud.changes(since: token, in: source.zone).commits)
            } catch let error as CloudError where error.code == .changeTokenExpired {
                try? await readWhole()
            } catch let error as CloudError where error.code == .userDeletedZone {
                add(.zoneDeleted(error.zoneDeletion?.reason ?? .deleted))
                isOver = true
            } catch {
                // Only a hint: what cannot be read now is read at the next look.
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
                if let deletion = commit.zoneDeletion { add(.zoneDeleted(deletion.reason)) }
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
