#!/usr/bin/env python3
"""Writes the manual pages of the built command, one for each command, and the page of all commands, from what the command says of itself.

    Scripts/manual.py .build/debug/snapsync build/man build/cli.md

`make install` runs it. The parser's own plug-in breaks the lines of examples.
"""
import json
import os
import re
import subprocess
import sys
import textwrap

SECTIONS = {"EXAMPLE": "EXAMPLES", "EXAMPLES": "EXAMPLES", "EXIT CODES": "EXIT STATUS"}
ENVIRONMENT = [("SNAPSYNC_DB", "The database, if --db is not given."), ("SNAPSYNC_CLOUD", "The cloud, if --cloud is not given."),
               ("SNAPSYNC_KEY_FILE", "The file with the keys of the device, in a signed or sealed zone."),
               ("SNAPSYNC_PASSPHRASE_FILE", "A file (mode 600) with the passphrase of the key file.")]


def escaped(text):
    """Text for roff: no escapes, no requests, hyphens that can be searched for and copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def parts(discussion):
    """The discussion as [(heading or None, lines)]. A paragraph of the discussion is one line; here its lines have a length for readers of files."""
    found = [(None, [])]
    for line in (discussion or "").split("\n"):
        if line in SECTIONS:
            found.append((line, []))
        elif line.startswith(" ") or not line.strip():
            found[-1][1].append(line)
        else:
            found[-1][1].extend(textwrap.wrap(line, 128, break_long_words=False, break_on_hyphens=False))
    return found


def paragraphs(lines):
    """Lines of running text and of blocks that are indented, which keep their line breaks."""
    roff, block = [], False
    for line in lines:
        if line.startswith("  ") and not block:
            roff += [".PP", ".RS 4", ".nf"]
        elif block and not line.startswith("  "):
            roff += [".fi", ".RE"]
        block = line.startswith("  ")
        roff.append(escaped(line[2:] if block else line) if line.strip() else ".PP")
    return roff + ([".fi", ".RE"] if block else [])


def spelled(argument):
    """How an argument is typed: --db FILE."""
    value = "\\fI%s\\fR" % escaped(argument["valueName"])
    if argument["kind"] == "positional":
        return value
    names = sorted(argument["names"], key=lambda name: name["kind"] != "short")
    flags = ", ".join("\\fB%s\\fR" % escaped(("-" if name["kind"] == "short" else "--") + name["name"]) for name in names)
    return flags + (" " + value if argument["kind"] == "option" else "")


def usage(words, command):
    line = "\\fB%s\\fR" % escaped(" ".join(words))
    if command.get("subcommands"):
        line += " \\fIcommand\\fR"
    for argument in shown(command):
        text = spelled(argument) + (" ..." if argument["isRepeating"] else "")
        line += " " + ("[%s]" % text if argument["isOptional"] else text)
    return line


def shown(command):
    """Its arguments, but for the parser's own: --help, and --version, which the dump has for every command."""
    return [argument for argument in command.get("arguments", []) if argument["shouldDisplay"]
            and not (argument["kind"] == "flag" and argument["valueName"] in ("help", "version"))]


def options(command):
    roff = []
    for argument in shown(command):
        text = argument.get("abstract", "")
        if argument.get("allValues"):
            text += " Values: %s." % ", ".join(argument["allValues"])
        if argument.get("defaultValue"):
            text += " Default: %s." % argument["defaultValue"]
        roff += [".TP", spelled(argument), escaped(text.strip())]
    return roff


def page(words, command, version, others):
    """The page of one command; `others` are the names of the pages that it refers to."""
    name = "-".join(words)
    roff = ['.TH "%s" 1 "" "snapsync %s"' % (name.upper(), version), ".SH NAME", "%s \\- %s" % (escaped(name), escaped(command["abstract"].rstrip(".")))]
    roff += [".SH SYNOPSIS", usage(words, command)]
    sections = parts(command.get("discussion"))
    described = paragraphs([line for line in sections[0][1]])
    roff += [".SH DESCRIPTION", escaped(command["abstract"])] + ([".PP"] + described if any(sections[0][1]) else [])
    children = [child for child in command.get("subcommands", []) if child["commandName"] != "help"]
    if children:
        roff += [".SH COMMANDS"]
        for child in children:
            roff += [".TP", "\\fB%s\\fR(1)" % escaped("-".join(words + [child["commandName"]])), escaped(child["abstract"])]
    if shown(command):
        roff += [".SH OPTIONS"] + options(command)
    for heading, lines in sections[1:]:
        roff += [".SH " + SECTIONS[heading]] + paragraphs(lines)
    if any(argument["valueName"] == "file" and argument["preferredName"]["name"] == "db" for argument in shown(command) if argument["kind"] == "option"):
        roff += [".SH ENVIRONMENT"]
        for variable, text in ENVIRONMENT:
            roff += [".TP", "\\fB%s\\fR" % variable, escaped(text)]
    if not any(heading == "EXIT CODES" for heading, _ in sections):
        roff += [".SH EXIT STATUS", "0 if the command did what it says or found nothing to do. The other codes are listed in \\fBsnapsync\\fR(1)."]
    roff += [".SH SEE ALSO", ",\n".join("\\fB%s\\fR(1)" % escaped(other) for other in others)]
    lines, text = [], "\n".join(roff).split("\n")
    for number, line in enumerate(text):
        # A paragraph that holds nothing is a warning of man's formatter.
        following = text[number + 1] if number + 1 < len(text) else ".SH"
        if line == ".PP" and (following.startswith((".SH", ".PP")) or (lines and lines[-1].startswith((".SH", ".PP")))):
            continue
        lines.append(line)
    return "\n".join(lines) + "\n"


def pages(words, command, version):
    """Yields (file name, text) for a command and those beneath it."""
    children = [child for child in command.get("subcommands", []) if child["commandName"] != "help"]
    above = ["-".join(words[:-1])] if len(words) > 1 else []
    others = above + (["-".join(words + [child["commandName"]]) for child in children] if children else ["snapsync"] if len(words) > 2 else [])
    yield "-".join(words) + ".1", page(words, command, version, list(dict.fromkeys(others)))
    for child in children:
        yield from pages(words + [child["commandName"]], child, version)


INTRODUCTION = """# The commands

Made from the help of the built command; `snapsync help COMMAND` and `man snapsync-COMMAND` print the same.
[running.md](running.md) says what holds for every command, with the exit codes, and [json.md](json.md) what is printed with `--json`.
"""


def marked(text):
    """Running text for Markdown: flags, variables and files as code, other pages as links."""
    text = re.sub(r"([|*<>\\])", r"\\\1", text)
    text = re.sub(r"(?<![\w/`-])(--[a-z][a-z-]+|(?:SNAPSYNC|AWS)_[A-Z_0-9]+|snapsync_[a-z_]+)(?![\w`])", r"`\1`", text)
    return re.sub(r"\bdocs/([a-z-]+\.md)", r"[\1](\1)", text)


def markdown(words, command, reports):
    """The part of the page of all commands that is about one of them."""
    name = " ".join(words[1:])
    lines = ["## `snapsync %s`" % name, "", marked(command["abstract"])]
    sections = parts(command.get("discussion"))
    text = "\n".join(sections[0][1]).strip("\n")
    lines += ["", marked(text)] if text else []
    lines += ["", "```console", "snapsync " + " ".join([name] + typed(command)), "```"]
    rows = []
    for argument in shown(command):
        text = argument.get("abstract", "")
        if argument.get("allValues"):
            text += " Values: %s." % ", ".join(argument["allValues"])
        value = "<%s>" % argument["valueName"]
        flags = ["-" + each["name"] if each["kind"] == "short" else "--" + each["name"] for each in argument.get("names", [])]
        flag = value if argument["kind"] == "positional" else ", ".join(sorted(flags, key=len, reverse=True)) + (" " + value if argument["kind"] == "option" else "")
        if flag == "--json":
            text += "".join(" [`%s`](json.md#%s)" % (report, anchor(report)) for report in reports_of(name, reports))
            rows.append("| `--json` | %s | |" % text.strip())
        else:
            rows.append("| `%s` | %s | %s |" % (flag.replace("|", "\\|"), marked(text.strip()), "`%s`" % argument["defaultValue"] if argument.get("defaultValue") else ""))
    lines += ["", "| flag | meaning | default |", "| --- | --- | --- |"] + rows if rows else []
    for heading, block in sections[1:]:
        if heading.startswith("EXAMPLE"):
            shown_lines = [line[2:] if line.startswith("  ") else line for line in block]
            lines += ["", "```sh"] + "\n".join(shown_lines).strip("\n").split("\n") + ["```"]
    return "\n".join(lines) + "\n"


def typed(command):
    """The words of a command line: those that may be left out in brackets."""
    needed = [argument for argument in shown(command) if not argument["isOptional"]]
    words = []
    for argument in needed:
        value = "<%s>%s" % (argument["valueName"], " ..." if argument["isRepeating"] else "")
        words.append(value if argument["kind"] == "positional" else "--%s %s" % (argument["preferredName"]["name"], value))
    return words + (["[flags]"] if len(needed) < len(shown(command)) else [])


def anchor(heading):
    return re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")


def owned_reports(command, headings):
    """The headings of the reports by command: each belongs to the command that it names most closely."""
    def names(command, words):
        for child in command.get("subcommands", []):
            yield " ".join(words + [child["commandName"]])
            yield from names(child, words + [child["commandName"]])
    known, reports = set(names(command, [])), {}
    for heading in headings:
        words = heading.split(" ")
        owner = next((name for end in range(len(words), 0, -1) if (name := " ".join(words[:end])) in known), None)
        reports.setdefault(owner, []).append(heading)
    return reports


def reports_of(name, reports):
    """The headings of the reports of a command; of a part of a command that has none, those of the whole."""
    return reports.get(name) or (reports_of(name.rpartition(" ")[0], reports) if " " in name else [])


def commands_page(command, reports):
    """The page of all commands that do something themselves."""
    def beneath(command, words):
        for child in command.get("subcommands", []):
            if child["commandName"] == "help":
                continue
            inner = words + [child["commandName"]]
            if child.get("subcommands"):
                yield from beneath(child, inner)
            else:
                yield markdown(inner, child, reports)
    return INTRODUCTION + "\n" + "\n".join(beneath(command, ["snapsync"]))


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: manual.py COMMAND FOLDER PAGE")
    command, folder, page_of_all = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
    described = json.loads(subprocess.run([command, "--experimental-dump-help"], stdout=subprocess.PIPE, check=True).stdout)["command"]
    version = subprocess.run([command, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    os.makedirs(folder, exist_ok=True)
    written = dict(pages(["snapsync"], described, version))
    for name, text in written.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../docs/json.md")) as file:
        reports = owned_reports(described, re.findall(r"^### `([^`]+ --json)`$", file.read(), re.M))
    with open(page_of_all, "w") as file:
        file.write(commands_page(described, reports))
    print("%d pages in %s, and %s" % (len(written), folder, page_of_all))


main()
