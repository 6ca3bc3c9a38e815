import Synchronization

/// What was seen, one look after another, from any thread.
final class Looks: Sendable {
    private let all = Mutex<[String]>([])

    var seen: [String] { all.withLock { $0 } }

    func add(_ look: String) { all.withLock { $0.append(look) } }
}
