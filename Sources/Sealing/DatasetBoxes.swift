package import Foundation

/// The keys of a sealed zone for the assets of one dataset: seals and opens members, and gives the key of the cut rule.
///
///     let boxes = DatasetBoxes(keys, dataset: "notes_data")
///     let member = try boxes.open(bytes, kind: .member)
package struct DatasetBoxes: Sendable {
    /// The keys of the zone.
    package let keys: BoxKeys
    /// The name of the dataset's record, which is also the name of its asset folder.
    package let dataset: String

    package init(_ keys: BoxKeys, dataset: String) { (self.keys, self.dataset) = (keys, dataset) }

    /// A copy for each epoch that seals in that epoch, the newest first. Used to recreate a box that was lost.
    package var allEpochs: [DatasetBoxes] {
        keys.epochNumbers.reversed().compactMap { keys.sealing(inEpoch: $0) }.map { DatasetBoxes($0, dataset: dataset) }
    }

    /// The key of the cut rule.
    package var cutKey: CutKey { keys.cutKey }

    /// The box of some bytes in the newest epoch.
    package func seal(_ bytes: some ContiguousBytes, kind: BoxKind) throws(BoxError) -> [UInt8] {
        try keys.seal(bytes, kind: kind, dataset: dataset)
    }

    /// Passes the parts of the box of a member to `write`, in order.
    package func sealMember(_ bytes: UnsafeRawBufferPointer, write: (UnsafeRawBufferPointer) -> Void) throws(BoxError) {
        try keys.seal(bytes, kind: .member, dataset: dataset, write: write)
    }

    /// The contents of a box.
    package func open(_ box: UnsafeRawBufferPointer, kind: BoxKind) throws(BoxError) -> Data {
        try keys.opened(box, kind: kind, dataset: dataset)
    }
}
