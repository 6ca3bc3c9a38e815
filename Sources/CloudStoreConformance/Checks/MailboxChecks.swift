import CloudStore
import Foundation
import StrictText

extension ConformanceCheck {
    /// The messages that devices leave for the publisher.
    static let mailbox: [ConformanceCheck] = [
        ConformanceCheck("aMessageWaitsUntilItsSenderRemovesIt", .mailbox) { trial in
            try await trial.makeZone()
            try await trial.expectWaiting([], line: #line)
            let message = trial.message(1, #"{"text":"ü 😀 \u0000 / \" ","list":[1,2.50,{"a":null}]}"#)
            try await trial.send(message)
            for _ in 0..<2 { try await trial.expectWaiting([message], line: #line) }
            try await trial.mailbox.removeMessage(CloudMessageName(sender: "reader", id: message.id), in: ConformanceContext.zone)
            try await trial.expectWaiting([], line: #line)
            try await trial.mailbox.removeMessage(CloudMessageName(sender: "reader", id: message.id), in: ConformanceContext.zone)
            try await trial.mailbox.removeMessage(CloudMessageName(sender: "nobody", id: message.id), in: ConformanceContext.zone)
        },
        ConformanceCheck("aMessageIsNeverReplaced", .mailbox) { trial in
            try await trial.makeZone()
            let first = trial.message(1, #"{"n":1}"#), other = trial.message(1, #"{"n":2}"#)
            try await trial.send(first)
            try await trial.send(first)
            try await trial.expect(.serverRecordChanged, "another message of the same id") { try await trial.send(other) }
            try await trial.expectWaiting([first], line: #line)
            let elsewhere = trial.message(1, #"{"n":2}"#, from: "watch")
            try await trial.send(elsewhere)
            try await trial.expectWaiting([first, elsewhere], line: #line)
        },
        ConformanceCheck("messagesComeBySenderAndInTheOrderOfTheirIDs", .mailbox) { trial in
            try await trial.makeZone()
            var messages = ["a", "b", "Z"].flatMap { sender in (0..<5).map { trial.message($0 * 7 % 5, "{}", from: sender) } }
            for message in messages { try await trial.send(message) }
            messages.sort { ($0.sender.utf8.first ?? 0, $0.id) < ($1.sender.utf8.first ?? 0, $1.id) }
            try await trial.expectWaiting(messages, line: #line)
            let one = try await trial.mailbox.mailbox(MailboxRequest(sender: "b"), in: ConformanceContext.zone)
            try trial.expect(one.messages, is: messages.filter { $0.sender == "b" }, "one sender's messages")
        },
        ConformanceCheck("knownMessagesAreNotReadAndTheLimitIsForEachSender", .mailbox) { trial in
            try await trial.makeZone()
            let messages = ["a", "b"].flatMap { sender in (0..<6).map { trial.message($0, "{}", from: sender) } }
            for message in messages { try await trial.send(message) }
            let found = try await trial.mailbox.mailbox(MailboxRequest(known: [messages[0].id, messages[2].id], limit: 3), in: ConformanceContext.zone)
            try trial.expect(found.messages, is: [1, 3, 4, 7, 9, 10].map { messages[$0] }, "the messages read")
            try trial.expect(found.known.map(\.id), is: [0, 2, 6, 8].map { messages[$0].id }, "the messages that were known")
            try trial.expect(found.unreadCount, is: 2, "the messages beyond the limit")
            try trial.expect(found.waitingCount, is: 12, "all that wait")
        },
        ConformanceCheck("whatIsNoMessageIsRefused", .mailbox) { trial in
            try await trial.makeZone()
            for id in ["", "x", "../\(String(repeating: "0", count: 29))", String(repeating: "A", count: 32), String(repeating: "0", count: 33)] {
                try await trial.expect(.invalidArguments, "an id") { try await trial.send(CloudMessage(id: id, sender: "reader", body: Data("{}".utf8))) }
            }
            for sender in ["", "..", "a/b", ".hidden"] {
                try await trial.expect(.invalidArguments, "a sender") { try await trial.send(trial.message(1, "{}", from: sender)) }
            }
            for body in ["", "7", "[]", "{", "{}{}", #"{"a":1,"a":2}"#, "{} ", #"{"a":01}"#] {
                try await trial.expect(.invalidArguments, "a body") { try await trial.send(trial.message(1, body)) }
            }
            try await trial.expectWaiting([], line: #line)
        },
        ConformanceCheck("aMessageHasALargestSize", .mailbox) { trial in
            try await trial.makeZone()
            let large = trial.message(1, #"{"text":""# + String(repeating: "x", count: CloudMessage.byteLimit) + #""}"#)
            try await trial.expect(.limitExceeded, "a message beyond the limit") { try await trial.send(large) }
            let fits = trial.message(1, #"{"text":""# + String(repeating: "x", count: CloudMessage.byteLimit - 1000) + #""}"#)
            try await trial.send(fits)
            try await trial.expectWaiting([fits], line: #line)
        },
        ConformanceCheck("aSendersClockIsNearTheClouds", .mailbox) { trial in
            try await trial.makeZone()
            let day: Int64 = 86_400_000_000
            for shift in [-day * 2, day * 2] {
                try await trial.expect(.clockUnusable, "a clock two days off") {
                    try await trial.mailbox.send(trial.message(1, "{}"), clock: Instant.now.advanced(byMicroseconds: shift), in: ConformanceContext.zone)
                }
            }
            try await trial.expectWaiting([], line: #line)
        },
        ConformanceCheck("zonesShareNoMessages", .mailbox) { trial in
            try await trial.makeZone()
            let other = ZoneID("OtherZone")
            _ = try await trial.cloud.createZone(other, creator: "writer", publishers: .one)
            try await trial.send(trial.message(1, "{}"))
            try trial.expect(try await trial.mailbox.mailbox(MailboxRequest(), in: other).waitingCount, is: 0, "the other zone's messages")
            try await trial.expect(.zoneNotFound, "a mailbox without a zone") { _ = try await trial.mailbox.mailbox(MailboxRequest(), in: ZoneID("None")) }
            try await trial.expect(.zoneNotFound, "a message without a zone") {
                try await trial.mailbox.send(trial.message(1, "{}"), clock: .now, in: ZoneID("None"))
            }
        },
    ]
}

extension ConformanceContext {
    /// Makes a message from a small number.
    fileprivate func message(_ number: Int, _ body: String, from sender: String = "reader") -> CloudMessage {
        let digits = String(number, radix: 16)
        return CloudMessage(id: String(repeating: "0", count: 32 - digits.utf8.count) + digits, sender: sender, body: Data(body.utf8))
    }

    fileprivate func send(_ message: CloudMessage) async throws { try await mailbox.send(message, clock: .now, in: ConformanceContext.zone) }

    fileprivate func expectWaiting(_ messages: [CloudMessage], line: Int) async throws {
        let found = try await mailbox.mailbox(MailboxRequest(), in: ConformanceContext.zone)
        try expect(found.messages, is: messages, "the messages that wait", line: line)
        try expect(found.setAside, is: [], "what was set aside", line: line)
    }
}
