package import StrictText

/// A mark of the mailbox's folders, by which a later look tells whether anything may have come or gone since, without listing them.
///
/// Equal marks say nothing of what came in the very moment that the mark was taken: a file system's clock may stand still for
/// some milliseconds, or for two seconds on FAT. Whoever rests on a mark has listed once more when it was older than that.
public struct MailboxMark: Hashable, Sendable, Codable {
    /// What each sender's folder is like, by its name; the mailbox itself has the name "".
    let folders: [String: FolderStamp]
}

/// What changes in a folder's status whenever a name in it is made, removed or changed.
package struct FolderStamp: Hashable, Sendable, Codable {
    /// The file system, the folder and its times, in nanoseconds, as one text that is only ever compared.
    let text: String

    package init(_ text: String) { self.text = text }
}

extension FileSystemCalls {
    /// The stamp of an open directory; nil where its times tell nothing of what other machines do, as of a file system that is
    /// only made up.
    package func stamp(ofDirectory descriptor: Int32) throws(SystemFault) -> FolderStamp? { nil }
}

extension MailboxMark: PlainReadable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        var folders: [String: FolderStamp] = [:]
        for (name, stamp) in try node.object().member("folders").object() { folders[name] = FolderStamp(try stamp.object().member("text").text()) }
        self.folders = folders
    }
}
