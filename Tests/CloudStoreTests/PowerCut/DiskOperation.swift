/// What a program did to a simulated disk, in the order in which it did it.
enum DiskOperation: Sendable, Hashable {
    /// Bytes written at a place of a file.
    case write(file: Int, offset: Int, bytes: [UInt8])
    /// A name given to a node.
    case add(directory: Int, name: String, node: Int, isDirectory: Bool)
    case remove(directory: Int, name: String)
    /// One change of a directory, that a journal keeps whole.
    case rename(directory: Int, from: String, to: String)
    /// An fsync of a file: its bytes are durable from here on.
    case synchronizeFile(Int)
    /// An fsync of a directory: its names are durable from here on.
    case synchronizeDirectory(Int)

    /// The file or directory that an fsync would make durable.
    var subject: Int {
        switch self {
        case .write(let file, _, _), .synchronizeFile(let file): file
        case .add(let directory, _, _, _), .remove(let directory, _), .rename(let directory, _, _), .synchronizeDirectory(let directory): directory
        }
    }

    var isSynchronization: Bool {
        switch self {
        case .synchronizeFile, .synchronizeDirectory: true
        default: false
        }
    }

    /// Does it to an image, whole.
    func apply(to image: inout DiskImage) {
        switch self {
        case .write(let file, let offset, let bytes):
            image.make(file, isDirectory: false)
            image.change(file: file) { $0.overwrite(at: offset, with: bytes) }
        case .add(let directory, let name, let node, let isDirectory):
            image.make(node, isDirectory: isDirectory)
            image.change(directory: directory) { $0[name] = node }
        case .remove(let directory, let name):
            image.change(directory: directory) { $0[name] = nil }
        case .rename(let directory, let from, let to):
            image.change(directory: directory) { entries in
                if let node = entries.removeValue(forKey: from) { entries[to] = node }
            }
        case .synchronizeFile, .synchronizeDirectory: break
        }
    }
}

extension [UInt8] {
    /// Puts bytes at a place; a gap before it reads as zeros.
    mutating func overwrite(at offset: Int, with bytes: some Collection<UInt8>) {
        if count < offset + bytes.count { append(contentsOf: repeatElement(0, count: offset + bytes.count - count)) }
        replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
}
