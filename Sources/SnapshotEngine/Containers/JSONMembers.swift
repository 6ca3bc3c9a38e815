import Foundation
import StrictText

/// The members of a JSON object as text, in their order.
struct JSONMembers: Equatable {
    private struct Member: Equatable {
        @ExactText var name: String
        let value: Data

        init(name: String, value: Data) { (_name, self.value) = (ExactText(name), value) }
    }

    private var members: [Member] = []

    /// Parses one strict JSON object.
    init(_ object: Data) throws {
        members = try object.withUnsafeBytes { bytes in
            var members: [Member] = []
            // SAFETY: the scanner is used only within the closure.
            try JSONScanner(bytes).forEachMember { name, value in
                members.append(Member(name: String(decoding: name, as: UTF8.self), value: Data(bytes[value])))
            }
            return members
        }
    }

    /// Returns these members with the differences between two states of the object. `old` and `new` contain the members that a type carries.
    func merged(old: JSONMembers, new: JSONMembers) -> JSONMembers {
        let before = Dictionary(old.members.map { ($0.name.exact, $0.value) }, uniquingKeysWith: { first, _ in first })
        let after = Dictionary(new.members.map { ($0.name.exact, $0.value) }, uniquingKeysWith: { first, _ in first })
        let names = Set(members.map(\.name.exact))
        var merged = self
        merged.members = members.compactMap { member in
            let name = member.name.exact
            return before[name] == after[name] ? member : after[name].map { Member(name: name.text, value: $0) }
        }
        merged.members += new.members.filter { !names.contains($0.name.exact) && before[$0.name.exact] != $0.value }
        return merged
    }

    /// The members as one JSON object.
    var text: Data {
        get throws {
            let encoder = JSONEncoder()
            let texts = try members.map { try encoder.encode($0.name) + Data(":".utf8) + $0.value }
            return Data("{".utf8) + Data(texts.joined(separator: Data(",".utf8))) + Data("}".utf8)
        }
    }
}
