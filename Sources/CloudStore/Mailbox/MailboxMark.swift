package import StrictText

/// The state of the mailbox's folders. Comparing two marks shows whether messages may have come or gone in between, without a listing.
///
/// Equal marks do not cover a message that arrived at the very moment the mark was taken: a file system's clock may stand still for some
/// milliseconds, on FAT for two seconds. A caller must therefore list once more when the mark is older than that, before it relies on the
/// mark.
public struct MailboxMark: Hashable, Sendable, Codable {
    /// The stamp of each sender's folder, by its name; the mailbox itself has the name "".
    package let folders: [String: FolderStamp]

    package init(folders: [String: FolderStamp]) { self.folders = folders }

    package init(_ stamps: [(folder: String, stamp: String)]) {
        folders = Dictionary(stamps.map { ($0.folder, FolderStamp($0.stamp)) }, uniquingKeysWith: { first, _ in first })
    }
}

/// A value of a folder's status that changes whenever a name in the folder is created, removed or changed.
package struct FolderStamp: Hashable, Sendable, Codable {
    /// The file system, the folder's identity and its times in nanoseconds, as one text that is only compared for equality.
    package let text: String

    package init(_ text: String) { self.text = text }
}
