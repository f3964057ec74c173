# SPDX-License-Identifier: GPL-3.0-or-later
"""manual.py KVOLSIM DOCUMENT...: are links and command lines of the documents good? Links of files and of headings lead somewhere; each
command line of kvolsim in a block of code has a command and options that --help lists, and scenarios that exist. The output is TAP."""
import functools
import os
import re
import subprocess
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"(?:^|[|;(] *|\$ )(?:build/)?kvolsim +([^|;#`]*)")
OPTION = re.compile(r"^--?[a-zA-Z][a-z-]*")


def slug(heading):
    """The anchor that a heading has on the web."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text.replace("`", "")).replace(" ", "-")


@functools.cache
def anchors(path):
    with open(path, encoding="utf-8") as file:
        return {slug(line.lstrip("#").strip()) for line in file if line.startswith("#")}


@functools.cache
def help_of(program, command):
    run = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=False)
    return run.stdout if run.returncode == 0 else None


def bad_links(document, text):
    for target in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.S)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(document), name)) if name else document
        if not os.path.exists(path):
            yield f"no such file: {target}"
        elif anchor and path.endswith(".md") and anchor not in anchors(path):
            yield f"no such heading: {target}"


def command_lines(text):
    """Yields (line number, words behind kvolsim) of blocks of code; a line that ends with a backslash goes on."""
    fenced, whole = False, ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    ") or whole:
            whole += line.strip()
            if whole.endswith("\\"):
                whole = whole[:-1] + " "
                continue
            for words in COMMAND.findall(whole):
                yield number, words.split()
            whole = ""


def bad_commands(program, text):
    for number, words in command_lines(text):
        if not words or words[0] in ("help", "--help", "--version") or not re.fullmatch(r"[a-z]+", words[0]):
            continue
        options = help_of(program, words[0])
        if options is None:
            yield f"line {number}: no such command: {words[0]}"
            continue
        for word in words[1:]:
            option = OPTION.match(word)
            if option and not re.search(rf"(^|[ ,]){re.escape(option[0])}([=, ]|$)", options, re.M) and not \
                    (word[1] != "-" and re.search(rf"^  {re.escape(word[:2])},", options, re.M)):
                yield f"line {number}: kvolsim {words[0]} has no {option[0]}"
            if re.fullmatch(r"scenarios/[\w/.-]+\.yaml", word) and not os.path.exists(word):
                yield f"line {number}: no such scenario: {word}"


def main():
    program, documents = sys.argv[1], sys.argv[2:]
    failed = 0
    for number, document in enumerate(documents, 1):
        with open(document, encoding="utf-8") as file:
            text = file.read()
        faults = [*bad_links(document, text), *bad_commands(program, text)]
        print(f"{'not ok' if faults else 'ok'} {number} - links and commands of {document}")
        for fault in faults:
            print(f"# {fault}")
        failed += bool(faults)
    print(f"1..{len(documents)}")
    sys.exit(failed > 0)


main()
