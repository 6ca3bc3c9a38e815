import Foundation
@testable import SnapshotModel

/// Dataset files: what is read is written as a file that reads as the same.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    let schemas: [DatasetSchema]
    do {
        schemas = try DatasetFile.decode(Data(bytes))
    } catch {
        _ = DatasetFile.explain(error)
        return
    }
    guard let written = try? DatasetFile.encode(schemas) else { return expect(false, "a dataset file that is taken can be written") }
    expect((try? DatasetFile.decode(written)) == schemas, "a dataset file that is written is read as the same")
}
