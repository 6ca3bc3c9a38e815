#!/usr/bin/env python3
"""Counts the Character-wise String operations in Sources, and fails on more of them than Scripts/text_check.txt allows.

Swift's String compares, searches and divides by grapheme clusters and canonical equivalence: a quotation mark with a combining mark behind it is
no quotation mark, and two names that SQLite tells apart are one key of a dictionary. So texts from outside are compared as ExactText (`.exact`,
`.folded`), quoted by the functions of StrictText/Quoting.swift, and searched as bytes.

The list has a line `COUNT RULE MODULE`: words of this program, numbers, and names with a grammar of ASCII (zones, devices, records, datasets). Who
adds a use of that kind writes the list anew with --update.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "Scripts" / "text_check.txt"

# What a rule looks for, a line that it finds, and one that it does not.
RULES = {
    "replacing": (r"\.replacing(Occurrences)?\(", 'name.replacing("\\"", with: "")', "name.escaping { _ in nil }"),
    "prefix": (r"(?<!\.exact)(?<!\.folded)\.has(Prefix|Suffix)\b", 'name.hasPrefix("a")', 'name.exact.hasPrefix("a")'),
    "split": (
        r"(?<!\.exact)\.split\(separator: \"|\.split\(whereSeparator:|\.components\(separatedBy:",
        'path.split(separator: "/")', 'path.exact.split(separator: "/")'),
    "search": (
        r"\.(firstRange|ranges|range)\(of: \"|\.trimming(Prefix|Characters)\(|(?<!\.exact)(?<!\.folded)(?<!\.utf8)\.contains\(\"",
        'text.range(of: "x")', 'text.exact.contains("x")'),
    "case": (r"(?<!uuidString)(?<!rawValue)\.(lower|upper)cased\(\)|caseInsensitiveCompare|localized\w*Compare", "name.lowercased()", "name.folded"),
    "character": (r"\bCharacter\b", "let quote: Character", "let quote: Unicode.Scalar"),
    "key": (r"\[String ?: |Set<String>|Dictionary<String,", "var kinds: [String: Int]", "var kinds: [ExactText: Int]"),
    # GRDB keeps statements by their SQL as a String.
    "statement": (r"\bcachedStatement\(", "db.cachedStatement(sql: sql)", "db.keptStatement(sql: sql)"),
}


def uses():
    """Every use by rule and module, as file, number of the line, and line."""
    found = collections.defaultdict(list)
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        file = path.relative_to(ROOT).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.lstrip().startswith("//"):
                continue
            for rule, (pattern, _, _) in RULES.items():
                found[rule, file.split("/")[1]] += [(file, number, line.strip())] * len(re.findall(pattern, line))
    return {key: lines for key, lines in found.items() if lines}


def main():
    for rule, (pattern, bad, good) in RULES.items():
        assert re.search(pattern, bad) and not re.search(pattern, good), rule
    found = uses()
    if "--update" in sys.argv:
        LIST.write_text("".join(f"{len(lines)} {rule} {module}\n" for (rule, module), lines in sorted(found.items())), encoding="utf-8")
        return 0
    allowed = collections.Counter()
    for entry in LIST.read_text(encoding="utf-8").splitlines():
        count, rule, module = entry.split()
        allowed[rule, module] = int(count)
    failed = 0
    for (rule, module), lines in sorted(found.items()):
        if len(lines) <= allowed[rule, module]:
            continue
        failed = 1
        print(f"Sources/{module}: {len(lines)} Character-wise String operations ({rule}), allowed are {allowed[rule, module]}:")
        for file, number, line in lines:
            print(f"  {file}:{number}: {line[:120]}")
    if failed:
        print("Compare a text from outside as .exact or .folded, or work on its utf8. If the text is none from outside: Scripts/text_check.py --update")
    return failed


sys.exit(main())
