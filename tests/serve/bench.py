#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast `kvolsim serve` answers: gets while 50,000 pods start on 5,000 nodes at full speed; lists in pages of 500; 100 changes that
   1,000 watchers hear of. Without the program's serve: nothing.
   bench.py KVOLSIM [NODES PODS WATCHERS]
   bench.py KVOLSIM --churn [HOURS]: its memory while a pod with a claim comes and goes every four virtual seconds, for as long as
   twenty minutes at speed 60."""
import http.client
import json
import os
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import time

program = sys.argv[1]
churn_hours = int(sys.argv[3] if len(sys.argv) > 3 else 20) if "--churn" in sys.argv else 0
n_nodes, n_pods, n_watchers = (int(word) for word in ([] if churn_hours else sys.argv[2:5]) or (5000, 50000, 1000))
SCENARIO = f"""apiVersion: kvolsim.io/v1
kind: Scenario
metadata: {{name: serve-bench}}
spec:
  until: 1000h
  kubernetes: {{unlimitedQPS: true}}
  nodes: [{{count: {n_nodes}, name: "node-%d"}}]
  workload:
  - create:
      count: {n_pods}
      manifest: {{apiVersion: v1, kind: Pod, metadata: {{name: p, labels: {{app: a}}}},
                 spec: {{containers: [{{name: c, image: "i:1", resources: {{requests: {{cpu: 10m}}}}}}]}}}}
"""


def kilobytes(pid, name):
    return int(re.search(rf"{name}:\s*(\d+) kB", open(f"/proc/{pid}/status").read()).group(1))


def status(pid, name):
    return kilobytes(pid, name) // 1024


with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
    file.write(SCENARIO)
    file.flush()
    scenario = os.path.join(os.path.dirname(__file__), "churn.yaml") if churn_hours else file.name
    options = ["--speed", "0"] if churn_hours else ["--speed", "max", "--no-stories"]
    server = subprocess.Popen([program, "serve", scenario, "--listen", "127.0.0.1:0"] + options, stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    port = int(re.search(r"http://127.0.0.1:(\d+)", line).group(1))
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)


def ask(path, method="GET", body=None):
    connection.request(method, path, body, {"Accept": "application/json", "Content-Type": "application/merge-patch+json"})
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status < 300, text[:500]
    return text


def gets(count):
    """Returns: the median and the 99th percentile of a GET, in ms."""
    times = []
    for i in range(count):
        begin = time.perf_counter()
        ask(f"/api/v1/nodes/node-{i * 37 % n_nodes}")
        times.append((time.perf_counter() - begin) * 1000)
    times.sort()
    return times[count // 2], times[count * 99 // 100]


def churn():
    """Memory after the first hour, and what each pod that ever was has added since: without pages of the file for logs, which come and go."""
    first = anonymous = 0
    for hour in (1, churn_hours):
        ask("/kvolsim/v1/clock", "PUT", json.dumps({"until": f"{hour}h"}))
        first = first or status(server.pid, "VmRSS")
        anonymous = anonymous or kilobytes(server.pid, "RssAnon")
    last = status(server.pid, "VmRSS")
    print(f"serve_churn_first_hour {first} MiB\nserve_churn_hour_{churn_hours} {last} MiB")
    print(f"serve_churn_of_a_pod {(kilobytes(server.pid, 'RssAnon') - anonymous) / ((churn_hours - 1) * 900):.2f} KiB")


try:
    if churn_hours:
        churn()
        sys.exit(0)
    median, p99 = gets(1000)
    busy = json.loads(ask("/kvolsim/v1/clock"))
    assert not busy["isOver"]
    print(f"serve_get_median {median:.2f} ms\nserve_get_p99 {p99:.2f} ms")
    for _ in range(600):
        if len(json.loads(ask("/api/v1/pods?limit=1&fieldSelector=status.phase%3DPending"))["items"]) == 0 and \
           json.loads(ask("/api/v1/pods?limit=1"))["metadata"].get("remainingItemCount") == n_pods - 1:
            break
        time.sleep(1)
    for _ in range(2):
        begin, size, pages, token = time.perf_counter(), 0, 0, ""
        while True:
            text = ask("/api/v1/pods?limit=500" + ("&continue=" + token if token else ""))
            size, pages = size + len(text), pages + 1
            token = json.loads(text)["metadata"].get("continue")
            if not token:
                break
        seconds = time.perf_counter() - begin
    assert pages == (n_pods + 499) // 500
    print(f"serve_list_of_100_mb {seconds / size * 1e8:.2f} s")

    version = json.loads(ask("/api/v1/pods?limit=1"))["metadata"]["resourceVersion"]
    watchers = selectors.DefaultSelector()
    begin = time.perf_counter()
    for _ in range(n_watchers):
        watcher = socket.create_connection(("127.0.0.1", port), timeout=60)
        watcher.sendall(f"GET /api/v1/pods?watch=true&resourceVersion={version} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        watcher.setblocking(False)
        watchers.register(watcher, selectors.EVENT_READ)
    ask("/healthz")
    print(f"serve_watches_begun {time.perf_counter() - begin:.2f} s")
    changes = 100
    begin = time.perf_counter()
    for i in range(changes):
        ask(f"/api/v1/namespaces/default/pods/p-{i}", "PATCH", '{"metadata": {"labels": {"seen": "yes"}}}')
    seen = lost = 0
    while seen < changes * n_watchers and time.perf_counter() - begin < 120:
        for key, _ in watchers.select(1):
            text = key.fileobj.recv(1 << 20)
            seen += text.count(b'"type":"MODIFIED"')
            lost += text.count(b'"type":"ERROR"')
    seconds = time.perf_counter() - begin
    print(f"serve_watch_of_100000_events {seconds / seen * 1e5:.2f} s")
    print(f"serve_memory {status(server.pid, 'VmHWM')} MiB")
    assert seen >= changes * n_watchers and lost == 0
finally:
    server.terminate()
    server.wait()
