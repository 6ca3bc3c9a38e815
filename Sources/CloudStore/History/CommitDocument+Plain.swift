package import StrictText

// A commit without Codable's machinery: each import reads one, and each export its parent. Values of other types than a dataset's
// record has are left to Codable, with the commit that they stand in.
extension CommitDocument: PlainReadable {
    init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        approvals = try [String](members.member("approvals"))
        checkpoint = try members.optional("checkpoint").map { node throws(JSONNode.Misfit) in try CheckpointReference(node) }
        clock = try members.member("clock").instant()
        cloud = try members.member("cloud").text()
        zone = try members.member("zone").text()
        deleted = try [String](members.member("deleted"))
        device = try members.member("device").text()
        messages = try Messages(members.member("messages"))
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

extension CommitDocument.Messages: PlainReadable {
    init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        applied = try [String](members.member("applied"))
        refused = try [String](members.member("refused"))
    }
}

extension CheckpointReference: PlainReadable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(number: try members.member("number").count(), sha256: try members.member("sha256").text())
    }
}

extension RecordDocument: PlainReadable {
    init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        changeTag = try members.optional("changeTag")?.text()
        created = try members.optional("created").map { node throws(JSONNode.Misfit) in try RecordEvent(node) }
        modified = try members.optional("modified").map { node throws(JSONNode.Misfit) in try RecordEvent(node) }
        var fields: [String: ValueDocument] = [:]
        for (name, value) in try members.member("fields").object() { fields[name] = try ValueDocument(value) }
        self.fields = fields
        name = try members.member("name").text()
        type = try members.member("type").text()
    }
}

extension RecordEvent: PlainReadable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(at: try members.member("at").instant(), device: try members.member("by").text())
    }
}

extension ValueDocument: PlainReadable {
    init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        let value = try members.member("value")
        switch try members.member("type").text() {
        case "string": self.init(CloudValue.string(try value.text()))
        case "integer": self.init(CloudValue.integer(try value.integer()))
        case "boolean": self.init(CloudValue.boolean(try value.boolean()))
        case "date": self.init(CloudValue.date(try value.instant()))
        case "asset": self.init(CloudValue.asset(try CloudAsset(value)))
        case "list": self.init(CloudValue.list(try value.list { node throws(JSONNode.Misfit) in try ValueDocument(node).value }))
        default: throw JSONNode.Misfit()
        }
    }
}

extension CloudAsset: PlainReadable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(
            path: try members.member("path").text(), byteCount: try members.member("size").count(), rawByteCount: try members.member("rawSize").count(),
            sha256: try members.member("sha256").text(), index: try members.optional("index").map { node throws(JSONNode.Misfit) in try CloudAssetIndex(node) })
    }
}

extension CloudAssetIndex: PlainReadable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(byteCount: try members.member("size").count(), sha256: try members.member("sha256").text())
    }
}
