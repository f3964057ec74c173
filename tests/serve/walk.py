#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A new user's walk over the page of `kvolsim serve`; for walk.sh, in a folder for scratch files.
   walk.py KVOLSIM SCENARIO"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

from browser import Cases, Page

program, small = sys.argv[1:]
cases = Cases()


class Server:
    def __init__(self, scenario, port=0):
        self.process = subprocess.Popen([program, "serve", scenario, "--speed", "0", "--listen", f"127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True)
        self.port = next(re.search(r"http://127.0.0.1:(\d+)", line).group(1) for line in self.process.stdout if "http://" in line)

    def end(self):
        self.process.terminate()
        self.process.wait()


def scenario(name, spec, *objects):
    head = {"apiVersion": "kvolsim.io/v1", "kind": "Scenario", "metadata": {"name": name}, "spec": {"until": "10m", **spec}}
    pathlib.Path(f"{name}.yaml").write_text("\n---\n".join(json.dumps(one) for one in (head, *objects)))
    return f"{name}.yaml"


def claim(name, namespace, storage_class):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace},
            "spec": {"storageClassName": storage_class, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


def pod(name, claim_name):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim_name}}]}}


def open_page(server):
    page = Page(server.port)
    cases.case("the page comes up", page.wait(lambda: page.find("body[data-ready]")))
    return page


def find(page, text):
    page.browser.execute_script("const find = document.querySelector('#find'); find.value = arguments[0]; find.dispatchEvent(new Event('change'))", text)


def tab_says(page, tab, *words):
    page.click(f"#tab-{tab}")
    return page.wait(lambda: all(word in page.text(f"#panel-{tab}") for word in words))


def has_no_complaint(page, name):
    problems = [line for line in page.browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
    cases.case(f"{name}: the browser's console has no complaint", not problems, problems)


# ---- Objects of one name in two namespaces ----
twins = scenario("twins", {"nodes": [{"name": "node-%d", "count": 2}], "drivers": [{"name": "csi.lab.example"}]},
                 {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "lab"}, "provisioner": "csi.lab.example"},
                 {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "lazy"}, "provisioner": "csi.lab.example",
                  "volumeBindingMode": "WaitForFirstConsumer"},
                 *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("bank", "shop")),
                 claim("data", "bank", "lazy"), claim("data", "shop", "lab"))
server = Server(twins)
page = open_page(server)
page.click("#step-10")
page.wait(lambda: page.ask("/kvolsim/v1/clock")["ns"] == 10**10)
for space, has, never, message in (("shop", "CreateVolume", "WaitForFirstConsumer", "CreateVolume"), ("bank", "WaitForFirstConsumer", "CreateVolume", "No component")):
    find(page, f"pvc/data -n {space}")
    cases.case(f"{space}: a claim is found in its namespace", page.wait(lambda: page.text("#side h2") .startswith(f"pvc/data -n {space}")), page.text("#side h2"))
    cases.case(f"{space}: its story is its own", tab_says(page, "explain", has) and never not in page.text("#panel-explain"), page.text("#panel-explain"))
    cases.case(f"{space}: its messages are its own", tab_says(page, "sequence", message) and never not in page.text("#panel-sequence"), page.text("#panel-sequence"))
    cases.case(f"{space}: its YAML is its own", tab_says(page, "yaml", f"namespace: {space}"), page.text("#panel-yaml"))
has_no_complaint(page, "twins")

# ---- The server goes, and another one comes in its place ----
port = server.port
server.end()
cases.case("the page says that the server is gone", page.wait(lambda: page.find("body[data-lost]") and "does not answer" in page.text(".said")), page.text(".said"))
page.click("#step-10")
cases.case("... also to those who press a button", page.wait(lambda: "does not answer" in page.text(".said")), page.text(".said"))
server = Server(small, port)
cases.case("... and finds the next one", page.wait(lambda: not page.find("body[data-lost]") and len(page.find(".card")) == 3), page.text(".said"))
cases.case("... with its name", page.wait(lambda: page.text(".scenario") == "small" and page.browser.title.startswith("small")), page.text(".scenario"))
page.click("#step-10")
cases.case("... whose time goes on", page.wait(lambda: page.find(".card .chip[data-kind=pod]")))
page.click("#back-10")
page.wait(lambda: page.find("body[data-past]"))
server.end()
page.wait(lambda: page.find("body[data-lost]"))
server = Server(small, port)
cases.case("a server that goes while the past is looked at leaves no past behind",
           page.wait(lambda: not page.find("body[data-lost]") and not page.find("body[data-past]") and page.text(".time") == "0:00:00.000"), page.text(".time"))
page.close()
server.end()

# ---- A report of a run links the page that was exported beside it ----
if shutil.which("gnuplot"):
    for arguments in (["run", small, "--out", "run"], ["serve", small, "--export", "run/page"], ["report", "run"]):
        subprocess.run([program, *arguments], check=True, stdout=subprocess.DEVNULL)
    page = Page(pathlib.Path("run/report.html").resolve().as_uri())
    page.click("a[href='page/index.html']")
    cases.case("the link of a report leads to the exported page", page.wait(lambda: page.find("body[data-ready]") and len(page.find(".card")) == 3))
    page.write("#goal", "9s")
    page.click("#go")
    cases.case("... whose time can be moved", page.wait(lambda: page.text(".time") == "0:00:09.000" and page.find(".card .chip[data-kind=pod]")))
    cases.case("... and which offers nothing to do", not page.find("#tab-hands, #tab-lessons"))
    has_no_complaint(page, "exported")
    page.close()

# ---- Odd clusters ----
for name, spec, objects, shows in (
        ("no-drivers", {"nodes": [{"name": "node-%d", "count": 1}]}, [claim("data", "default", ""), pod("app", "data")], ".waiting .chip[aria-label^='pvc data:']"),
        ("empty", {"nodes": [{"name": "node-%d", "count": 1}]}, [], ".card"),
        ("controller-down", {"nodes": [{"name": "node-%d", "count": 1}], "drivers": [{"name": "csi.lab.example"}],
                             "faults": [{"at": "0s", "component": "kube-controller-manager", "do": "crash"}]},
         [{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "lab"}, "provisioner": "csi.lab.example"},
          claim("data", "default", "lab"), pod("app", "data")], ".box[data-title=kube-controller-manager][data-state=down]")):
    server = Server(scenario(name, spec, *objects))
    page = open_page(server)
    page.click("#tab-story")
    cases.case(f"{name}: a story without entries says so", page.wait(lambda: page.find(".story li") or page.find("#panel-story p:not([hidden])")))
    page.click("#step-10")
    cases.case(f"{name}: it is shown", page.wait(lambda: page.find(shows)), page.text(".stage"))
    for tab in ("story", "hands", "numbers", "lessons", "details"):
        page.click(f"#tab-{tab}")
    for box in range(len(page.find(".box, .chip, .card .name"))):
        page.browser.execute_script("document.querySelectorAll('.box, .chip, .card .name')[arguments[0]]?.click()", box)
    cases.case(f"{name}: all of it can be chosen", page.wait(lambda: page.text("#side h2") != ""), page.text("#side"))
    has_no_complaint(page, name)
    page.close()
    server.end()
cases.end()
