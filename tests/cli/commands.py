# SPDX-License-Identifier: GPL-3.0-or-later
"""commands.py FOLDER DOCUMENT...: does every command line of kvolsim in the documents run?

Blocks of code whose first line is a command are run in FOLDER, where build/kvolsim and scenarios/ are found, in the order of the
document. A line runs well if it ends with 0, or with 3 if an expectation of the scenario is not met. A server (`serve`, `csi`) has to
print its address, and to go at Ctrl-C; it gets a port or socket of its own. Not run: what a comment "printed by" names (printed.py runs
it), a synopsis with alternatives, and a block with a loop of servers (tests/csi/socket/validate.sh has one). The output is TAP.
"""
import os
import re
import select
import signal
import subprocess
import sys
import time

from printed import marks

COMMAND = re.compile(r"(build/)?kvolsim |printf ")
SERVER = re.compile(r"(build/)?kvolsim (serve|csi) ")
SYNOPSIS = re.compile(r"DIR|\[--")
SERVER_SECONDS = 60  # until it has printed its address


def command_lines(document):
    """Yields (line number, command line) of blocks of code that begin with one; a line that ends with a backslash goes on."""
    with open(document, encoding="utf-8") as file:
        text = file.read()
    for block in re.finditer(r"(?:^    .*\n)+", text, re.M):
        number = text.count("\n", 0, block.start()) + 1
        lines = re.sub(r" *\\\n +", lambda gap: " \0", block[0]).splitlines()
        if COMMAND.match(lines[0].strip()) and not re.search(r"^    for ", block[0], re.M):
            for line in lines:
                if COMMAND.match(line.strip()):
                    yield number, re.sub(r" +#.*", "", line.strip().replace("\0", ""))
                number += 1 + line.count("\0")


def run(line, folder):
    """The fault of a command line, or None."""
    ended = subprocess.run(["bash", "-c", line], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                           check=False)
    return None if ended.returncode in (0, 3) else f"ends with {ended.returncode}: {ended.stderr[-2000:]}"


def serve(line, folder):
    """The fault of a server, or None."""
    line = line.removesuffix("&").replace("unix:///tmp/csi.sock", f"unix://{folder}/csi.sock")
    if " serve " in line:
        line += " --listen 127.0.0.1:0"
    with subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as server:
        printed, end = b"", time.monotonic() + SERVER_SECONDS
        while not re.search(rb"http://|csi\.sock", printed) and time.monotonic() < end:
            if select.select([server.stdout], [], [], 1)[0]:
                read = os.read(server.stdout.fileno(), 4096)
                if not read:
                    break
                printed += read
        server.send_signal(signal.SIGINT)
        try:
            status = server.wait(SERVER_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            return "does not go at Ctrl-C"
    if not re.search(rb"http://|csi\.sock", printed):
        return f"prints no address: {printed.decode(errors='replace')[-2000:]}"
    return None if status in (0, 130) else f"ends with {status} at Ctrl-C"


def main():
    folder, documents = sys.argv[1], sys.argv[2:]
    printed = {command for document in documents for _, command, _ in marks(document)}
    n_cases = n_failed = 0
    for document in documents:
        for number, line in command_lines(document):
            if SYNOPSIS.search(line) or line.removeprefix("build/") in printed:
                continue
            start = time.monotonic()
            fault = serve(line, folder) if SERVER.match(line) else run(line, folder)
            n_cases += 1
            n_failed += fault is not None
            print(f"{'' if fault is None else 'not '}ok {n_cases} - {os.path.basename(document)}:{number}: {line}", flush=True)
            print(f"# {time.monotonic() - start:.1f} s")
            for text in (fault or "").splitlines():
                print(f"# {text}")
    print(f"1..{n_cases}")
    sys.exit(n_failed != 0 or n_cases == 0)


main()
