import StrictText

// Reads and writes a commit without Codable, which is slower: each import reads a commit, and each export reads its parent. A commit with
// values that a dataset's record does not have is left to Codable.
extension CommitDocument: JSONNodeDecodable {
    init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        answered = try members.optional("answered").map(AnsweredEdits.read)
        approvals = try [String](members.member("approvals"))
        checkpoint = try members.optional("checkpoint").map { node throws(JSONNode.Misfit) in try CheckpointReference(node) }
        clock = try members.member("clock").instant()
        cloud = try members.member("cloud").text()
        zone = try members.member("zone").text()
        deleted = try [String](members.member("deleted"))
        device = try members.member("device").text()
        key = try members.optional("key")?.text()
        nonce = try members.member("nonce").text()
        number = try members.member("number").count()
        parent = try members.optional("parent")?.text()
        requires = try members.optional("requires").map { node throws(JSONNode.Misfit) in try [String](node) }
        saved = try members.member("saved").list { node throws(JSONNode.Misfit) in try RecordDocument(node) }
        timestamp = try members.member("timestamp").instant()
        guard members.optional("zoneEvent") == nil else { throw JSONNode.Misfit() }
        zoneEvent = nil
    }
}

extension CommitDocument: JSONNodeEncodable {
    var node: JSONNode {
        .object([
            "answered": answered.map(AnsweredEdits.node), "approvals": .texts(approvals), "checkpoint": checkpoint?.node, "clock": .instant(clock),
            "cloud": .text(cloud), "zone": .text(zone),
            "deleted": .texts(deleted), "device": .text(device), "key": key.map { .text($0) },
            "nonce": .text(nonce), "number": .count(number), "parent": parent.map { .text($0) }, "requires": requires.map { .texts($0) },
            "saved": .list(saved.map(\.node)), "timestamp": .instant(timestamp), "zoneEvent": zoneEvent.map { _ in .otherNumber },
        ])
    }
}
