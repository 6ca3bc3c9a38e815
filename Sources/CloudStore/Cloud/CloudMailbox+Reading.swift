import StrictText

extension CloudMailbox {
    package static func takenID(at place: String) -> CloudError {
        CloudError(.serverRecordChanged, at: place, "another message has that id", hint: "give the message a new id")
    }

    /// Reads the messages of one sender into the mailbox.
    ///
    /// - Parameters:
    ///   - names: the names of the files there, in any order. Names that begin with a dot are ignored.
    ///   - signers: the devices that may send messages, in a signed zone.
    ///   - place: where the sender's files are.
    ///   - isArriving: whether a sync tool may still be writing a file that cannot be read. Such a file is counted as unread and tried again
    ///     later.
    ///   - read: returns a file's bytes; nil if the file was just removed.
    package mutating func read(
        _ names: [String], of sender: String, in history: HistoryID, by signers: MessageSigners? = nil,
        at place: String, isArriving: (String) -> Bool = { _ in false }, read: (String) throws(CloudError) -> [UInt8]?
    ) {
        var readCount = 0, byteCount = 0, setAsideCount = 0
        func setAside(_ name: String, _ reason: String, to list: inout [SetAsideMessage]) {
            setAsideCount += 1
            if setAsideCount <= Self.setAsideLimit { list.append(SetAsideMessage(place: "\(place)/\(name)", reason: reason)) }
        }
        for name in names.filter({ !$0.exact.hasPrefix(".") }).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            guard name.exact.hasSuffix(".json"), CloudNames.isMessageID(String(name.dropLast(5))) else {
                setAside(name, "its name is not 32 hexadecimal digits and .json", to: &self.setAside)
                continue
            }
            let message = CloudMessageName(sender: sender, id: String(name.dropLast(5)))
            guard readCount < Self.readLimit, byteCount < Self.byteLimit else {
                unreadCount += 1
                continue
            }
            readCount += 1
            do throws(CloudError) {
                guard let bytes = try read(name) else { continue }
                messages.append(try MessageDocument.decode(bytes, message, of: history, by: signers, at: "\(place)/\(name)"))
                byteCount += bytes.count
            } catch {
                if isArriving(name) { unreadCount += 1 } else { setAside(name, error.reason, to: &self.setAside) }
            }
        }
    }
}
