#!/usr/bin/env python3
"""Checks the structure of a page with Python's own parser; prints what is wrong, a line each, and ends with 1 if anything is.

    Tests/Page/structure.py PAGE

Every element is closed where it should be; one h1, and headings that skip no level; ids are unique; labels, names and links lead to something that
is there; the Content-Security-Policy comes first and allows no script; nothing in the page runs, loads or sends.
"""
import base64
import hashlib
import html.parser
import sys

VOID = {"meta", "input"}
KNOWN = VOID | set(
    """html head title style body header main nav section footer h1 h2 h3 p ul li dl dt dd table thead tbody tr th td div span code small time details
    summary a label figure figcaption svg g rect path desc""".split())
LISTS = {"li": {"ul"}, "dt": {"dl", "div"}, "dd": {"dl", "div"}, "tr": {"thead", "tbody"}, "th": {"tr"}, "td": {"tr"}, "summary": {"details"}}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.problems, self.open, self.ids, self.wanted, self.headings = [], [], set(), [], []
        self.labels, self.fields, self.policy, self.style, self.texts = set(), [], None, "", []
        self.columns, self.cells = 0, 0

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        values = dict(attributes)
        self.expect(tag in KNOWN, "unknown element %s" % tag)
        self.expect(len(names) == len(set(names)), "%s has an attribute twice" % tag)
        self.expect(not any(name.startswith("on") or name in ("style", "src", "srcset", "action") for name in names), "%s has %s" % (tag, names))
        self.expect(tag not in LISTS or (self.open and self.open[-1] in LISTS[tag]), "%s in %s" % (tag, self.open[-1:]))
        if tag == "meta" and values.get("http-equiv") == "Content-Security-Policy":
            self.expect(not self.style, "the policy comes after the style sheet")
            self.policy = values["content"]
        if "id" in values:
            self.expect(values["id"] not in self.ids, "two elements have the id %s" % values["id"])
            self.ids.add(values["id"])
        for name in ("aria-labelledby", "for"):
            self.wanted += [(tag, one) for one in values.get(name, "").split()]
        if tag == "label":
            self.labels.add(values.get("for"))
        if tag == "input":
            self.fields.append(values)
        if tag == "a":
            self.expect(values.get("href", "").startswith("#"), "a link leads to %s" % values.get("href"))
            self.wanted.append(("a", values.get("href", "#")[1:]))
        if tag in ("h1", "h2", "h3"):
            self.headings.append(int(tag[1]))
        if tag == "tr":
            self.cells = 0
        if tag in ("th", "td"):
            self.cells += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.problems.append("%s closes itself" % tag)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.problems.append("%s closes where %s is open" % (tag, self.open[-3:]))
        else:
            self.open.pop()
        if tag == "tr":
            if "thead" in self.open:
                self.columns = self.cells
            self.expect(self.cells == self.columns, "a row has %d cells under %d columns" % (self.cells, self.columns))

    def handle_data(self, data):
        if self.open[-1:] == ["style"]:
            self.style += data
        elif data.strip():
            self.expect(self.open[-1:] not in (["ul"], ["dl"], ["table"], ["tr"], ["html"]), "text in %s: %s" % (self.open[-1:], data[:40]))
            self.texts.append(data)

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
        for tag, one in self.wanted:
            self.expect(one in self.ids, "%s names %s, which is not there" % (tag, one))
        for field in self.fields:
            self.expect(field.get("id") in self.labels, "a field has no label")
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
