import SnapshotModel
import Testing

/// The union of two notices says what happened between the state before the first and the state after the second.
@Suite struct DatasetChangesTests {
    private func changes(_ inserted: [String] = [], _ updated: [String] = [], _ deleted: [String] = []) -> DatasetChanges {
        func keys(_ texts: [String]) -> Set<EntityKey> { Set(texts.map { EntityKey($0) }) }
        return DatasetChanges(dataset: "things", inserted: keys(inserted), updated: keys(updated), deleted: keys(deleted))
    }

    @Test func rowsThatComeAndGoAreNotAmongThem() {
        #expect(changes(["a"]).followed(by: changes([], [], ["a"]), limit: 9).isEmpty)
    }

    @Test func everyPairOfEventsMakesOne() {
        #expect(changes(["a"]).followed(by: changes([], ["a"]), limit: 9) == changes(["a"]))
        #expect(changes([], ["a"]).followed(by: changes([], ["a"]), limit: 9) == changes([], ["a"]))
        #expect(changes([], ["a"]).followed(by: changes([], [], ["a"]), limit: 9) == changes([], [], ["a"]))
        #expect(changes([], [], ["a"]).followed(by: changes(["a"]), limit: 9) == changes([], ["a"]))
        #expect(changes(["a"]).followed(by: changes(["b"], ["c"], ["d"]), limit: 9) == changes(["a", "b"], ["c"], ["d"]))
    }

    @Test func moreKeysThanTheLimitAreEverything() {
        let two = changes(["a"]).followed(by: changes([], ["b"]), limit: 2)
        #expect(two == changes(["a"], ["b"]) && !two.isEverything)
        let three = two.followed(by: changes([], [], ["c"]), limit: 2)
        #expect(three == .everything(of: "things") && three.count == 0 && !three.isEmpty)
        #expect(three.followed(by: changes(["d"]), limit: 2).isEverything)
        #expect(changes(["d"]).followed(by: .everything(of: "things"), limit: 2).isEverything)
    }
}
