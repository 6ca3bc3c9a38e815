#!/usr/bin/env python3
"""Checks the structure of a page with Python's own parser; prints what is wrong, a line each, and ends with 1 if anything is.

    Tests/Page/structure.py PAGE

Every element is closed where it should be, and is one of the few that a page has; one h1, and headings that skip no level; the
Content-Security-Policy comes first and allows no script; nothing in the page runs, loads or sends.
"""
import base64
import hashlib
import html.parser
import sys

KNOWN = {"html": [], "head": [], "meta": ["charset", "http-equiv", "content", "name"], "title": [], "style": [], "body": [], "section": [], "h1": [], "h2": [],
         "h3": [], "p": ["class"], "pre": [], "span": ["class"]}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.problems, self.open, self.headings, self.policy, self.style = [], [], [], None, ""

    def handle_starttag(self, tag, attributes):
        names, values = [name for name, _ in attributes], dict(attributes)
        self.expect(tag in KNOWN and len(names) == len(values), "unknown element %s, or an attribute twice" % tag)
        self.expect(tag == "html" or not set(names) - set(KNOWN.get(tag, [])), "%s has %s" % (tag, names))
        if tag == "meta" and values.get("http-equiv") == "Content-Security-Policy":
            self.expect(not self.style, "the policy comes after the style sheet")
            self.policy = values["content"]
        if tag in ("h1", "h2", "h3"):
            self.headings.append(int(tag[1]))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.problems.append("%s closes itself" % tag)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.problems.append("%s closes where %s is open" % (tag, self.open[-3:]))
        else:
            self.open.pop()

    def handle_data(self, data):
        if self.open[-1:] == ["style"]:
            self.style += data

    def handle_comment(self, data):
        self.problems.append("a comment: %s" % data[:40])

    def unknown_decl(self, data):
        self.problems.append("a declaration: %s" % data[:40])

    def expect(self, condition, words):
        if not condition:
            self.problems.append(words)

    def finish(self):
        self.expect(not self.open, "not closed: %s" % self.open)
        self.expect(self.headings.count(1) == 1 and self.headings[:1] == [1], "the headings are %s" % self.headings)
        self.expect(all(b <= a + 1 for a, b in zip(self.headings, self.headings[1:])), "a heading skips a level: %s" % self.headings)
        digest = base64.b64encode(hashlib.sha256(self.style.encode()).digest()).decode()
        self.expect(
            self.policy == "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'" % digest, "the policy is %s" % self.policy)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    page = Page()
    page.expect(text.startswith("<!DOCTYPE html>\n<html lang=\"en\">"), "the page does not begin as HTML does")
    page.feed(text)
    page.close()
    page.finish()
    for problem in page.problems[:20]:
        print(problem)
    sys.exit(1 if page.problems else 0)


main()
