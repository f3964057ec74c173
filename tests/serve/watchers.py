#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long one client waits for a GET while others begin watches that list all pods first, and while those hear of changes.
   watchers.py KVOLSIM [WATCHERS PODS]"""
import http.client
import multiprocessing
import os
import re
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import time

program = sys.argv[1]
n_watchers, n_pods = (int(word) for word in sys.argv[2:4] or (2000, 500))
SCENARIO = f"""apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {{name: watchers}}
spec:
  until: 1000h
  kubernetes: {{unlimitedQPS: true}}
  nodes: [{{count: 50, name: "node-%d"}}]
  workload:
  - create:
      count: {n_pods}
      manifest: {{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: [{{name: c, image: "i:1"}}]}}}}
"""


def watch(port, news):
    """Begins all watches, reads their initial lists, then whatever comes; tells how many bytes each quarter of a second."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, n_watchers + 200), hard))
    ready, told = selectors.DefaultSelector(), time.monotonic()
    for _ in range(n_watchers):
        one = socket.create_connection(("127.0.0.1", port), timeout=60)
        one.sendall(b"GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        one.setblocking(False)
        ready.register(one, selectors.EVENT_READ)
    events = 0
    while True:
        for key, _ in ready.select(0.25):
            data = key.fileobj.recv(1 << 20)
            assert data, "a watch has ended"
            events += data.count(b'{"type":')
        if time.monotonic() - told > 0.25:
            news.put(events)
            told = time.monotonic()


def gets(connection, until):
    """Seconds of each GET, until @until() says so."""
    times = []
    while not until():
        begin = time.perf_counter()
        connection.request("GET", "/api/v1/nodes/node-7")
        assert len(connection.getresponse().read()) > 100
        times.append(time.perf_counter() - begin)
        time.sleep(0.002)
    return sorted(times)


def tell(name, times):
    print(f"serve_get_p99_{name} {times[len(times) * 99 // 100] * 1e3:.1f} ms")
    print(f"serve_get_p50_{name} {times[len(times) // 2] * 1e3:.1f} ms")


with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
    file.write(SCENARIO)
    file.flush()
    server = subprocess.Popen([program, "serve", file.name, "--listen", "127.0.0.1:0", "--speed", "0", "--at", "60s", "--no-stories"],
                              stdout=subprocess.PIPE, text=True)
    port = int(re.search(r"http://127.0.0.1:(\d+)", server.stdout.readline()).group(1))
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
other = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
news = multiprocessing.Queue()
child = multiprocessing.Process(target=watch, args=(port, news), daemon=True)
begin, seen = time.perf_counter(), 0


def heard(wanted):
    global seen
    while not news.empty():
        seen = news.get()
    assert time.perf_counter() - begin < 600, f"{seen} events of {wanted}"
    return seen >= wanted


changes = 0


def change_until(wanted):
    """A change between two GETs, fifty in all."""
    global changes
    if changes < 50:
        changes += 1
        other.request("PATCH", f"/api/v1/namespaces/default/pods/p-{changes}", '{"metadata": {"labels": {"x": "y"}}}',
                      {"Content-Type": "application/merge-patch+json"})
        answer = other.getresponse()
        text = answer.read()
        assert answer.status == 200, text
    return heard(wanted)


child.start()
tell("while_watches_begin", gets(connection, lambda: heard(n_watchers * n_pods)))
print(f"serve_watches_with_lists {time.perf_counter() - begin:.2f} s")
other.request("PUT", "/kvolsim/v1/clock", '{"speed": 1}')
other.getresponse().read()
tell("while_pods_change", gets(connection, lambda: change_until(n_watchers * (n_pods + 50))))
print("serve_watchers_memory", int(re.search(r"VmHWM:\s*(\d+) kB", open(f"/proc/{server.pid}/status").read()).group(1)) // 1024, "MiB")
child.terminate()
server.terminate()
server.wait()
