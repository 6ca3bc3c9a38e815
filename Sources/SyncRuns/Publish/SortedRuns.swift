import Foundation
import Platform
import SnapshotFormat

/// The runs of an external sort in scratch files: records, together by ranges of keys.
///
/// Layout of a run: its records; then 4 bytes for each range and for the end, how many bytes of records lie before it. The ranges are asked for
/// in order, so a part of these numbers is in memory at a time, whatever the number of runs and ranges. In memory stay, for each range, the length
/// of its records and the sum of their CRCs: a disk that gives other bytes back is found.
final class SortedRuns: @unchecked Sendable {
    // SAFETY: `ranges`, `runs`, `ends` and `windowStart` are touched under `lock`; the files' parts are written once, and read after that.

    /// A part of the file.
    struct Extent {
        fileprivate let file: ScratchFile
        let offset: Int
        let byteCount: Int
    }

    /// What a range has in all runs, to know whether the files give it back.
    private struct Range {
        var byteCount = 0
        /// The sum of its slices' CRC-32.
        var crcSum: UInt64 = 0
    }

    private struct Run {
        let file: ScratchFile
        let offset: Int
        let recordBytes: Int
        /// The numbers of the window's ranges, and of the one after it.
        var starts: [UInt32] = []
    }

    private static let windowCount = 64

    private let lock = NSLock()
    /// A file for each worker: the system lets one thread at a time write to a file.
    private let files: [ScratchFile]
    private var ranges: [Range]
    private var runs: [Run] = []
    private var ends: [Int]
    private var windowStart: Int?

    init(_ files: [ScratchFile], rangeCount: Int) {
        self.files = files
        ends = files.map { _ in 0 }
        ranges = [Range](repeating: Range(), count: rangeCount)
    }

    /// Writes a worker's run; see ``RecordEncoder``.
    func append(_ records: [UnsafeRawBufferPointer], _ slices: [SortSlice], by worker: Int) throws {
        var starts: [UInt32] = [0]
        starts.reserveCapacity(slices.count + 1)
        for slice in slices { starts.append(starts[starts.count - 1] + UInt32(slice.byteCount)) }
        let recordBytes = Int(starts[slices.count])
        let offset = lock.withLock {
            let offset = ends[worker]
            ends[worker] += recordBytes + starts.count * MemoryLayout<UInt32>.stride
            runs.append(Run(file: files[worker], offset: offset, recordBytes: recordBytes))
            for range in ranges.indices where slices[range].byteCount > 0 {
                ranges[range].byteCount += slices[range].byteCount
                ranges[range].crcSum += UInt64(slices[range].crc)
            }
            return offset
        }
        let file = files[worker]
        try file.write(records, at: offset)
        try starts.withUnsafeBytes { try file.write([$0], at: offset + recordBytes) }
    }

    /// The length of a range's records in all runs.
    func byteCount(of range: Int) -> Int { lock.withLock { ranges[range].byteCount } }

    /// Where the records of a range are, in all runs. Ask for the ranges in ascending order.
    func extents(of range: Int) throws -> [Extent] {
        lock.lock()
        defer { lock.unlock() }
        let first = range / Self.windowCount * Self.windowCount
        if windowStart != first {
            for index in runs.indices { try load(first, &runs[index]) }
            windowStart = first
        }
        return runs.compactMap { run in
            let start = run.starts[range - first], end = run.starts[range - first + 1]
            return start == end ? nil : Extent(file: run.file, offset: run.offset + Int(start), byteCount: Int(end - start))
        }
    }

    /// Fills a buffer with the records of a range.
    ///
    /// - Throws: ``SystemFault``; `isInputOutput` if they are not those that were written.
    func read(_ extents: [Extent], of range: Int, into buffer: UnsafeMutableRawBufferPointer) throws {
        let expected = lock.withLock { ranges[range] }
        guard extents.reduce(0, { $0 + $1.byteCount }) == expected.byteCount, buffer.count == expected.byteCount else { throw SystemFault("pread", EIO) }
        var done = 0, crcSum: UInt64 = 0
        for extent in extents {
            let slice = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + extent.byteCount])
            try extent.file.read(slice, at: extent.offset)
            crcSum += UInt64(SortSlice.crc(UnsafeRawBufferPointer(slice)))
            done += extent.byteCount
        }
        guard crcSum == expected.crcSum else { throw SystemFault("pread", EIO) }
    }

    /// Frees the space. Nothing may be written or read after that.
    func close() { files.forEach { $0.end() } }

    private func load(_ first: Int, _ run: inout Run) throws {
        let count = min(Self.windowCount, ranges.count - first) + 1
        let offset = run.offset + run.recordBytes + first * MemoryLayout<UInt32>.stride
        var starts = [UInt32](repeating: 0, count: count)
        try starts.withUnsafeMutableBytes { try run.file.read($0, at: offset) }
        // A disk that gives other bytes back must not lead outside of the run.
        guard zip(starts, starts.dropFirst()).allSatisfy({ $0 <= $1 }), Int(starts[count - 1]) <= run.recordBytes else { throw SystemFault("pread", EIO) }
        run.starts = starts
    }
}
