#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of `kvolsim serve` by keyboard alone: its clock, all that can be done to a cluster, a lesson, two variants; and the session
   that this makes. For keyboard.sh.
   keyboard.py PORT VERSUS-PORT KVOLSIM FOLDER: a server, one with a variant, the program, and a folder for what the page saves"""
import json
import pathlib
import subprocess
import sys

from browser import Cases, Page
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

port, versus, program, folder = sys.argv[1:]
cases = Cases()
page = Page(port)
page.browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": folder})


def press(*keys):
    ActionChains(page.browser).send_keys(*keys).perform()


def is_at(selector):
    return page.browser.execute_script("return document.activeElement.matches(arguments[0])", selector)


def tab_to(selector, back=False):
    """Whether Tab leads to an element."""
    for _ in range(250):
        if is_at(selector):
            return True
        if back:
            ActionChains(page.browser).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
        else:
            press(Keys.TAB)
    return False


def from_top(selector):
    page.browser.execute_script("document.activeElement.blur(); getSelection().removeAllRanges(); window.focus()")
    return tab_to(".skip") and tab_to(selector)


def own(path):
    return page.ask("/kvolsim/v1/" + path)


def pods():
    return sorted(item["metadata"]["name"] for item in page.ask("/api/v1/pods")["items"])


def panel(which):
    """Goes to a panel at the side by arrows."""
    tab_to_side = from_top(".skip")
    press(Keys.ENTER)
    for _ in range(6):
        if is_at(f"#tab-{which}"):
            return tab_to_side
        press(Keys.ARROW_RIGHT)
    return False


def case(name, is_good):
    cases.case(name, is_good, page.text(".said") + " " + page.browser.switch_to.active_element.get_attribute("outerHTML")[:200])


def done(name, what):
    case(name, page.wait(what))


# ---- The clock ----
page.wait(lambda: page.find("body[data-ready]"))
case("Tab leads to the step of ten seconds", from_top("#step-10"))
press(Keys.ENTER)
done("... and Enter takes it", lambda: own("clock")["ns"] == 10 * 10**9)
case("Tab leads to a jump", tab_to("#goal"))
press("pod/web-2 Ready", Keys.ENTER)
done("... to a condition", lambda: own("clock")["ns"] > 10 * 10**9 and page.find(".chip[aria-label='pod web-2: ready']"))
case("Tab leads to the speed", from_top("#speed"))
press(Keys.ARROW_DOWN)
tab_to("#play", back=True)
press(Keys.SPACE)
done("... and to play", lambda: own("clock")["speed"] == 2)
press(Keys.SPACE)
done("... and pause", lambda: own("clock")["speed"] == 0)
present = own("clock")["ns"]
tab_to("#line")
press(Keys.HOME)
done("the line of time leads into the past", lambda: page.find("body[data-past]"))
case("Tab leads back to the present", tab_to("#to-present"))
press(Keys.ENTER)
done("... which is as it was", lambda: not page.find("body[data-past]") and own("clock")["ns"] == present)

# ---- Hands ----
case("Tab leads to a StatefulSet", from_top(".chip[data-kind=statefulset]"))
press(Keys.ENTER)
case("... and to its replicas", tab_to("#replicas"))
press(Keys.BACKSPACE, "4")
tab_to("#scale")
press(Keys.ENTER)
done("scale", lambda: page.ask("/apis/apps/v1/namespaces/default/statefulsets/web")["spec"]["replicas"] == 4)
from_top("#step-10")
press(Keys.ENTER)
done("... makes a pod", lambda: "web-3" in pods())
case("Tab leads to a pod", from_top(".chip[aria-label^='pod web-3:']"))
press(Keys.ENTER)
tab_to("#delete")
press(Keys.ENTER)
done("delete", lambda: any("delete" in item for item in own("marks")["actions"]) or "delete" in page.ask_text("/kvolsim/v1/save"))
press(Keys.ESCAPE)
case("Tab leads to a node", from_top(".card:last-child .name"))
press(Keys.ENTER)
tab_to("#drain")
press(Keys.ENTER)
done("drain", lambda: page.find(".card:last-child[data-state=cordoned]") or "drain" in page.ask_text("/kvolsim/v1/save"))
case("Tab leads to another node", from_top(".card:first-child .name"))
press(Keys.ENTER)
tab_to("#power-off")
press(Keys.ENTER)
done("cut the power", lambda: any(one["do"] == "power-off" for one in own("faults")["faults"]))
case("Tab leads to a component", from_top(".box[data-title=kube-scheduler]"))
press(Keys.ENTER)
tab_to("#crash")
press(Keys.ENTER)
done("crash a component", lambda: any(one["do"] == "crash" for one in own("faults")["faults"]))
case("Tab leads to a driver", from_top(".box.driver"))
press(Keys.ENTER)
tab_to("#slow")
press(Keys.ENTER)
done("slow a driver down", lambda: any(one["do"] == "slow" for one in own("faults")["faults"]))
case("arrows lead to what can be done", panel("hands"))
tab_to("#manifest")
ActionChains(page.browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).perform()
press('{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "by-hand"}, '
      '"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}')
tab_to("#apply")
press(Keys.ENTER)
done("apply YAML", lambda: "by-hand" in [item["metadata"]["name"] for item in page.ask("/api/v1/persistentvolumeclaims")["items"]])
from_top("#step-10")
press(Keys.ENTER)
done("time goes on", lambda: page.wait(lambda: page.find(".chip[aria-label^='pvc by-hand:']") or
                                       page.ask("/api/v1/namespaces/default/persistentvolumeclaims/by-hand")["status"]["phase"] == "Bound"))

# ---- The session ----
panel("hands")
tab_to("#save")
press(Keys.ENTER)
file = pathlib.Path(folder) / "session.yaml"
done("the session is saved", lambda: file.exists() and file.read_text().rstrip().endswith("}"))
text = file.read_text()
for what, line in (("scale", '"replicas": 4'), ("delete", '"delete": {"kind": "Pod"'), ("drain", '"drain": {"node"'), ("cut power", "power-off"),
                   ("crash", "crash"), ("slow", "slow"), ("apply", "by-hand")):
    cases.case(f"... with a line of its own: {what}", any(line in one for one in text.split("\n")), text)
until = f"{own('clock')['ns']}ns"
here = pods()
found = subprocess.run([program, "get", "pods", str(file), "--at", until, "-o", "json"], capture_output=True, text=True)
again = sorted(item["metadata"]["name"] for item in json.loads(found.stdout)["items"]) if found.returncode == 0 else found.stderr
cases.case("the saved scenario runs, and has the same pods", again == here, (again, here))

# ---- A lesson ----
case("arrows lead to the lessons", panel("lessons"))
page.wait(lambda: page.find("#lesson option"))
tab_to("#lesson")
press(Keys.ARROW_DOWN)
page.wait(lambda: page.text("#panel-lessons h2") == own("lesson?lesson=2")["title"])
tab_to("#open-lesson")
press(Keys.ENTER)
done("a lesson is opened", lambda: own("lessons").get("open") == 2)
for k, question in enumerate(own("lesson?lesson=2")["questions"]):
    answer = page.ask("/kvolsim/v1/lesson/answer", "POST", {"lesson": "2", "question": k})["answer"]
    tab_to(f".question:nth-of-type({k + 1}) input")
    if question.get("choices"):
        press(Keys.SPACE)
        for _ in question["choices"]:
            if not is_at(f"input[value={json.dumps(answer)}]"):
                press(Keys.ARROW_DOWN)
    else:
        press(answer)
    press(Keys.ENTER)
    done(f"question {k + 1} is answered", lambda: "Right." in page.text(f".question:nth-of-type({k + 1}) .told"))
tab_to("#check-session")
press(Keys.ENTER)
done("the task is checked", lambda: "Not yet." in page.text(".task [role=status]"))
page.close()

# ---- Two variants ----
page = Page(versus)
page.wait(lambda: page.find("body[data-ready]"))
case("Tab leads to the choice of a variant", from_top("#run"))
press(Keys.ARROW_DOWN)
done("... which takes the stage", lambda: len(page.find(".card")) == 2)
from_top("#step-10")
press(Keys.ENTER)
done("both go on", lambda: own("clock")["ns"] == page.ask("/versus/kvolsim/v1/clock")["ns"] == 10**10)
case("arrows lead to the figures", panel("numbers"))
done("... of both", lambda: page.find(".distribution .run-1"))
page.close()
cases.end()
