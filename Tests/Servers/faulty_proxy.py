#!/usr/bin/env python3
"""A proxy in front of an object store that spoils requests: faulty_proxy.py UPSTREAM FOLDER. Prints its own endpoint; ends with its standard input.

FOLDER/plan says what to spoil, as `RUN WHICH FAULT`: of the requests since RUN was first read there, the one with the number WHICH; or each one whose first
line contains WHICH, a method and a part of a path with a colon between them (`PUT:/commits/`). FOLDER/seen has how many requests came in that run, FOLDER/cut how long the request or answer was that was cut at a position. The faults:

  request-cut   the server gets the first half of the request, then both connections end
  request-cut@N the same, after N bytes; answer-cut@N: as answer-cut, after N bytes
  answer-lost   the server does the work, and the connection ends without a byte of the answer
  answer-cut    the server does the work, and the connection ends in the middle of the answer
  body-cut      as answer-cut, one byte before the end
  too-long      the answer says that it has 7 bytes more than it has
  twice         the server gets the request twice, and the client the second answer
  late          the answer comes after a second
  500 503 409 403   the server does the work, and the client gets that status
  refused       the client gets 503, and the server nothing
  held          the connection ends, and the server gets the request later
  overtaken     the server gets the requests that were held, in their order, and then this one
  aged          the times in the answer, of objects and uploads in a listing, are three days earlier
"""
import datetime
import os
import re
import socket
import sys
import threading
import time

XML = b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>spoiled</Message></Error>'
CODES = {b"500": b"InternalError", b"503": b"SlowDown", b"409": b"ConditionalRequestConflict", b"403": b"AccessDenied"}


class Ended(Exception):
    pass


class Plan:
    """Which request is to be spoiled, and how."""

    def __init__(self, folder):
        self.folder, self.run, self.count, self.lock = folder, None, 0, threading.Lock()
        # Requests that are on their way still, whole; one that was sent again counts once.
        self.held = []

    def next(self, head, upstream):
        """How a request is to be spoiled. What it is overtaken by reaches the server here, before requests that come beside it are let through."""
        with self.lock:
            fault = self.chosen(head)
            if fault == b"overtaken":
                held, self.held = self.held, []
                for _, late, body in held:
                    ask(upstream, late, body, late.split()[0])
            return fault

    def chosen(self, head):
        try:
            run, which, fault = open(os.path.join(self.folder, "plan")).read().split()
        except (OSError, ValueError):
            return None
        if run != self.run:
            self.run, self.count = run, 0
        self.count += 1
        with open(os.path.join(self.folder, "seen.new"), "w") as file:
            file.write(str(self.count))
        os.replace(file.name, os.path.join(self.folder, "seen"))
        if which.isdigit():
            return fault.encode() if self.count == int(which) else None
        method, _, part = which.partition(":")
        words = head.decode("latin-1").split(" ", 2)
        return fault.encode() if words[0] == method and part in words[1] else None

    def cut(self, position, whole):
        """Where to cut: at the position, or in the middle."""
        if not position:
            return len(whole) // 2
        with self.lock:
            with open(os.path.join(self.folder, "cut"), "w") as file:
                file.write(str(len(whole)))
        return int(position)

    def hold(self, head, body):
        with self.lock:
            if not any(path == head.split()[1] and known == body for path, _, known in self.held):
                self.held.append((head.split()[1], head, body))


class Stream:
    """One side of a connection: bytes as they come, read by heads and lengths."""

    def __init__(self, connection):
        self.connection, self.rest = connection, b""

    def more(self):
        piece = self.connection.recv(1 << 16)
        if not piece:
            raise Ended
        self.rest += piece

    def line(self):
        while b"\r\n" not in self.rest:
            self.more()
        line, self.rest = self.rest.split(b"\r\n", 1)
        return line + b"\r\n"

    def bytes(self, count):
        while len(self.rest) < count:
            self.more()
        piece, self.rest = self.rest[:count], self.rest[count:]
        return piece

    def head(self):
        head = self.line()
        while not head.endswith(b"\r\n\r\n"):
            head += self.line()
        return head

    def request(self):
        head = self.head()
        return head, self.bytes(int(field(head, b"content-length") or 0))

    def answer(self, method):
        head = self.head()
        status = int(head.split()[1])
        if status == 100:
            return self.answer(method)
        if method == b"HEAD" or status in (204, 304):
            return head, b""
        if field(head, b"transfer-encoding") == b"chunked":
            body = b""
            while True:
                size = self.line()
                body += size + self.bytes(int(size, 16) + 2)
                if int(size, 16) == 0:
                    return head, body
        return head, self.bytes(int(field(head, b"content-length") or 0))


def field(head, name):
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.strip()
    return None


def ask(upstream, head, body, method):
    with socket.create_connection(upstream) as connection:
        connection.sendall(head + body)
        return Stream(connection).answer(method)


def serve(client, upstream, plan):
    stream = Stream(client)
    try:
        while True:
            head, body = stream.request()
            method, fault = head.split()[0], plan.next(head, upstream)
            if fault == b"held":
                plan.hold(head, body)
                return
            fault, _, position = (fault or b"").partition(b"@")
            if fault == b"request-cut":
                whole = head + body
                with socket.create_connection(upstream) as connection:
                    connection.sendall(whole[:plan.cut(position, whole)])
                return
            if fault == b"refused":
                spoiled(client, b"503", method)
                continue
            if fault == b"twice":
                ask(upstream, head, body, method)
            answer_head, answer_body = ask(upstream, head, body, method)
            if fault == b"answer-lost":
                return
            if fault == b"aged":
                answer_body = aged(answer_body)
                lines = [line for line in answer_head.split(b"\r\n") if line and not re.match(rb"(?i)content-length|transfer-encoding", line)]
                answer_head = b"\r\n".join(lines + [b"Content-Length: %d" % len(answer_body), b"", b""])
            if fault in (b"answer-cut", b"body-cut"):
                whole = answer_head + answer_body
                client.sendall(whole[:plan.cut(position, whole) if fault == b"answer-cut" else -1])
                return
            if fault == b"too-long" and field(answer_head, b"content-length") is not None and method != b"HEAD":
                length = field(answer_head, b"content-length")
                lines = [line if not line.lower().startswith(b"content-length") else b"Content-Length: %d" % (int(length) + 7) for line in answer_head.split(b"\r\n")]
                client.sendall(b"\r\n".join(lines) + answer_body)
                return
            if fault in CODES:
                spoiled(client, fault, method)
                continue
            if fault == b"late":
                time.sleep(1)
            client.sendall(answer_head + answer_body)
    except (Ended, OSError):
        pass
    finally:
        client.close()


def aged(body):
    if re.match(rb"[0-9a-f]+\r\n", body):
        pieces, rest = [], body
        while True:
            size, rest = rest.split(b"\r\n", 1)
            if int(size, 16) == 0:
                break
            pieces.append(rest[:int(size, 16)])
            rest = rest[int(size, 16) + 2:]
        body = b"".join(pieces)

    def earlier(match):
        then = datetime.datetime.fromisoformat(match[2].decode()) - datetime.timedelta(days=3)
        return match[1] + then.isoformat().encode()

    return re.sub(rb"(<(?:LastModified|Initiated)>)(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)", earlier, body)


def spoiled(client, status, method):
    body = XML % CODES[status]
    client.sendall(b"HTTP/1.1 %s Spoiled\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + (b"" if method == b"HEAD" else body))


def main():
    host, port = sys.argv[1].split("//")[1].split(":")
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    plan = Plan(sys.argv[2])

    def accept():
        while True:
            client, _ = listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(client, (host, int(port)), plan), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    print("http://127.0.0.1:%d" % listener.getsockname()[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
