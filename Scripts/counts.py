#!/usr/bin/env python3
"""Counts what must not grow: lines, files, modules, parameters, words, turns of phrase, and String operations on characters. Prints a table; fails where a count is
above its ceiling, and where the Makefile, a script or a page names a test that is not there: a filter of that name runs nothing, and succeeds.

A ceiling is the count of the last change that lowered it. Whoever lowers a count lowers its ceiling in the same commit; the goal says how far.

Swift's String compares, searches and divides by grapheme clusters and canonical equivalence: a quotation mark with a combining mark behind it is no quotation mark,
and two names that SQLite tells apart are one key of a dictionary. So texts from outside are compared as `.exact` or `.folded`, quoted by the functions of
StrictText/Quoting.swift, and searched as bytes. What the last counts allow are words of this program, numbers, and names with a grammar of ASCII.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Name, ceiling, goal.
CEILINGS = [
    ("lines of Sources", 68_996, 58_000),
    ("lines of Sources without comments", 50_989, 44_000),
    ("files of Sources", 530, 600),
    ("lines of the largest module", 7_668, 8_000),
    ("files of the largest module", 59, 80),
    ("folders of a module in a cycle", 0, 0),
    ("functions with three unlabelled parameters", 0, 0),
    ("functions with more than seven parameters", 4, 0),
    ("lines of Tests", 49_366, 40_000),
    ("lines of Scripts, Benchmarks and Makefile", 1_792, 1_000),
    ("words of README and docs", 45_000, 45_000),
    ("semicolons in 1,000 words", 1.5, 1.5),
]

# Turns of phrase that a reader stumbles over, in 1,000 words: name, ceilings for README and docs, for help and messages, and for comments of the code; what
# finds one.
PHRASES = [
    ("nobody, nothing", 0.2, 3.1, 2.0, r"\b(?:nobody|nothing)\b"),
    ("a page or a program that says, tells", 0.3, 1.6, 1.5, r"\b(?:says?|tells?|told)\b"),
    ("at a reader", 0.1, 0.1, 0.2, r"\bat (?:a |an |the |each |every |another )?(?:readers?|writers?|peers?|publishers?|devices?)\b"),
    ("whoever, what is", 0.6, 1.5, 0.5, r"\b(?:whoever|whom|what (?:is|was|are|were))\b"),
    ("bare exit codes", 0, 0, 0, r"(?<!\w)\((?:64|65|66|69|74|75|77|78)\)"),
    ("stays, goes on, lies, gives way", 0.4, 1.9, 1.4, r"\b(?:stays?|go(?:es)? on|lies|stands|comes? back|gives? way|travels?)\b"),
    ("that is there", 0.1, 0.2, 0.1, r"\b(?:that|which) (?:is|are|was|were) there\b"),
    ("too, all the same, else", 0.1, 0.3, 0.2, r", too\b|\ball the same\b|\bElse\b"),
    ("mend, anew, shall, take over", 0.1, 0.6, 0.1, r"\b(?:mends?|mended|anew|shall|on trial|takes? over|taken over)\b"),
]
CEILINGS += [(f"{where}: {name}", ceilings[i], 0) for i, where in enumerate(("pages", "messages", "comments")) for name, *ceilings, _ in PHRASES]

# Operations on characters: name, ceiling, what finds one, a line that it finds, and one that it does not.
CHARACTERS = [
    ("replacing", 2, r"\.replacing(Occurrences)?\(", 'name.replacing("\"", with: "")', "name.escaping { _ in nil }"),
    ("prefix", 14, r"(?<!\.exact)(?<!\.folded)\.has(Prefix|Suffix)\b", 'name.hasPrefix("a")', 'name.exact.hasPrefix("a")'),
    ("split", 6, r"(?<!\.exact)\.split\(separator: \"|\.split\(whereSeparator:|\.components\(separatedBy:", 'a.split(separator: "/")', 'a.exact.split(separator: "/")'),
    ("search", 2, r"\.(firstRange|ranges|range)\(of: \"|\.trimming(Prefix|Characters)\(|(?<!\.exact)(?<!\.folded)(?<!\.utf8)\.contains\(\"",
     'text.range(of: "x")', 'text.exact.contains("x")'),
    ("case", 6, r"(?<!uuidString)(?<!rawValue)\.(lower|upper)cased\(\)|caseInsensitiveCompare|localized\w*Compare", "name.lowercased()", "name.folded"),
    ("Character", 0, r"\bCharacter\b", "let quote: Character", "let quote: Unicode.Scalar"),
    ("String as a key", 172, r"\[String ?: |Set<String>|Dictionary<String,", "var kinds: [String: Int]", "var kinds: [ExactText: Int]"),
    # GRDB keeps statements by their SQL as a String.
    ("cachedStatement", 2, r"\bcachedStatement\(", "db.cachedStatement(sql: sql)", "db.keptStatement(sql: sql)"),
]
CEILINGS += [(f"String operations on characters: {name}", ceiling, ceiling) for name, ceiling, _, _, _ in CHARACTERS]


def texts(folder, *endings):
    """The files beneath a folder, with their text."""
    for path in sorted((ROOT / folder).rglob("*")):
        if path.is_file() and (not endings or path.suffix in endings):
            yield path, path.read_text(errors="replace")


def lines(found):
    return sum(text.count("\n") for _, text in found)


def parameters(text):
    """The parameters of each function and initialiser."""
    for match in re.finditer(r"^ *(?:@?\w+(?:\(\w+\))? )*(?:func \w+|init[?]?)(?:<[^>]*>)?\(([^{]*?)\)(?: async| throws| rethrows|\s*->|\s*\{)", text, re.M):
        plain, last = match.group(1), None
        while plain != last: plain, last = re.sub(r"\([^()]*\)|\[[^][]*\]|<[^<>]*>", "", plain), plain
        yield [one.strip() for one in plain.split(",") if one.strip()]


def cycles(sources):
    """How many folders of modules use each other's types in a circle."""
    declared, used = {}, {}
    for path, text in sources:
        module, *folder = path.relative_to(ROOT / "Sources").parts[:-1]
        text = re.sub(r'^\s*//.*$|"""(?:.|\n)*?"""|"(?:[^"\\\n]|\\.)*"', "", text, flags=re.M)
        for name in re.findall(r"^(?:\w+ |@\w+(?:\(\w+\))? )*(?:struct|class|enum|protocol|actor|typealias) (\w+)", text, re.M): declared.setdefault((module, name), tuple(folder))
        used.setdefault((module, tuple(folder)), set()).update(re.findall(r"\b[A-Z]\w+", text))
    reached = {one: {(one[0], declared[one[0], name]) for name in names if (one[0], name) in declared} - {one} for one, names in used.items()}
    for middle in reached:
        for one in reached:
            if middle in reached[one]: reached[one] |= reached[middle]
    return sum(one in there for one, there in reached.items())


def prose(text):
    """A page without its code, tables' rules and links' targets."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`|\]\([^)]*\)|^\|[ :|-]+\|$", " ", text, flags=re.M)


def messages(sources):
    """What the program prints: the texts of the code that are more than a word."""
    found = []
    for text in sources:
        text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
        blocks = re.findall(r'"""\n(.*?)"""', text, re.S)
        found += blocks + [one for one in re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r'""".*?"""', "", text, flags=re.S)) if " " in one]
    return "\n".join(found)


def counts():
    sources = list(texts("Sources", ".swift", ".c", ".h"))
    modules = {}
    for path, text in sources:
        module = modules.setdefault(path.relative_to(ROOT / "Sources").parts[0], [0, 0])
        module[0] += text.count("\n")
        module[1] += 1
    functions = [one for _, text in sources for one in parameters(text)]
    pages = [(ROOT / "README.md").read_text()] + [text for _, text in texts("docs", ".md")]
    words, plain = sum(len(page.split()) for page in pages), "\n".join(prose(page) for page in pages)
    thousands = len(plain.split()) / 1000
    yield lines(sources)
    yield sum(1 for _, text in sources for line in text.split("\n") if line.strip() and not line.strip().startswith("//"))
    yield len(sources)
    yield max(size for size, _ in modules.values())
    yield max(files for _, files in modules.values())
    yield cycles(sources)
    yield sum(sum(one.startswith("_ ") for one in function) >= 3 for function in functions)
    yield sum(len(function) > 7 for function in functions)
    yield lines(texts("Tests", ".swift"))
    yield lines(texts("Scripts")) + lines(texts("Benchmarks")) + (ROOT / "Makefile").read_text().count("\n")
    yield words
    yield round(plain.count(";") / thousands, 2)
    comments = "\n".join(line.strip()[3:] for _, text in sources for line in text.split("\n") if line.lstrip().startswith("///"))
    for text in (plain, messages(text for path, text in sources if path.suffix == ".swift"), comments):
        for *_, pattern in PHRASES: yield round(1000 * len(re.findall(pattern, text)) / len(text.split()), 2)
    code = [line for path, text in sources if path.suffix == ".swift" for line in text.split("\n") if not line.lstrip().startswith("//")]
    for name, _, pattern, bad, good in CHARACTERS:
        assert re.search(pattern, bad) and not re.search(pattern, good), name
        yield sum(len(re.findall(pattern, line)) for line in code)


def missing_tests():
    """Each name of a test that stands somewhere and is no test's."""
    declared = {path.name for path in (ROOT / "Tests").iterdir()}
    declared |= {name for _, text in texts("Tests", ".swift") for name in re.findall(r"\b(?:struct|class|func) (\w+)", text)}
    for path in [ROOT / "Makefile", ROOT / "Scripts/mutants.py", *ROOT.glob("Tests/*/*.md"), *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for names in re.findall(r"\b(\w+Tests)(?:\.(?!swift\b)(\w+))?", path.read_text()):
            yield from (f"{path.name}: no test is called {name}" for name in names if name and name not in declared)


failed = False
for (name, ceiling, goal), count in zip(CEILINGS, counts(), strict=True):
    above = count > ceiling
    failed |= above
    print(f"{name:44} {count:>9,} {'of at most' if above else 'within'} {ceiling:,}, goal {goal:,}{'  <-- too many' if above else ''}")
for line in missing_tests():
    failed = True
    print(line)
sys.exit(failed)
