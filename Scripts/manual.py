#!/usr/bin/env python3
"""Writes the manual pages of the built command, one for each command, from what the command says of itself.

    Scripts/manual.py .build/debug/snapsync build/man

`make install` runs it. The parser's own plug-in breaks the lines of examples.
"""
import json
import os
import subprocess
import sys
import textwrap

SECTIONS = {"EXAMPLE": "EXAMPLES", "EXAMPLES": "EXAMPLES", "EXIT CODES": "EXIT STATUS"}
ENVIRONMENT = [("SNAPSYNC_DB", "The database, if none is given."), ("SNAPSYNC_LOCATION", "The location, if none is given."),
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
    """How an argument is typed: --zone NAME."""
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
    if any(argument["kind"] == "positional" and "SNAPSYNC_DB" in argument.get("abstract", "") for argument in shown(command)):
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


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: manual.py COMMAND FOLDER")
    command, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    described = json.loads(subprocess.run([command, "--experimental-dump-help"], stdout=subprocess.PIPE, check=True).stdout)["command"]
    version = subprocess.run([command, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    os.makedirs(folder, exist_ok=True)
    for name, text in pages(["snapsync"], described, version):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


main()
