#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of `kvolsim serve` in a real Firefox, which is driven by WebDriver BiDi, its own protocol; for firefox.sh.
   firefox.py PORT FILE: the served page, and an exported one"""
import json
import subprocess
import sys
import tempfile
import time

import websocket

port, exported = sys.argv[1:]
profile = tempfile.mkdtemp(prefix="firefox.", dir=".")
firefox = subprocess.Popen(["firefox-esr", "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0", "about:blank"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
address = next(line.split()[-1] for line in firefox.stderr if "WebDriver BiDi listening on" in line)
channel = websocket.create_connection(address + "/session", timeout=60, suppress_origin=True)
n_cases = n_failed = n_sent = 0
complaints = []


def send(method, **parameters):
    global n_sent
    n_sent += 1
    channel.send(json.dumps({"id": n_sent, "method": method, "params": parameters}))
    while True:
        answer = json.loads(channel.recv())
        if answer.get("method") == "log.entryAdded" and answer["params"]["level"] in ("error", "warn"):
            complaints.append(answer["params"]["text"])
        if answer.get("id") == n_sent:
            assert answer["type"] == "success", answer
            return answer["result"]


def run(script):
    answer = send("script.evaluate", expression=script, target={"context": context}, awaitPromise=True)
    return answer.get("result", answer.get("exceptionDetails")).get("value")


def case(name, script):
    """Waits until @script, an expression, is true."""
    global n_cases, n_failed
    n_cases += 1
    for _ in range(150):
        if run(f"Boolean({script})") is True:
            print("ok", n_cases, "-", name)
            return
        time.sleep(0.2)
    n_failed += 1
    print("not ok", n_cases, "-", name)


def click(selector):
    run(f"document.querySelector({json.dumps(selector)}).click()")


def open_page(url):
    send("browsingContext.navigate", context=context, url=url, wait="complete")


send("session.new", capabilities={})
send("session.subscribe", events=["log.entryAdded"])
context = send("browsingContext.getTree")["contexts"][0]["context"]
open_page(f"http://127.0.0.1:{port}/")
case("the served page draws the nodes", "document.querySelectorAll('.card').length === 3")
click("#step-10")
case("time passes", "document.querySelectorAll('.card .chip[data-kind=pod]').length === 3")
click(".card .chip[data-kind=pod]")
click("#tab-yaml")
case("a click shows the YAML", "document.querySelector('#panel-yaml').textContent.includes('kind: Pod')")
click("#tab-sequence")
case("... and the messages", "document.querySelector('#panel-sequence svg line.call')")
click("#tab-numbers")
case("figures have pictures", "document.querySelector('.distribution .run-0')")
click("#back-10")
case("the past can be looked at", "document.body.dataset.past && !document.querySelector('.chip[data-kind=pod]')")
click("#to-present")
case("... and left", "!document.body.dataset.past && document.querySelector('.chip[data-kind=pod]')")
open_page(f"file://{exported}")
case("an exported page opens from disk", "document.querySelectorAll('.card').length === 3")
click("#step-10")
case("its time can be moved", "document.querySelectorAll('.card .chip[data-kind=pod]').length === 3")
click(".card .chip[data-kind=pod]")
click("#tab-yaml")
case("... and its objects looked at", "document.querySelector('#panel-yaml').textContent.includes('kind: Pod')")
n_cases += 1
n_failed += bool(complaints)
print("not ok" if complaints else "ok", n_cases, "- the browser has no complaint")
for text in complaints:
    print("#", text)
firefox.terminate()
firefox.wait()
print(f"1..{n_cases}")
sys.exit(n_failed > 0)
