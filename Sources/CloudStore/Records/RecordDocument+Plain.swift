import Foundation
package import StrictText

// Reads and writes records and assets as JSON without Codable's overhead: each import and export reads or writes some. Values of types that
// no dataset's record has are left to Codable, together with the document that contains them.
extension CheckpointReference: JSONNodeDecodable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(number: try members.member("number").count(), sha256: try members.member("sha256").text())
    }
}

extension RecordDocument: JSONNodeDecodable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        changeTag = try members.optional("changeTag")?.text()
        created = try members.optional("created").map { node throws(JSONNode.Misfit) in try RecordEvent(node) }
        modified = try members.optional("modified").map { node throws(JSONNode.Misfit) in try RecordEvent(node) }
        let found = try members.member("fields").object()
        var fields = [String: CloudValue](minimumCapacity: found.count)
        for member in found { fields[member.name] = try ValueDocument(member.node).value }
        self.fields = fields
        name = try members.member("name").text()
        type = try members.member("type").text()
    }
}

extension RecordEvent: JSONNodeDecodable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(at: try members.member("at").instant(), device: try members.member("by").text())
    }
}

extension ValueDocument: JSONNodeDecodable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        let value = try members.member("value")
        switch try members.member("type").text() {
        case "string": self.init(CloudValue.string(try value.text()))
        case "integer": self.init(CloudValue.integer(try value.integer()))
        case "boolean": self.init(CloudValue.boolean(try value.boolean()))
        case "date": self.init(CloudValue.date(try value.instant()))
        case "asset": self.init(CloudValue.asset(try CloudAsset(value)))
        case "bytes":
            guard let bytes = Data(base64Encoded: try value.text()) else { throw JSONNode.Misfit() }
            self.init(CloudValue.bytes(bytes))
        case "list": self.init(CloudValue.list(try value.list { node throws(JSONNode.Misfit) in try ValueDocument(node).value }))
        default: throw JSONNode.Misfit()
        }
    }
}

extension CloudAsset: JSONNodeDecodable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(
            path: try members.member("path").text(), byteCount: try members.member("size").count(), rawByteCount: try members.member("rawSize").count(),
            sha256: try members.member("sha256").text(), index: try members.optional("index").map { node throws(JSONNode.Misfit) in try CloudAssetIndex(node) })
    }
}

extension CloudAssetIndex: JSONNodeDecodable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(byteCount: try members.member("size").count(), sha256: try members.member("sha256").text())
    }
}

extension CheckpointReference: JSONNodeEncodable {
    package var node: JSONNode { .object(["number": .count(number), "sha256": .text(sha256)]) }
}

extension RecordDocument: JSONNodeEncodable {
    package var node: JSONNode {
        .object([
            "changeTag": changeTag.map { .text($0) }, "created": created?.node, "modified": modified?.node,
            "fields": .object(JSONObject(fields) { ValueDocument($0).node }), "name": .text(name), "type": .text(type),
        ])
    }
}

extension RecordEvent: JSONNodeEncodable {
    package var node: JSONNode { .object(["at": .instant(at), "by": .text(device)]) }
}

extension ValueDocument: JSONNodeEncodable {
    package var node: JSONNode {
        func typed(_ type: String, _ value: JSONNode) -> JSONNode { .object(["type": .text(type), "value": value]) }
        return switch value {
        case .string(let text): typed("string", .text(text))
        case .integer(let number): typed("integer", .integer(number))
        case .boolean(let flag): typed("boolean", .boolean(flag))
        case .date(let instant): typed("date", .instant(instant))
        case .asset(let asset): typed("asset", asset.node)
        case .bytes(let bytes): typed("bytes", .text(bytes.base64EncodedString()))
        case .list(let values): typed("list", .list(values.map { ValueDocument($0).node }))
        // These types are left to Encodable, together with the whole document.
        case .double, .reference: .otherNumber
        }
    }
}

extension CloudAsset: JSONNodeEncodable {
    package var node: JSONNode {
        .object([
            "path": .text(path), "size": .count(byteCount), "rawSize": .count(rawByteCount), "sha256": .text(sha256), "index": index?.node,
        ])
    }
}

extension CloudAssetIndex: JSONNodeEncodable {
    package var node: JSONNode { .object(["size": .count(byteCount), "sha256": .text(sha256)]) }
}

extension ChangeToken: JSONNodeDecodable, JSONNodeEncodable {
    package var node: JSONNode { .object(["number": .count(number), "hash": .text(hash)]) }

    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(number: try members.member("number").count(), hash: try members.member("hash").text())
    }
}
