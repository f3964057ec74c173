# SPDX-License-Identifier: GPL-3.0-or-later
"""figures.py FOLDER: does every figure in the prose of README and docs have a source?

A figure is a number with a unit of time, size or share. It is fine if a command prints it: it stands in a comment "printed by" of its
document, or in the block below one (tests/cli/printed.sh runs them). Else a row of figures.txt has it:

    DOCUMENT | TEXT | measured | COMMAND     TEXT is a heading, words with the figure, or * for the whole document. The section names the COMMAND that measures it,
                                             and the files that the COMMAND names exist, or the target of make
    DOCUMENT | TEXT | constant | FILE: WORDS the FILE has these WORDS
    DOCUMENT | TEXT | example  | WHY         nothing that kvolsim says: a question, or a number of somebody else's

Rows whose TEXT is gone fail, too. The output is TAP.
"""
import functools
import glob
import os
import re
import sys

UNITS = r"(?:s|ms|µs|ns|min|hours?|minutes?|seconds?|KB|MB|GB|KiB|MiB|GiB|%|M|times|bytes)"
FIGURE = re.compile(r"(?<![\w.,/-])\d[\d,.]*(?: |-)?" + UNITS + r"(?![\w/])")
MARK = re.compile(r"<!-- printed by: .*?-->(?:\s*(?:```.*?```|(?:\n? {4}[^\n]*\n)+))?", re.S)


def squeeze(text):
    return " ".join(text.split())


def depth(section):
    return len(re.match("#*", section)[0])


def paragraphs(text):
    """Yields (line number, heading, text of the section and of those above it, text) of each paragraph and table."""
    text = re.sub(r"<!--.*?-->", lambda match: "\n" * match[0].count("\n"), text, flags=re.S)
    text = re.sub(r"^```.*?^```", lambda match: match[0].replace("\n#", "\n #"), text, flags=re.M | re.S)
    sections = re.split(r"^(?=#+ )", text, flags=re.M)
    line = 1
    above = []
    for section in sections:
        heading = section.split("\n", 1)[0] if section.startswith("#") else ""
        above = [one for one in above if depth(one) < depth(section)] + [section]
        prose = re.sub(r"^```.*?^```", lambda match: "\n" * match[0].count("\n"), section, flags=re.M | re.S)
        prose = re.sub(r"^ {4}.*$", "", prose, flags=re.M)
        at = line
        for block in re.split(r"(\n\s*\n)", prose):
            if block.strip():
                yield at + len(block) - len(block.lstrip("\n")), heading, "".join(above), squeeze(block)
            at += block.count("\n")
        line += section.count("\n")


def is_printed(figure, printed):
    """Whether it is printed, or one that rounds to it."""
    number, unit = re.match(r"([\d.,]*\d)[ -]?(.*)", figure).groups()
    n_digits = len(number.partition(".")[2])
    return any(f"{float(other):.{n_digits}f}" == number for other in re.findall(rf"(?<![\w.,-])(\d+(?:\.\d+)?) ?{re.escape(unit)}(?!\w)", printed))


@functools.cache
def makefiles(folder):
    text = ""
    for file in glob.glob(os.path.join(folder, "Makefile.am")) + glob.glob(os.path.join(folder, "tests/*/Makefile*.am")):
        with open(file, encoding="utf-8") as opened:
            text += opened.read()
    return text


def broken(folder, kind, basis, section):
    """Why a row is no source, or None."""
    if kind == "example":
        return None if basis else "says not why"
    if kind == "constant":
        file, _, words = basis.partition(": ")
        with open(os.path.join(folder, file), encoding="utf-8") as opened:
            return None if words and words in squeeze(opened.read()) else f"{file} has no {words!r}"
    if kind != "measured":
        return f"{kind!r} is none of measured, constant, example"
    if basis not in squeeze(section):
        return f"its section does not name {basis!r}"
    target = re.match(r"make (?:-C build )?([\w-]+)", basis)
    if target is not None:
        rule = re.compile(rf"^{target[1]}:", re.M)
        return None if rule.search(makefiles(folder)) else f"there is no target {target[1]}"
    lost = [word for word in basis.split() if re.match(r"(?:tests|scripts|scenarios)/", word) and not os.path.exists(os.path.join(folder, word))]
    return f"{lost[0]} does not exist" if lost else None


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "tests/repo/figures.txt"), encoding="utf-8") as file:
        rows = [tuple(cell.strip() for cell in line.split(" | ")) for line in file if line.strip() and not line.startswith("#")]
    documents = ["README.md"] + sorted(f"docs/{name}" for name in os.listdir(os.path.join(folder, "docs")) if name.endswith(".md"))
    used, n_cases, failed = set(), 0, 0
    for document in documents:
        if document in ("docs/scenario-format.md", "docs/fields.md"):
            continue  # tables of fields with their defaults, which other tests compare with the code
        with open(os.path.join(folder, document), encoding="utf-8") as file:
            text = file.read()
        printed = squeeze(" ".join(match[0] for match in MARK.finditer(text)))
        complaints = []
        for number, heading, section, paragraph in paragraphs(text):
            for figure in FIGURE.finditer(re.sub(r"`[^`]*`", "", paragraph)):
                if is_printed(figure[0], printed):
                    continue
                sources = [row for row in rows if row[0] == document and
                           (row[1] in ("*", heading) or (figure[0] in row[1] and row[1] in paragraph))]
                used.update(sources)
                faults = [broken(folder, row[2], row[3], section) for row in sources]
                if not sources:
                    complaints.append(f"{document}:{number}: no source of {figure[0]!r}: {paragraph[max(0, paragraph.find(figure[0]) - 60):][:120]}")
                elif all(faults):
                    complaints.append(f"{document}:{number}: {figure[0]!r}: {faults[0]}")
        n_cases += 1
        failed += bool(complaints)
        print(f"{'not ' if complaints else ''}ok {n_cases} - {document}: every figure has its source")
        print("".join(f"# {complaint}\n" for complaint in complaints), end="")
    stale = [row for row in rows if row not in used]
    n_cases += 1
    failed += bool(stale)
    print(f"{'not ' if stale else ''}ok {n_cases} - figures.txt: every row has its figure")
    print("".join(f"# {' | '.join(row)}\n" for row in stale), end="")
    print(f"1..{n_cases}")
    sys.exit(failed != 0)


main()
