internal import SnapshotModel
internal import StrictText

extension EntityParser {
    /// Parses an entity with keys in any order and with white space. Reports exactly what is wrong with it.
    func parseAnyOrder(_ scanner: JSONScanner, at start: Int, into block: EntityBlock) throws(EntityFault) -> Int {
        let base = scanner.base
        guard start < scanner.end, base[start] == UInt8(ascii: "{") else { throw EntityFault("an entity is expected") }
        beginEntity()
        let firstSlot = block.slotCount
        var unknown: Set<[UInt8]> = []
        var last = plan.count - 1
        var position = scanner.skipSpace(start + 1)
        var isEnd = position < scanner.end && base[position] == UInt8(ascii: "}")
        while !isEnd {
            guard position < scanner.end, base[position] == UInt8(ascii: "\"") else { throw EntityFault("a field's name is expected") }
            let name = position + 1
            let nameEnd = try grammar { () throws(JSONFault) in try scanner.skipString(position) }
            let index = try grammar { () throws(JSONFault) in try column(scanner, from: name, to: nameEnd - 1, after: last) }
            let colon = scanner.skipSpace(nameEnd)
            guard colon < scanner.end, base[colon] == UInt8(ascii: ":") else { throw EntityFault("':' is missing", column: index) }
            if let index {
                guard seen[index] != generation else { throw EntityFault("the field stands twice", column: index) }
                seen[index] = generation
                follower[last] = index
                last = index
                position = try value(scanner, after: colon, of: index, firstSlot: firstSlot, into: block)
            } else {
                try record(unknown: try grammar { () throws(JSONFault) in try scanner.unescape(name, nameEnd - 1) }, &unknown, block)
                position = try grammar { () throws(JSONFault) in try scanner.skipValue(scanner.skipSpace(colon + 1)) }
                position = scanner.skipSpace(position)
            }
            guard position < scanner.end else { throw EntityFault("the entity does not end") }
            isEnd = base[position] == UInt8(ascii: "}")
            guard isEnd || base[position] == UInt8(ascii: ",") else { throw EntityFault("',' or '}' is missing behind a field", column: index) }
            if !isEnd { position = scanner.skipSpace(position + 1) }
        }
        if let index = missingColumn(block, from: firstSlot) {
            throw EntityFault("the field is missing, and the column is required", column: index)
        }
        return position + 1
    }

    /// Parses what follows the entity in a partial one: the names of the columns that became NULL, each after a comma, and the bracket. Returns the
    /// position after it.
    ///
    /// - Parameter whole: says which columns may be NULL.
    func parseNullColumns(_ scanner: JSONScanner, at start: Int, of whole: SchemaPlan, into block: EntityBlock) throws(EntityFault) -> Int {
        var position = start
        while scanner.base[position] == UInt8(ascii: ",") {
            guard scanner.base[position + 1] == UInt8(ascii: "\"") else { throw EntityFault("a column's name is expected") }
            let name = position + 2
            position = try grammar { () throws(JSONFault) in try scanner.skipString(name - 1) }
            let end = position - 1
            let found = try grammar { () throws(JSONFault) in try column(scanner, from: name, to: end, after: 0) }
            guard let index = found else {
                var names: Set<[UInt8]> = []
                try record(unknown: try grammar { () throws(JSONFault) in try scanner.unescape(name, end) }, &names, block)
                continue
            }
            guard whole.columns[index].isOptional, !block.columns(slots: firstSlot..<block.slotCount).contains(index) else {
                throw EntityFault("it is NULL, and the column is required or has a value, or it stands there twice", column: index)
            }
            (block.slots + block.slotCount).initialize(to: EntitySlot(.null, column: index, beginsEntity: false, bits: 0))
            block.slotCount += 1
        }
        guard scanner.base[position] == UInt8(ascii: "]") else { throw EntityFault("the partial entity does not end") }
        return position + 1
    }

    private func record(unknown name: [UInt8], _ names: inout Set<[UInt8]>, _ block: EntityBlock) throws(EntityFault) {
        guard names.insert(name).inserted else { throw EntityFault("an unknown field stands twice") }
        if block.unknownFieldNames.count < EntityBlock.unknownFieldLimit {
            block.unknownFieldNames.insert(String(decoding: name, as: UTF8.self))
        }
    }

    /// Parses the value after the colon into a slot, unless it means that the column is absent. Returns the position after it.
    private func value(
        _ scanner: JSONScanner, after colon: Int, of index: Int, firstSlot: Int, into block: EntityBlock
    ) throws(EntityFault) -> Int {
        let base = scanner.base
        let start = scanner.skipSpace(colon + 1)
        guard start < scanner.end else { throw EntityFault("a value is missing", column: index) }
        let shape = plan.columns[index].shape
        if base[start] == UInt8(ascii: "n"), isForeign || shape != .json {
            return scanner.skipSpace(try grammar(index) { () throws(JSONFault) in try scanner.skipScalar(start) })
        }
        let beginsEntity = block.slotCount == firstSlot
        let slot: EntitySlot
        let end: Int
        switch shape {
        case .text:
            guard base[start] == UInt8(ascii: "\"") else { throw EntityFault("a string is expected", column: index) }
            let (offset, count, after) = try grammar(index) { () throws(JSONFault) in try unescape(scanner, at: start, to: block.scratch) }
            slot = EntitySlot(.scratchText, column: index, beginsEntity: beginsEntity, offset: offset, count: count)
            end = after
        case .json:
            let valueEnd = try grammar(index) { () throws(JSONFault) in try scanner.skipValue(start) }
            // In an asset, the column's bytes are everything between the colon and the comma, including white space.
            let offset = isForeign ? start : colon + 1
            end = isForeign ? valueEnd : scanner.skipSpace(valueEnd)
            slot = EntitySlot(.json, column: index, beginsEntity: beginsEntity, offset: offset, count: end - offset)
        case nil, .integer, .boolean, .real, .blob:
            (slot, end) = try scalar(scanner, at: start, of: index, beginsEntity: beginsEntity, to: block.scratch)
        }
        if index == plan.keyIndex { record(keySlot: block.slotCount) }
        (block.slots + block.slotCount).initialize(to: slot)
        block.slotCount += 1
        return scanner.skipSpace(end)
    }

    /// The position of the column whose name is between `start` and `end`, or nil. Tries first the column that followed last time.
    private func column(_ scanner: JSONScanner, from start: Int, to end: Int, after last: Int) throws(JSONFault) -> Int? {
        let name = UnsafeRawBufferPointer(start: scanner.base + start, count: end - start)
        if name.contains(UInt8(ascii: "\\")) {
            let plain = try scanner.unescape(start, end)
            return plain.withUnsafeBytes { column(named: $0, after: last) }
        }
        return column(named: name, after: last)
    }

    private func column(named name: UnsafeRawBufferPointer, after last: Int) -> Int? {
        let columns = plan.columns
        func isNamed(_ index: Int) -> Bool { columns[index].name.count == name.count && columns[index].name.elementsEqual(name) }
        if isNamed(follower[last]) { return follower[last] }
        for index in 0..<plan.count where isNamed(index) { return index }
        return nil
    }

    /// The first required column that has no slot, or nil.
    private func missingColumn(_ block: EntityBlock, from firstSlot: Int) -> Int? {
        beginEntity()
        for slot in firstSlot..<block.slotCount { seen[Int(block.slots[slot].column)] = generation }
        for index in 0..<plan.count where !plan.columns[index].isOptional && seen[index] != generation { return index }
        return nil
    }

    private func beginEntity() {
        generation &+= 1
        if generation == 0 {
            for index in seen.indices { seen[index] = 0 }
            generation = 1
        }
    }
}
