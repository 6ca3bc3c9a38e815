import Foundation
import SnapshotFormat

/// Block indexes: what is read writes the same bytes again.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    let data = Data(bytes)
    guard let index = try? SnapshotIndex.decode(data) else { return }
    expect(index.encode() == data, "an index that is taken is canonical")
    expect(index.tail.end == index.size, "an index that is taken ends where its file does")
}
