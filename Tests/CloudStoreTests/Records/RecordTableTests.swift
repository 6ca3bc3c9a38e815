import Testing

@testable import CloudStore

/// The table of a zone's records is what a dictionary of them would be, whatever comes and goes.
@Suite struct RecordTableTests {
    @Test func theTableIsADictionaryWhateverComesAndGoes() {
        var table = RecordTable((0..<10).map { CloudRecord(type: "T", name: "n\($0)", fields: [:]) })
        var model = Dictionary(uniqueKeysWithValues: table.values.map { ($0.name, $0) })
        for step in 0..<3000 {
            let name = "n\(Int.random(in: 0..<40))"
            let record = Bool.random() ? CloudRecord(type: "T", name: name, fields: ["step": .integer(Int64(step))]) : nil
            table[name] = record
            model[name] = record
            #expect(table[name] == model[name])
            #expect(table.values.count == model.count)
        }
        for number in 0..<40 { #expect(table["n\(number)"] == model["n\(number)"]) }
        #expect(table.values.sorted { $0.name < $1.name } == model.values.sorted { $0.name < $1.name })
    }
}
