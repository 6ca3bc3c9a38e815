import CloudStore
import Foundation
package import StrictText

// Read without Codable, which is slower: every run with a bucket reads it.
extension ZoneMemory: JSONNodeDecodable {
    package init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        cloud = try members.member("cloud").text()
        zone = try members.member("zone").text()
        found = try members.member("found").count()
        place = try members.optional("place")?.text()
        marker = try members.optional("marker")?.bytes()
        assetsSeen = try members.optional("assetsSeen")?.integer()
        head = try members.optional("head").map { node throws(JSONNode.Misfit) in try Head(node) }
        report = try members.optional("report").map { node throws(JSONNode.Misfit) in try Report(node) }
        for member in try members.member("indexes").object() { indexes[member.name] = try member.node.bytes() }
    }
}

extension ZoneMemory.Head {
    fileprivate init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        self.init(number: try members.member("number").count(), bytes: try members.member("bytes").bytes(), seen: try members.member("seen").integer())
    }
}

extension ZoneMemory.Report {
    fileprivate init(_ node: JSONNode) throws(JSONNode.Misfit) {
        let members = try node.object()
        var report = try DeviceReport(members.member("text"))
        if let keys = members.optional("keys") {
            let keys = try keys.object()
            report.keys = DevicePublicKeys(signing: try keys.member("key").text(), sealing: try keys.member("sealKey").text())
        }
        self.init(report, counter: try members.member("counter").count(), seen: try members.member("seen").integer())
    }
}

extension JSONNode {
    fileprivate func bytes() throws(Misfit) -> Data {
        guard let data = Data(base64Encoded: try text()) else { throw Misfit() }
        return data
    }
}
