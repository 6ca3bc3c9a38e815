import CloudStore
import Foundation
import Platform
import StrictText

/// A cloud's own directory. It is opened again for each operation.
enum CloudRoot {
    /// Opens the directory without looking at its content.
    static func open(_ path: String, _ calls: any FileSystemCalls) throws(CloudError) -> CloudFolder {
        var attempt = 1
        while true {
            do throws(SystemFault) {
                return CloudFolder(OpenDescriptor(try calls.openRoot(path), calls), path: "", calls: calls)
            } catch {
                guard error.isStale, attempt < StaleHandle.attempts else { throw failure(error, at: path) }
                attempt += 1
            }
        }
    }

    /// Opens the directory and reads its marker; nil if there is none. A damaged marker that is still arriving is reported as arriving.
    static func marker(_ path: String, _ calls: any FileSystemCalls) throws(CloudError) -> CloudIdentity? {
        let root = try open(path, calls)
        do throws(CloudError) { return try marker(in: root) } catch { throw ArrivingFile.error(insteadOf: error, in: root) ?? error }
    }

    private static func marker(in root: CloudFolder) throws(CloudError) -> CloudIdentity? {
        guard let bytes = try root.bytes(of: CloudMarker.fileName, limit: CloudMarker.byteLimit) else { return nil }
        return try CloudMarker.identity(from: bytes)
    }

    private static func failure(_ error: SystemFault, at path: String) -> CloudError {
        guard error.isUnreachable else { return error.error(at: path) }
        return CloudError(
            .cloudUnavailable, at: path, "the directory cannot be opened: \(error.words)", hint: "mount it, or check the path", isRetryable: true)
    }

    /// Makes the directory a cloud with this identity, or returns the identity of the existing cloud.
    ///
    /// An existing directory keeps its mode; a new one is for its owner alone.
    ///
    /// - Parameter besideOthers: whether the directory may contain other files.
    static func create(
        _ path: String, as identity: CloudIdentity, calls: any FileSystemCalls, files: FileMaker, besideOthers: Bool = false
    ) throws -> CloudIdentity {
        let isMade = try makeLastPart(of: path, calls)
        do {
            return try create(in: path, isMade: isMade, as: identity, calls: calls, files: files, besideOthers: besideOthers)
        } catch {
            // A refused caller must not leave a new directory behind. If another process has put something into it by now, `rmdir` fails and
            // it stays.
            if isMade { removeLastPart(of: path, calls) }
            throw error
        }
    }

    private static func create(
        in path: String, isMade: Bool, as identity: CloudIdentity, calls: any FileSystemCalls, files: FileMaker, besideOthers: Bool
    ) throws -> CloudIdentity {
        let root = try open(path, calls)
        if let found = try marker(path, calls) {
            // The process that wrote the marker may have been killed before the name was durable.
            try root.synchronizeIfPossible()
            return found
        }
        // The same is true of the process that created the directory.
        try synchronizeAbove(path, calls)
        guard try besideOthers || root.names().allSatisfy({ $0.exact.hasPrefix(".") || $0 == "lost+found" }) else {
            // Another device may have made it a cloud since the first check.
            if let found = try marker(in: root) { return found }
            throw CloudError(.notACloud, at: path, "the directory holds other files and is not a location", hint: "give an empty directory")
        }
        // Before anything is written: the directory above may have given it rights for others.
        if isMade { try root.attempt(at: path) { () throws(SystemFault) in try calls.setMode(root.descriptor.number, 0o700) } }
        switch try files.put(CloudMarker.bytes(of: identity), as: CloudMarker.fileName, in: root) {
        case .placed, .wasThere: return identity
        case .taken:
            guard let found = try marker(in: root) else { throw missingMarker(path, expected: true) }
            return found
        }
    }

    /// Creates the directory if it is missing. Returns whether it was created.
    private static func makeLastPart(of path: String, _ calls: any FileSystemCalls) throws(CloudError) -> Bool {
        do throws(SystemFault) {
            _ = OpenDescriptor(try calls.openRoot(path), calls)
            return false
        } catch {
            guard error.isAbsence else { throw failure(error, at: path) }
        }
        let url = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
        let above = try open(url.deletingLastPathComponent().path, calls)
        do throws(CloudError) {
            _ = try above.makeFolder(url.lastPathComponent)
            return true
        } catch {
            throw error.moved(to: path)
        }
    }

    private static func removeLastPart(of path: String, _ calls: any FileSystemCalls) {
        let url = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL
        guard let above = try? open(url.deletingLastPathComponent().path, calls) else { return }
        try? calls.removeDirectory(url.lastPathComponent, in: above.descriptor.number)
    }

    /// Makes the directory's own name durable, if the directory above can be opened.
    private static func synchronizeAbove(_ path: String, _ calls: any FileSystemCalls) throws(CloudError) {
        let above = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL.deletingLastPathComponent().path
        guard let folder = try? open(above, calls) else { return }
        do throws(CloudError) { try folder.synchronizeIfPossible() } catch { throw error.moved(to: above) }
    }

    static func missingMarker(_ path: String, expected: Bool) -> CloudError {
        guard expected else {
            return CloudError(.notACloud, at: path, "there is no cloud.json in it", hint: "check the path, or make a location there with snapsync init")
        }
        return CloudError(
            .cloudUnavailable, at: path, "the directory is there, but its cloud.json is not", hint: "mount the directory; nothing was touched",
            isRetryable: true)
    }

    static func otherCloud(_ path: String, found: String, expected: String) -> CloudError {
        CloudError(
            .badContainer, at: path, "this is the location \(found), not \(expected)",
            hint: "mount the right directory, or start anew: snapsync detach, then init with the new directory")
    }
}
