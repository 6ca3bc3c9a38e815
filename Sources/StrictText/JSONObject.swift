/// The members of a JSON object, in the order in which they were read or given.
///
///     let members: JSONObject = ["name": .text("a"), "count": .count(2)]
///     try members.member("name").text()
///
/// A list and no dictionary: control documents have few members, and comparing some names costs less than hashing one.
package struct JSONObject: Sequence {
    /// One member. A type of its own: a tuple's metadata would be made when the program runs.
    package struct Member {
        package let name: String
        package let node: JSONNode
    }

    private var list: [Member] = []
    /// The names, once there are too many to compare a new one with each.
    private var names: Set<ExactText> = []

    private static let comparedLimit = 16

    package init() {}

    /// The members of a dictionary.
    package init<Value>(_ values: [String: Value], _ node: (Value) -> JSONNode) {
        list.reserveCapacity(values.count)
        for (name, value) in values { list.append(Member(name: name, node: node(value))) }
    }

    package var count: Int { list.count }

    package func makeIterator() -> IndexingIterator<[Member]> { list.makeIterator() }

    /// Adds a member. Returns false, and adds nothing, if there is one with that name.
    mutating func add(_ name: String, _ node: JSONNode) -> Bool {
        if list.count < Self.comparedLimit {
            guard self[name] == nil else { return false }
        } else {
            if names.isEmpty { names = Set(list.map(\.name.exact)) }
            guard names.insert(name.exact).inserted else { return false }
        }
        if list.isEmpty { list.reserveCapacity(4) }
        list.append(Member(name: name, node: node))
        return true
    }

    /// The member with that name, or nil.
    package subscript(name: String) -> JSONNode? {
        for member in list where member.name.exact == name.exact { return member.node }
        return nil
    }

    /// The member with that name, which is required.
    package func member(_ name: String) throws(JSONNode.Misfit) -> JSONNode {
        guard let node = self[name] else { throw JSONNode.Misfit() }
        return node
    }

    /// The member with that name; nil if it is missing or null.
    package func optional(_ name: String) -> JSONNode? {
        guard let node = self[name] else { return nil }
        if case .null = node { return nil }
        return node
    }

    /// The same with another member, whose name must be new.
    package func with(_ name: String, _ node: JSONNode) -> JSONObject {
        var members = self
        guard members.add(name, node) else { preconditionFailure("the member is there") }
        return members
    }

    /// The members in the order of the bytes of their names.
    var sorted: [Member] { list.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) } }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// The members that are not nil.
    package init(dictionaryLiteral elements: (String, JSONNode?)...) {
        list.reserveCapacity(elements.count)
        for case (let name, let node?) in elements { list.append(Member(name: name, node: node)) }
    }
}
