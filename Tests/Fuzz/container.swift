import SnapshotFormat
import SnapshotModel

/// Container files made elsewhere, plain or gzip, in pieces of odd sizes.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    var position = 0
    let reader = ContainerReader(schemas: [.notifications, .buckets, FuzzSchema.everyKind, FuzzSchema.integerKey]) { target in
        let count = min(target.count, bytes.count - position, 4093)
        if count > 0 { target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])) }
        position += count
        return count
    }
    do {
        var count = 0
        while let block = try reader.next() {
            let text = CanonicalText(reader.schema ?? FuzzSchema.everyKind)
            try block.send(to: text)
            count += text.lines.count
        }
        expect(count == reader.recordCount && reader.syncTimestamp != nil, "a file that is taken has a time and as many entities as were given")
    } catch {}
}
