package import Foundation

/// The project's own folder, with the files that tests read there.
package enum Repository {
    package static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// A file or folder by its path in the project.
    package static func path(_ name: String) -> String { root.appendingPathComponent(name).path }
}
