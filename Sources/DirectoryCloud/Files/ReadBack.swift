import CloudStore
import Foundation
import Platform
import Synchronization

/// The hash of a file at several places, noted while the file was written.
///
/// A hash that stood at one place, continued with what is read from there on, must equal the hash of the next place. So the parts of a file can be
/// read back side by side, and compared as strictly as the whole.
struct HashedParts: Sendable {
    /// How far apart two places are at least, in bytes.
    static let partBytes = 8 << 20

    private struct Place {
        let offset: Int
        let hash: ContentHash
    }

    private var places: [Place] = []

    /// Whether the file has one part, which is read as a whole.
    var isOne: Bool { places.isEmpty }

    /// Notes the hash of the first `byteCount` bytes, if the last place is far enough away.
    mutating func note(_ hash: ContentHash, at byteCount: Int) {
        if byteCount - (places.last?.offset ?? 0) >= Self.partBytes { places.append(Place(offset: byteCount, hash: hash)) }
    }

    /// Reads a file of `byteCount` bytes with this hash, and returns whether it has just these bytes.
    func match(_ hash: ContentHash, _ byteCount: Int, _ read: @escaping @Sendable (UnsafeMutableRawBufferPointer, Int) throws(SystemFault) -> Int)
        throws(SystemFault) -> Bool
    {
        var places = [Place(offset: 0, hash: ContentHash())] + places
        if places[places.count - 1].offset < byteCount { places.append(Place(offset: byteCount, hash: hash)) }
        let parts = Parts(places: places, read: read)
        BlockingThreads.run(min(places.count, ProcessInfo.processInfo.activeProcessorCount) - 1, { _ in parts.check() }) { parts.check() }
        return try parts.outcome()
    }

    /// The parts that threads take and check.
    private final class Parts: Sendable {
        private struct State {
            var next = 0
            var differs = false
            var fault: SystemFault?
        }

        private let places: [Place]
        private let read: @Sendable (UnsafeMutableRawBufferPointer, Int) throws(SystemFault) -> Int
        private let state = Mutex(State())

        init(places: [Place], read: @escaping @Sendable (UnsafeMutableRawBufferPointer, Int) throws(SystemFault) -> Int) {
            self.places = places
            self.read = read
        }

        func check() {
            // One byte more than the file has: it must end where it should.
            var buffer = [UInt8](repeating: 0, count: min(256 << 10, places[places.count - 1].offset + 1))
            while let part = next() {
                do throws(SystemFault) {
                    if try !isIntact(part, &buffer) { state.withLock { $0.differs = true } }
                } catch {
                    state.withLock { $0.fault = error }
                }
            }
        }

        func outcome() throws(SystemFault) -> Bool {
            let (differs, fault) = state.withLock { ($0.differs, $0.fault) }
            if let fault { throw fault }
            return !differs
        }

        private func next() -> Int? {
            state.withLock { state in
                guard !state.differs, state.fault == nil, state.next < places.count - 1 else { return nil }
                defer { state.next += 1 }
                return state.next
            }
        }

        private func isIntact(_ part: Int, _ buffer: inout [UInt8]) throws(SystemFault) -> Bool {
            var offset = places[part].offset, hash = places[part].hash
            let end = places[part + 1].offset, isLast = part + 2 == places.count
            while true {
                let wanted = min(buffer.count, end - offset + (isLast ? 1 : 0))
                guard wanted > 0 else { break }
                var span = buffer.mutableSpan
                // SAFETY: the bytes are used only within the closure.
                let count = try span.withUnsafeMutableBytes { bytes throws(SystemFault) in
                    let count = try read(UnsafeMutableRawBufferPointer(rebasing: bytes[..<wanted]), offset)
                    hash.update(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                    return count
                }
                offset += count
                if count < wanted { break }
            }
            return offset == end && hash.hex == places[part + 1].hash.hex
        }
    }
}
