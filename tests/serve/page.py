#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of `kvolsim serve` in a real Chromium, for page.sh: its content, its buttons, and hostile texts, none of which becomes markup.
   page.py PORT [SCREENSHOT.png WIDTH HEIGHT light|dark]
   page.py PORT token WORD: a server with --token-file
   page.py PORT versus: a server with a variant beside the run
   page.py file:///FOLDER/index.html PORT: the page that --export made of the scenario that is served at 0 s"""
import json
import sys
import urllib.error
import urllib.request

from browser import Cases, Page
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

base = sys.argv[1] if sys.argv[1].startswith("file:") else "http://127.0.0.1:" + sys.argv[1]


def ask(path, method="GET", body=None, kind="application/json", accept="application/json"):
    request = urllib.request.Request(base + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                     headers={"Content-Type": kind, "Accept": accept})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.headers, answer.read().decode()


def own(path, **more):
    return json.loads(ask("/kvolsim/v1/" + path, **more)[1])


def own_of(run, path):
    return json.loads(ask(f"{run}/kvolsim/v1/{path}")[1])


def begin(width, height, scheme):
    return Page(sys.argv[1], width, height, scheme).browser


def wait_until_ready():
    WebDriverWait(browser, 60).until(lambda one: one.find_elements(By.CSS_SELECTOR, "body[data-ready]"))


if len(sys.argv) > 4:
    page = begin(int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    WebDriverWait(page, 60).until(lambda one: one.find_elements(By.CSS_SELECTOR, ".card, .crowd"))
    page.save_screenshot(sys.argv[2])
    page.quit()
    sys.exit()

cases = Cases()
case = cases.case


def until(what, name):
    try:
        WebDriverWait(browser, 30, ignored_exceptions=[StaleElementReferenceException, urllib.error.HTTPError]).until(lambda _: what())
        case(name, True)
    except Exception as error:  # the case says which
        case(name, False, repr(error) + " page says: " + browser.find_element(By.CSS_SELECTOR, ".said").text)


def click(selector):
    browser.execute_script("document.querySelector(arguments[0]).click()", selector)  # at once: the page may make it anew


def shows(selector, text):
    return any(text in (one.get_attribute("textContent") or "") for one in browser.find_elements(By.CSS_SELECTOR, selector))


def clock():
    return own("clock")


def chip(name):
    return f".chip[aria-label^='{name}:']"


if sys.argv[1].startswith("file:"):
    live = "http://127.0.0.1:" + sys.argv[2]
    browser = begin(1280, 900, "light")
    wait_until_ready()
    base = live
    ask("/kvolsim/v1/clock", "PUT", {"until": "9s"})
    until(lambda: len(browser.find_elements(By.CSS_SELECTOR, ".card")) == 3, "an exported page opens from disk")
    for text in ("5s", "2s", "9s", "0s"):
        field = browser.find_element(By.ID, "goal")
        field.clear()
        field.send_keys(text, Keys.ENTER)
        ask("/kvolsim/v1/past", "PUT", {"at": text})
        pods = {f"pod {one['name']}" for one in json.loads(ask("/past/kvolsim/v1/stage")[1])["objects"] if one["kind"] == "pod"}
        until(lambda: {one.get_attribute("aria-label").split(":")[0] for one in browser.find_elements(By.CSS_SELECTOR, ".chip[data-kind=pod]")} == pods,
              f"its pods at {text} are those of the server")
        if not pods:
            continue
        click(chip("pod first-0"))
        click("#tab-yaml")
        yaml = ask("/past/api/v1/namespaces/default/pods/first-0", accept="application/yaml")[1]
        until(lambda: browser.find_element(By.ID, "panel-yaml").get_attribute("textContent") == yaml, "... and the YAML of one, byte for byte")
        for tab, words in (("describe", "Name: "), ("explain", "first-0"), ("why", "first-0")):
            click("#tab-" + tab)
            until(lambda: shows("#panel-" + tab, words), "... its " + tab)
        click("#tab-sequence")
        until(lambda: browser.find_elements(By.CSS_SELECTOR, "#panel-sequence svg line.call"), "... and its messages")
        click("#tab-numbers")
        until(lambda: browser.find_elements(By.CSS_SELECTOR, ".figures h4"), "figures go with the time")
        click("#tab-details")
    click("#play")
    until(lambda: browser.find_element(By.CSS_SELECTOR, ".time").text > "0:00:00.500", "it plays")
    click("#to-start")
    until(lambda: browser.find_element(By.CSS_SELECTOR, ".time").text < "0:00:00.500", "... and goes back to its start")
    problems = [line for line in browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
    case("the browser's console has no complaint about the exported page", not problems, problems)
    browser.quit()
    cases.end()

if len(sys.argv) > 2 and sys.argv[2] == "versus":
    browser = begin(1280, 900, "light")
    wait_until_ready()
    click("#step-10")
    until(lambda: clock()["ns"] == 10e9 and own_of("/versus", "clock")["ns"] == 10e9, "both runs go on together")
    click("#tab-numbers")
    until(lambda: len(browser.find_elements(By.CSS_SELECTOR, ".distribution .run-0")) > 3 and len(browser.find_elements(By.CSS_SELECTOR, ".distribution .run-1")) > 3,
          "their distributions are in one picture")
    figures = [own_of(path, "figures") for path in ("", "/versus")]
    until(lambda: all(shows("figure li", f"{letter}: {one['stages']['pod-start']['count']} ") for letter, one in zip("AB", figures)), "... with their numbers")
    until(lambda: shows(".columns > div:nth-child(1)", "external-provisioner: ") and shows(".columns > div:nth-child(2)", "external-provisioner: "),
          "requests by client stand side by side")
    run = browser.find_element(By.ID, "run")
    run.send_keys(Keys.ARROW_DOWN)
    until(lambda: len(browser.find_elements(By.CSS_SELECTOR, ".card")) == 2, "the variant has the stage")
    click(".card .name")
    click("#power-off")
    until(lambda: all(one["faults"] for one in (own("faults"), own_of("/versus", "faults"))), "a fault is done to both")
    click("#back-10")
    until(lambda: own_of("/past", "clock")["ns"] == own_of("/versus/past", "clock")["ns"] < 1e9, "both go back")
    click("#step-10")
    until(lambda: own_of("/past", "clock")["ns"] == own_of("/versus/past", "clock")["ns"] >= 10e9, "... and forward from there")
    click("#branch")
    until(lambda: not browser.find_elements(By.CSS_SELECTOR, "body[data-past]") and clock()["ns"] == own_of("/versus", "clock")["ns"], "... and both become the present")
    click("#step-10")
    until(lambda: 20e9 <= clock()["ns"] == own_of("/versus", "clock")["ns"], "... and still go together")
    browser.quit()
    cases.end()

if len(sys.argv) > 2:
    browser = begin(1280, 900, "light")
    for word in ("wrong", sys.argv[3]):
        until(lambda: browser.find_elements(By.ID, "token"), "the page asks for the token" + (" again" if word != "wrong" else ""))
        field = browser.find_element(By.ID, "token")
        field.send_keys(word, Keys.ENTER)
        WebDriverWait(browser, 30).until(lambda _: not browser.find_elements(By.ID, "token") or browser.find_element(By.ID, "token") != field)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".card"), "... and with it shows the cluster")
    for path, accept in (("/", "application/json"), ("/kvolsim/v1/stage", "text/html"), ("/page/../api", "text/html"), ("/page/%2e%2e/api/v1/pods", "text/html")):
        try:
            ask(path, accept=accept)
            case(f"{path} as {accept} needs the token", False)
        except urllib.error.HTTPError as error:
            case(f"{path} as {accept} needs the token", error.code == 401, error.code)
    browser.quit()
    cases.end()

# The page itself.
headers, text = ask("/", accept="text/html")
policy = headers["Content-Security-Policy"] or ""
case("the policy allows scripts of this server only", "default-src 'self'" in policy and "unsafe" not in policy, policy)
etag = headers["ETag"]
try:
    urllib.request.urlopen(urllib.request.Request(base + "/", headers={"Accept": "text/html", "If-None-Match": etag}))
    case("a page that is known is not sent again", False)
except urllib.error.HTTPError as error:
    case("a page that is known is not sent again", error.code == 304, error.code)

# Texts that would be markup, in labels and annotations, where they may stand.
HOSTILE = ["<script>window.hurt=1</script>", "<img src=x onerror=window.hurt=1>", "\"><svg onload=window.hurt=1>", "javascript:window.hurt=1",
           "</pre><script>window.hurt=1</script>", "<iframe srcdoc='<script>parent.hurt=1</script>'>", "'onmouseover='window.hurt=1",
           "{{constructor.constructor('window.hurt=1')()}}", "${window.hurt=1}", "<style>*{display:none}</style>", "<a href=javascript:window.hurt=1>a</a>",
           "<math><mtext></form><form><mglyph><style></math><img src onerror=window.hurt=1>", "<body onload=window.hurt=1>", "<!--><img src=x onerror=window.hurt=1>-->",
           "<details open ontoggle=window.hurt=1>", "&lt;script&gt;window.hurt=1&lt;/script&gt;", "\u202e<script>window.hurt=1</script>",
           "<template><script>window.hurt=1</script></template>", "<input autofocus onfocus=window.hurt=1>", "<object data=javascript:window.hurt=1>"]
claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
         "metadata": {"name": "hostile", "annotations": {f"example.com/h{i}": word for i, word in enumerate(HOSTILE)}},
         "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "nothere", "resources": {"requests": {"storage": "1Gi"}}}}
ask("/api/v1/namespaces/default/persistentvolumeclaims", "POST", claim)

browser = begin(1280, 900, "light")
wait_until_ready()
until(lambda: shows(".box strong", "kube-apiserver"), "the API server has a box")
until(lambda: len(browser.find_elements(By.CSS_SELECTOR, ".card")) == 3, "each node has a card")
until(lambda: browser.find_elements(By.CSS_SELECTOR, chip("pvc hostile")), "an unbound claim stands without a place")

# The clock.
before = clock()["ns"]
click("#step-10")
until(lambda: clock()["ns"] >= before + 10e9, "+10s lets ten seconds pass")
until(lambda: browser.find_elements(By.CSS_SELECTOR, ".card " + chip("pod first-1")), "pods appear on nodes")
events = clock()["events"]
click("#step-event")
until(lambda: clock()["events"] > events, "a step fires an event")
click("#play")
until(lambda: clock()["speed"] == 1, "play: time passes")
click("#play")
until(lambda: clock()["speed"] == 0, "pause: it stands still")
goal = browser.find_element(By.ID, "goal")
goal.send_keys("pod/first-0 Ready", Keys.ENTER)
until(lambda: browser.find_elements(By.CSS_SELECTOR, ".card " + chip("pod first-0") + "[data-state=ready]"), "a jump to a condition")

# Back: the past is looked at, and left again, or gone on from.
present = clock()["ns"]
before = browser.find_element(By.CSS_SELECTOR, ".time").text
click("#back-10")
until(lambda: browser.find_elements(By.CSS_SELECTOR, "body[data-past]") and shows(".said", "") and json.loads(ask("/past/kvolsim/v1/clock")[1])["ns"] == max(0, present - int(10e9)),
      "ten seconds back")
until(lambda: browser.find_element(By.CSS_SELECTOR, ".time").text < before, "... which the clock shows")
until(lambda: clock()["ns"] == present and clock()["speed"] == 0, "... while the present stands still")
before = json.loads(ask("/past/kvolsim/v1/clock")[1])["ns"]
click("#step-event")
until(lambda: json.loads(ask("/past/kvolsim/v1/clock")[1])["ns"] > before, "the past goes on by steps")
click("#to-present")
until(lambda: not browser.find_elements(By.CSS_SELECTOR, "body[data-past]") and clock()["ns"] == present, "back to the present")
until(lambda: browser.find_elements(By.CSS_SELECTOR, ".card " + chip("pod first-0") + "[data-state=ready]"), "... and its objects")
click("#back-write")
until(lambda: browser.find_elements(By.CSS_SELECTOR, "body[data-past]") and 0 < json.loads(ask("/past/kvolsim/v1/clock")[1])["ns"] < present, "back to the write before")
line = browser.find_element(By.ID, "line")
line.send_keys(Keys.HOME)
until(lambda: json.loads(ask("/past/kvolsim/v1/clock")[1])["ns"] == 0, "the time line goes to the start, by keyboard")
browser.find_element(By.ID, "goal").clear()
browser.find_element(By.ID, "goal").send_keys("3s", Keys.ENTER)
until(lambda: json.loads(ask("/past/kvolsim/v1/clock")[1])["ns"] == 3e9, "a time in the past")
click("#branch")
until(lambda: clock()["ns"] == 3e9 and not browser.find_elements(By.CSS_SELECTOR, "body[data-past]"), "the run goes on from there")
until(lambda: not browser.find_elements(By.CSS_SELECTOR, ".chip[data-state=ready][data-kind=pod]"), "... with the objects of then")
browser.find_element(By.ID, "goal").clear()
browser.find_element(By.ID, "goal").send_keys("pod/first-0 Ready", Keys.ENTER)
until(lambda: browser.find_elements(By.CSS_SELECTOR, ".card " + chip("pod first-0") + "[data-state=ready]"), "... and into the same future")

# A click.
click(".card " + chip("pod first-0"))
until(lambda: shows("#panel-why", "first-0"), "a click says why")
click("#tab-yaml")
until(lambda: shows("#panel-yaml", "kind: Pod") and shows("#panel-yaml", "name: first-0"), "... the YAML")
click("#tab-describe")
until(lambda: shows("#panel-describe", "Name: ") and shows("#panel-describe", "first-0"), "... the description")
told = ask("/kvolsim/v1/explain?object=pod/first-0")[1]
click("#tab-explain")
until(lambda: browser.find_element(By.ID, "panel-explain").get_attribute("textContent") == told, "... the story, as explain tells it")
click("#tab-sequence")
until(lambda: browser.find_elements(By.CSS_SELECTOR, "#panel-sequence svg line.call"), "... and the messages as a picture")
click("#tab-story")
until(lambda: browser.find_elements(By.CSS_SELECTOR, ".story li"), "the story goes on")
click("#tab-numbers")
until(lambda: shows("#panel-numbers figcaption", "pod-start"), "figures of stages")

# Hands.
until(lambda: (click(chip("pvc hostile")), click("#tab-yaml"), shows("#panel-yaml", "onerror"))[-1], "hostile texts are shown")
case("... as texts", browser.execute_script("return window.hurt === undefined && !document.querySelector('#panel-yaml *')"))
click("#tab-describe")
until(lambda: shows("#panel-describe", "onerror"), "... and described")
case("... as texts, too", browser.execute_script("return window.hurt === undefined && !document.querySelector('#panel-describe *')"))
click("#delete")
until(lambda: browser.find_elements(By.CSS_SELECTOR, chip("pvc hostile") + "[data-state=deleting]"), "delete begins; time stands still")
click("#step-10")
until(lambda: not browser.find_elements(By.CSS_SELECTOR, chip("pvc hostile")), "... and goes on with time")
click("#tab-hands")
click("#apply")
until(lambda: "data" in [item["metadata"]["name"] for item in json.loads(ask("/api/v1/persistentvolumeclaims")[1])["items"]], "apply makes an object")
browser.execute_script("[...document.querySelectorAll('.box')].find(one => one.dataset.title === 'kube-scheduler').click()")
click("#crash")
until(lambda: any(fault["do"] == "crash" for fault in own("faults")["faults"]), "crash kills a component")
until(lambda: browser.find_elements(By.CSS_SELECTOR, ".box[data-title=kube-scheduler][data-state=down]"), "... and the stage shows it")
click(".box.driver")
click("#slow")
until(lambda: any(fault["do"] == "slow" for fault in own("faults")["faults"]), "a driver is slowed down")
click(".card .name")
click("#power-off")
until(lambda: any(fault["do"] == "power-off" for fault in own("faults")["faults"]), "the power is cut")
until(lambda: browser.find_elements(By.CSS_SELECTOR, ".card[data-state=off]"), "... and the node's card shows it")
until(lambda: len(browser.find_elements(By.CSS_SELECTOR, ".bands .fault")) == 3, "the line of time has the faults")
case("the session has what was done", all(word in ask("/kvolsim/v1/save")[1] for word in ("power-off", "slow", "crash", "hostile")))

# By keyboard alone: from the top to an object, its texts and back.
def focused():
    return browser.switch_to.active_element


browser.execute_script("document.querySelector('a, button, input, select, textarea').focus()")
case("the first stop leads to the details", focused().get_attribute("class") == "skip", focused().get_attribute("outerHTML"))
focused().send_keys(Keys.ENTER)
case("... which have the focus then", focused().get_attribute("role") == "tab", focused().get_attribute("outerHTML"))
focused().send_keys(Keys.ARROW_RIGHT)
case("... and arrows go from tab to tab", focused().get_attribute("id") == "tab-story", focused().get_attribute("id"))
for stop in range(80):  # backwards to the stage
    focused().send_keys(Keys.SHIFT, Keys.TAB)
    if focused().get_attribute("data-kind") == "pod":
        break
name = focused().get_attribute("aria-label")
focused().send_keys(Keys.ENTER)
until(lambda: focused().tag_name == "h2" and focused().text in name.replace(" ", "/", 1), "Enter on a pod goes to its details")
focused().send_keys(Keys.TAB)
case("... whose buttons come next", focused().tag_name == "button", focused().get_attribute("outerHTML"))
focused().send_keys(Keys.ESCAPE)
case("... and Escape goes back to the pod", focused().get_attribute("aria-label") == name, focused().get_attribute("outerHTML"))

# Chinese; no complaints of the browser.
case("every button has a name", browser.execute_script(
    "return [...document.querySelectorAll('button, input, select, textarea')].every(one => one.textContent.trim() || one.ariaLabel || one.labels?.length)"))
click("#language")
until(lambda: shows("#play", "播放"), "the page is in Chinese")
until(lambda: browser.find_elements(By.CSS_SELECTOR, ".card " + chip("pod first-1")), "... and shows the same objects")
click(".card " + chip("pod first-1"))
click("#tab-explain")
until(lambda: shows("#panel-explain", "已创建"), "... and tells stories in Chinese")
problems = [line for line in browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
case("the browser's console has no complaint", not problems, problems)
browser.quit()
cases.end()
