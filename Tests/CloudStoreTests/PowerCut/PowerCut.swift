import SnapshotModel

/// What can lie on a disk after the power went: every way in which what was not made durable may or may not have got there.
///
/// An fsync of a file makes its bytes durable, an fsync of a directory its names, and nothing else makes anything durable. Of what
/// is pending at the cut each name is there or not, in any order; each write is there whole, not at all, up to a sector's border,
/// from one on, or as zeros or garbage of the right length.
struct PowerCut {
    /// What was durable before the first operation.
    let base: DiskImage
    let operations: [DiskOperation]
    /// The most states that are tried at one cut; of more, so many are drawn.
    var limit = 4096

    /// What a cut can make of one pending operation.
    private enum Outcome {
        case lost, done
        /// A write's first bytes, up to a border of a sector.
        case head(Int)
        /// A write's last bytes, from a border of a sector on, with zeros before them.
        case tail(Int)
        case zeros, garbage
    }

    static let sector = 512

    /// Calls `body` with each state that a cut after the first `count` operations can leave.
    ///
    /// - Returns: how many there were, equal ones counted each, and whether they were drawn.
    func states(after count: Int, random: inout SeededGenerator, _ body: (DiskImage) throws -> Void) rethrows -> (count: Int, isSample: Bool) {
        let (durable, pending) = split(after: count)
        let choices = pending.map { Self.outcomes(of: $0) }
        let total = choices.reduce(1) { $0 > limit ? $0 : $0 * $1.count }
        guard total > limit else {
            for number in 0..<total {
                var rest = number
                try body(
                    Self.image(
                        durable, pending,
                        choices.map { options in
                            defer { rest /= options.count }
                            return options[rest % options.count]
                        }))
            }
            return (total, false)
        }
        for _ in 0..<limit { try body(Self.image(durable, pending, choices.map { $0[Int.random(in: 0..<$0.count, using: &random)] })) }
        return (limit, true)
    }

    /// What is durable after the first `count` operations, and what is not.
    func split(after count: Int) -> (durable: DiskImage, pending: [DiskOperation]) {
        var durable = base
        var pending: [DiskOperation] = []
        for operation in operations.prefix(count) {
            guard operation.isSynchronization else {
                pending.append(operation)
                continue
            }
            for one in pending where one.subject == operation.subject { one.apply(to: &durable) }
            pending.removeAll { $0.subject == operation.subject }
        }
        // What was written to a file that no name leads to makes no difference.
        let named = Set(pending.compactMap { if case .add(_, _, let node, _) = $0 { node } else { nil } })
        let reachable = Set(durable.nodes.values.flatMap { node -> [Int] in if case .directory(let entries) = node { Array(entries.values) } else { [] } })
        pending.removeAll { if case .write(let file, _, _) = $0 { !named.contains(file) && !reachable.contains(file) } else { false } }
        return (durable, pending)
    }

    private static func outcomes(of operation: DiskOperation) -> [Outcome] {
        guard case .write(_, let offset, let bytes) = operation, !bytes.isEmpty else { return [.lost, .done] }
        let end = offset + bytes.count
        let border = (offset / sector + 1) * sector
        return [.lost, .done, .zeros, .garbage] + (border < end ? [.head((end - 1) / sector * sector - offset), .tail(border - offset)] : [])
    }

    private static func image(_ durable: DiskImage, _ pending: [DiskOperation], _ outcomes: [Outcome]) -> DiskImage {
        var image = durable
        for (operation, outcome) in zip(pending, outcomes) {
            guard case .write(let file, let offset, let bytes) = operation else {
                if case .done = outcome { operation.apply(to: &image) }
                continue
            }
            let left: [UInt8]
            switch outcome {
            case .lost: continue
            case .done: left = bytes
            case .zeros: left = Array(repeating: 0, count: bytes.count)
            case .garbage: left = bytes.map { $0 ^ 0xA5 }
            case .head(let count): left = Array(bytes.prefix(count))
            case .tail(let start): left = Array(repeating: 0, count: start) + bytes.dropFirst(start)
            }
            DiskOperation.write(file: file, offset: offset, bytes: left).apply(to: &image)
        }
        return image
    }
}
