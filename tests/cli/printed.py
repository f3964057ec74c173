# SPDX-License-Identifier: GPL-3.0-or-later
"""printed.py FOLDER DOCUMENT... [-- DOCUMENT...]: do the commands print what the documents say?

A comment in a document names a command, and what it prints:

    <!-- printed by: kvolsim run scenarios/burst-100.yaml -->       the next block of code, line by line
    <!-- printed by: kvolsim run scenarios/burst-100.yaml
    pod-start 100 38.29 s -->                                       the other lines of the comment

The lines must be there in this order, each within a line of the output or of its paragraphs joined; "..." stands for anything,
and the width of blanks does not count. A line of a block that begins with "$" or is empty says nothing. Commands run in FOLDER, in
the order of the document, each once. In the documents behind "--" every block of code with times or shares that are not those of a
command or of YAML has such a comment, or stands below a line "Printed by `make ...`". The output is TAP.
"""
import os
import re
import subprocess
import sys

MARK = re.compile(r"^<!-- printed by: (.*?)( -->)?$")


def squeeze(text):
    return " ".join(text.split())


def block_after(lines, at):
    """The code block behind line at, without its fence."""
    while at < len(lines) and not lines[at].startswith(("    ", "```")):
        at += 1
    end = at + 1
    if at < len(lines) and lines[at].startswith("```"):
        while not lines[end].startswith("```"):
            end += 1
        return lines[at + 1:end]
    while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
        end += 1
    return lines[at:end]


def marks(document):
    """Yields (line number, command, claimed lines)."""
    with open(document, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines):
        mark = MARK.match(line)
        if mark is None:
            continue
        if mark[2]:
            claimed = block_after(lines, number + 1)
        else:
            end = next(i for i in range(number + 1, len(lines)) if lines[i].endswith(" -->"))
            claimed = [text.removesuffix(" -->") for text in lines[number + 1:end + 1]]
        yield number + 1, mark[1], [squeeze(text) for text in claimed if text.strip() and not text.strip().startswith("$")]


OUTPUT = re.compile(r"\d ?(s|ms|%)( |$)")
INPUT = re.compile(r"\s*(\$ |build/|kvolsim |kubectl |make |[-#{]|[\w.\[\]\"]+: )")


def unmarked(document):
    """The first line of output in a block without a comment, or None."""
    with open(document, encoding="utf-8") as file:
        lines = file.read().split("\n")
    fenced = marked = is_comment = False
    for number, line in enumerate(lines):
        if line.startswith("```"):
            fenced = not fenced
        is_code = fenced or (line.startswith("    ") and not re.match(r" *([-*]|\d+\.) ", line))
        if line.startswith("<!-- printed by: ") or is_comment:
            marked = True
            is_comment = not line.endswith("-->")
        elif line.strip() and not is_code and not line.startswith("```"):
            marked = line.startswith("Printed by `make ")  # measured, which no test does
        if is_code and not marked and OUTPUT.search(line) and not INPUT.match(line) and \
                (fenced or not lines[number - 1].startswith("- ")):
            return f"{number + 1}: {line}"
    return None


def missing(claimed, output):
    """The first claimed line that does not follow the one before in the output, or None."""
    at = 0
    for line in claimed:
        pattern = ".*?".join(re.escape(part.strip()).replace(r"\ ", " ") for part in line.split("..."))
        found = re.compile(pattern).search(output, at)
        if found is None:
            return line
        at = found.end()
    return None


def main():
    folder, documents, looked = sys.argv[1], sys.argv[2:], []
    if "--" in documents:
        looked = documents[documents.index("--") + 1:]
        documents = documents[:documents.index("--")]
    printed = {}
    n_cases = n_failed = 0
    for document in documents:
        for number, command, claimed in marks(document):
            if command not in printed:
                ended = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True)
                printed[command] = ended.stdout + ended.stderr
            lost = missing(claimed, squeeze(printed[command]))
            n_cases += 1
            is_right = bool(claimed) and lost is None
            n_failed += not is_right
            print(f"{'' if is_right else 'not '}ok {n_cases} - {os.path.basename(document)}:{number}: {command}", flush=True)
            if not is_right:
                print(f"# not printed: {lost}")
                print("".join(f"# {line}\n" for line in printed[command].split("\n")[:60]))
    for document in looked:
        line = unmarked(document)
        n_cases += 1
        n_failed += line is not None
        print(f"{'' if line is None else 'not '}ok {n_cases} - {document}: every output has its command{f': {line}' if line else ''}")
    print(f"1..{n_cases}")
    sys.exit(n_failed != 0 or n_cases == 0)


if __name__ == "__main__":
    main()
