import CloudStore
import Foundation
import StrictText

extension ContractCheck {
    /// The messages that devices leave for the publisher.
    static let mailbox: [ContractCheck] = [
        ContractCheck("aMessageWaitsUntilItsSenderRemovesIt") { test in
            try await test.makeZone()
            try await test.expectWaiting([], line: #line)
            let message = test.message(1, #"{"text":"ü 😀 \u0000 / \" ","list":[1,2.50,{"a":null}]}"#)
            try await test.send(message)
            for _ in 0..<2 { try await test.expectWaiting([message], line: #line) }
            try await test.cloud.removeMessage(CloudMessageName(sender: "reader", id: message.id), in: ContractTest.zone)
            try await test.expectWaiting([], line: #line)
            try await test.cloud.removeMessage(CloudMessageName(sender: "reader", id: message.id), in: ContractTest.zone)
            try await test.cloud.removeMessage(CloudMessageName(sender: "nobody", id: message.id), in: ContractTest.zone)
        },
        ContractCheck("aMessageIsNeverReplaced") { test in
            try await test.makeZone()
            let first = test.message(1, #"{"n":1}"#), other = test.message(1, #"{"n":2}"#)
            try await test.send(first)
            try await test.send(first)
            try await test.expect(.serverRecordChanged, "another message of the same id") { try await test.send(other) }
            try await test.expectWaiting([first], line: #line)
            let elsewhere = test.message(1, #"{"n":2}"#, from: "watch")
            try await test.send(elsewhere)
            try await test.expectWaiting([first, elsewhere], line: #line)
        },
        ContractCheck("messagesComeBySenderAndInTheOrderOfTheirIDs") { test in
            try await test.makeZone()
            var messages = ["a", "b", "Z"].flatMap { sender in (0..<5).map { test.message($0 * 7 % 5, "{}", from: sender) } }
            for message in messages { try await test.send(message) }
            messages.sort { ($0.sender.utf8.first ?? 0, $0.id) < ($1.sender.utf8.first ?? 0, $1.id) }
            try await test.expectWaiting(messages, line: #line)
            let one = try await test.cloud.mailbox(of: "b", in: ContractTest.zone)
            try test.expect(one.messages, is: messages.filter { $0.sender == "b" }, "one sender's messages")
        },
        ContractCheck("whatIsNoMessageIsRefused") { test in
            try await test.makeZone()
            for id in ["", "x", "../\(String(repeating: "0", count: 29))", String(repeating: "A", count: 32), String(repeating: "0", count: 33)] {
                try await test.expect(.invalidArguments, "an id") { try await test.send(CloudMessage(id: id, sender: "reader", body: Data("{}".utf8))) }
            }
            for sender in ["", "..", "a/b", ".hidden"] {
                try await test.expect(.invalidArguments, "a sender") { try await test.send(test.message(1, "{}", from: sender)) }
            }
            for body in ["", "7", "[]", "{", "{}{}", #"{"a":1,"a":2}"#, "{} ", #"{"a":01}"#] {
                try await test.expect(.invalidArguments, "a body") { try await test.send(test.message(1, body)) }
            }
            try await test.expectWaiting([], line: #line)
        },
        ContractCheck("aMessageHasALargestSize") { test in
            try await test.makeZone()
            let large = test.message(1, #"{"text":""# + String(repeating: "x", count: CloudMessage.byteLimit) + #""}"#)
            try await test.expect(.limitExceeded, "a message beyond the limit") { try await test.send(large) }
            let fits = test.message(1, #"{"text":""# + String(repeating: "x", count: CloudMessage.byteLimit - 1000) + #""}"#)
            try await test.send(fits)
            try await test.expectWaiting([fits], line: #line)
        },
        ContractCheck("aSendersClockIsNearTheClouds") { test in
            try await test.makeZone()
            let day: Int64 = 86_400_000_000
            for shift in [-day * 2, day * 2] {
                try await test.expect(.clockUnusable, "a clock two days off") {
                    try await test.cloud.send(test.message(1, "{}"), clock: Instant.now.advanced(byMicroseconds: shift), in: ContractTest.zone)
                }
            }
            try await test.expectWaiting([], line: #line)
        },
        ContractCheck("zonesShareNoMessages") { test in
            try await test.makeZone()
            let other = ZoneID("OtherZone")
            _ = try await test.cloud.createZone(other, creator: "writer", publishers: .one)
            try await test.send(test.message(1, "{}"))
            let found = try await test.cloud.mailbox(in: other)
            try test.expect(found.messages.count + found.unreadCount, is: 0, "the other zone's messages")
            try await test.expect(.zoneNotFound, "a mailbox without a zone") { _ = try await test.cloud.mailbox(in: ZoneID("None")) }
            try await test.expect(.zoneNotFound, "a message without a zone") {
                try await test.cloud.send(test.message(1, "{}"), clock: .now, in: ZoneID("None"))
            }
        },
    ]
}

extension ContractTest {
    /// Makes a message from a small number.
    fileprivate func message(_ number: Int, _ body: String, from sender: String = "reader") -> CloudMessage {
        let digits = String(number, radix: 16)
        return CloudMessage(id: String(repeating: "0", count: 32 - digits.utf8.count) + digits, sender: sender, body: Data(body.utf8))
    }

    fileprivate func send(_ message: CloudMessage) async throws { try await cloud.send(message, clock: .now, in: ContractTest.zone) }

    fileprivate func expectWaiting(_ messages: [CloudMessage], line: Int) async throws {
        let found = try await cloud.mailbox(in: ContractTest.zone)
        try expect(found.messages, is: messages, "the messages that wait", line: line)
        try expect(found.setAside, is: [], "what was set aside", line: line)
    }
}
