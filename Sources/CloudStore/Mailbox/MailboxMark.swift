package import StrictText

/// A mark of the mailbox's folders, by which a later look tells whether anything may have come or gone since, without listing them.
///
/// Equal marks say nothing of what came in the very moment that the mark was taken: a file system's clock may stand still for
/// some milliseconds, or for two seconds on FAT. Whoever rests on a mark has listed once more when it was older than that.
public struct MailboxMark: Hashable, Sendable, Codable {
    /// What each sender's folder is like, by its name; the mailbox itself has the name "".
    package let folders: [String: FolderStamp]

    package init(folders: [String: FolderStamp]) { self.folders = folders }
}

/// What changes in a folder's status whenever a name in it is made, removed or changed.
package struct FolderStamp: Hashable, Sendable, Codable {
    /// The file system, the folder and its times, in nanoseconds, as one text that is only ever compared.
    let text: String

    package init(_ text: String) { self.text = text }
}

extension MailboxMark: JSONNodeDecodable, JSONNodeEncodable {
    package var node: JSONNode { .object(["folders": .object(folders.mapValues { .object(["text": .text($0.text)]) })]) }

    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        var folders: [String: FolderStamp] = [:]
        for (name, stamp) in try node.object().member("folders").object() { folders[name] = FolderStamp(try stamp.object().member("text").text()) }
        self.folders = folders
    }
}
