#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares what the page shows at ten instants of a scenario with kvolsim get, why and explain of the same instant; for shown.sh.
   shown.py PORT KVOLSIM SCENARIO"""
import concurrent.futures
import json
import re
import subprocess
import sys

from browser import Cases, Page

port, program, scenario = sys.argv[1:]
name = re.sub(r".*/|\.yaml$", "", scenario)
FIRST = [1500, 3000, 5000, 9000, 15000]  # ms; the other five are spread over the rest of the run
cases = Cases()


def run(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def state_of(pod):
    status, is_gone = pod.get("status", {}), pod["metadata"].get("deletionTimestamp")
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions", []))
    return ("being deleted" if is_gone else "done" if status.get("phase") == "Succeeded" else "failed" if status.get("phase") == "Failed" else
            "ready" if ready else "without a node" if not pod["spec"].get("nodeName") else "not ready" if status.get("phase") == "Running" else "starting")


def look(instant):
    """What the program says: pods with their node and state, claims without a volume, nodes; and texts about a pod or a claim in trouble."""
    items = json.loads(run("get", "pods,pvc,nodes", scenario, "--at", instant, "-A", "-o", "json"))["items"]
    pods = {one["metadata"]["name"]: (one["spec"].get("nodeName") if state_of(one) != "without a node" else None, state_of(one))
            for one in items if one["kind"] == "Pod"}
    claims = {one["metadata"]["name"] for one in items if one["kind"] == "PersistentVolumeClaim" and
              (one["status"]["phase"] != "Bound" or one["metadata"].get("deletionTimestamp"))}
    nodes = {one["metadata"]["name"]: (any(c["type"] == "Ready" and c["status"] == "True" for c in one["status"]["conditions"]),
                                       one["spec"].get("unschedulable", False)) for one in items if one["kind"] == "Node"}
    about = next((f"pod/{pod}" for pod, (_, state) in pods.items() if state not in ("ready", "done")), None) or next(
        (f"{'pod' if one['kind'] == 'Pod' else 'pvc'}/{one['metadata']['name']}" for one in items if one["kind"] != "Node"), None)
    why = run("why", scenario, about, "--at", instant) if about else ""
    story = run("explain", scenario, about, "--at", instant, "--lang", "en") if about else ""
    return pods, claims, nodes, about, why, story


def elements(page):
    """Pods by name with the card that they are in and their state; claims without a place; nodes with what their cards say."""
    return page.browser.execute_script("""
        const said = (chip) => chip.getAttribute('aria-label').split(': ');
        const pods = {}, claims = [], nodes = {};
        for (const chip of document.querySelectorAll('.chip[data-kind=pod]')) {
          const card = chip.closest('.card')?.querySelector('.name').textContent.split(' · ')[0] ?? null;
          pods[said(chip)[0].slice(4)] = [card, said(chip)[1]];
        }
        for (const chip of document.querySelectorAll('.waiting .chip[data-kind=pvc]'))
          claims.push(said(chip)[0].slice(4));
        for (const card of document.querySelectorAll('.card'))
          nodes[card.querySelector('.name').textContent.split(' · ')[0]] = card.dataset.state;
        return [pods, claims, nodes, Number(/\\d+/.exec(document.querySelector('.waiting .quiet').textContent)?.[0] ?? 0)];""")


def same_objects(page, pods, claims, nodes):
    shown, shown_claims, cards, hidden = elements(page)
    waiting = {pod for pod, (node, _) in pods.items() if node is None}
    placed = {pod: list(where) for pod, where in pods.items() if pod not in waiting}
    is_same = {pod: where for pod, where in shown.items() if where[0]} == placed and set(cards) == set(nodes)
    # What has no place is listed up to sixty; the rest is counted.
    known = set(shown) - set(placed)
    is_same = is_same and known <= waiting and set(shown_claims) <= claims and (hidden > 0 or (known == waiting and set(shown_claims) == claims))
    return is_same and all((cards[node] in ("ready", "cordoned") or not is_ready or cards[node] in ("off", "down", "hung", "cut-off")) and
                           (is_ready or cards[node] not in ("ready", "cordoned")) and (cards[node] != "cordoned" or is_cordoned)
                           for node, (is_ready, is_cordoned) in nodes.items())


def lines(text):
    return text.strip().split("\n")


def tells_the_same(shown, story):
    """The page does not know what comes later, so the program's story may have more; waits end with it, and a step that is being taken."""
    told = set(lines(story))
    timed = [line for line in lines(shown) if re.match(r"\s+\d", line)]
    return all(line in told for line in timed[:-1])


def clock_text(ms):
    return f"{ms // 3600000}:{ms // 60000 % 60:02d}:{ms // 1000 % 60:02d}.{ms % 1000:03d}"


page = Page(port, 2560, 1300)
page.wait(lambda: page.find("body[data-ready]"))
end = page.ask("/kvolsim/v1/marks").get("end", 60 * 10**9) // 10**6
instants = FIRST + [FIRST[-1] + (end - FIRST[-1]) * k // 5 for k in (1, 2, 3, 4, 5)]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    truth = list(pool.map(look, [f"{ms}ms" for ms in instants]))
for ms, (pods, claims, nodes, about, why, story) in zip(instants, truth):
    instant = f"{ms} ms"
    page.ask("/kvolsim/v1/clock", "PUT", {"until": f"{ms}ms"})
    page.wait(lambda: page.text(".time") == clock_text(ms))
    cases.case(f"{name} at {instant}: pods, claims and nodes are those of get", page.wait(lambda: same_objects(page, pods, claims, nodes)),
               (elements(page), pods, claims, nodes))
    if about is None:
        continue
    page.browser.execute_script("const find = document.querySelector('#find'); find.value = arguments[0]; find.dispatchEvent(new Event('change'))", about)
    page.click("#tab-why")
    wanted = [line for line in lines(why) if not line.startswith("next: ")]
    cases.case(f"{name} at {instant}: {about} waits as why says", page.wait(lambda: lines(page.text("#panel-why")) == wanted), (page.text("#panel-why"), why))
    page.click("#tab-explain")
    page.wait(lambda: page.text("#panel-explain") != "")
    cases.case(f"{name} at {instant}: its story is that of explain", page.wait(lambda: page.text("#panel-explain") ==
               page.ask_text(f"/kvolsim/v1/explain?object={about}") and tells_the_same(page.text("#panel-explain"), story)), (page.text("#panel-explain"), story))
problems = [line for line in page.browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
cases.case(f"{name}: the browser's console has no complaint", not problems, problems)
page.close()
sys.exit(cases.n_failed > 0)
