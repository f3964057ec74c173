#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Twenty hostile texts in every place of a cluster that takes a text, and in every field of the page: none becomes markup or runs; for
   markup.sh.
   markup.py PORT"""
import json
import sys
import urllib.error
import urllib.parse

from browser import Cases, Page

port = sys.argv[1]
cases = Cases()
HOSTILE = ["<script>window.hurt=1</script>", "<img src=x onerror=window.hurt=1>", "\"><svg onload=window.hurt=1>", "javascript:window.hurt=1",
           "</pre><script>window.hurt=1</script>", "<iframe srcdoc='<script>parent.hurt=1</script>'>", "'onmouseover='window.hurt=1",
           "{{constructor.constructor('window.hurt=1')()}}", "${window.hurt=1}", "<style>*{display:none}</style>", "<a href=javascript:window.hurt=1>a</a>",
           "<math><mtext></form><form><mglyph><style></math><img src onerror=window.hurt=1>", "<body onload=window.hurt=1>", "<!--><img src=x onerror=window.hurt=1>-->",
           "<details open ontoggle=window.hurt=1>", "&lt;script&gt;window.hurt=1&lt;/script&gt;", "\u202e<script>window.hurt=1</script>",
           "<template><script>window.hurt=1</script></template>", "<input autofocus onfocus=window.hurt=1>", "<object data=javascript:window.hurt=1>"]
# What the page has of its own, and nothing else; no attribute is a script, no link leads to one.
IS_HARMLESS = """return window.hurt === undefined && document.querySelectorAll('script').length === 1 &&
  !document.querySelector('img, iframe, object, embed, template, math, style, svg:not(.sequence, .distribution), [srcdoc], a[href^=javascript]') &&
  ![...document.querySelectorAll('*')].some((one) => [...one.attributes].some((attribute) => attribute.name.startsWith('on')))"""
page = Page(port)
page.wait(lambda: page.find("body[data-ready]"))


def post(path, body, method="POST", kind="application/json"):
    return page.ask(path, method, body, kind)


def refused(path, body, method="POST"):
    try:
        post(path, body, method)
        return 0
    except urllib.error.HTTPError as error:
        return error.code


def harmless(name, where=True):
    cases.case(name, where and page.browser.execute_script(IS_HARMLESS), page.browser.execute_script("return document.body.innerHTML")[:400])


# ---- Where the API takes no such text: names, labels, classes, namespaces ----
PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def pod(name, **metadata):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def claim(name, storage_class=None):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {**spec, **({"storageClassName": storage_class} if storage_class else {})}}


for what, path, make in (("a name", PODS, pod), ("a label", PODS, lambda text: pod("a", labels={"app": text})),
                         ("the name of a label", PODS, lambda text: pod("a", labels={text: "a"})),
                         ("the class of a claim", CLAIMS, lambda text: claim("a", text)),
                         ("a namespace", "/api/v1/namespaces", lambda text: {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": text}})):
    codes = [refused(path, make(text)) for text in HOSTILE]
    cases.case(f"no hostile text is {what}", set(codes) <= {400, 422}, codes)

# ---- Where it takes them ----
texts = {f"example.com/h{i}": text for i, text in enumerate(HOSTILE)}
post("/apis/storage.k8s.io/v1/storageclasses", {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "hostile", "annotations": texts},
                                                "provisioner": "nobody.example.com", "parameters": {f"h{i}": text for i, text in enumerate(HOSTILE)},
                                                "mountOptions": HOSTILE})
body = claim("hostile", "hostile")
body["metadata"]["annotations"] = texts
post(CLAIMS, body)
body = pod("hostile", annotations=texts)
body["spec"] = {"containers": [{"name": "c", "image": HOSTILE[0], "command": HOSTILE, "env": [{"name": f"H{i}", "value": text} for i, text in enumerate(HOSTILE)],
                                "workingDir": HOSTILE[1]}], "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "hostile"}}]}
post(PODS, body)
post("/api/v1/nodes/node-0", {"metadata": {"annotations": texts}}, "PATCH", "application/merge-patch+json")
post("/api/v1/persistentvolumes", {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "hostile", "annotations": texts},
                                   "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                                            "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": HOSTILE[2], "volumeAttributes": {f"h{i}": text for i, text in enumerate(HOSTILE)}}}})
now = page.ask("/kvolsim/v1/clock")["time"]
for kind, name, resource in (("Pod", "hostile", PODS), ("PersistentVolumeClaim", "hostile", CLAIMS)):
    for i, text in enumerate(HOSTILE):
        post("/api/v1/namespaces/default/events", {"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{name}.{kind.lower()}.{i}", "namespace": "default"},
             "involvedObject": {"kind": kind, "apiVersion": "v1", "namespace": "default", "name": name, "uid": page.ask(f"{resource}/{name}")["metadata"]["uid"]},
             "reason": "Hostile", "message": text, "type": "Warning", "source": {"component": text[:60]}, "firstTimestamp": now, "lastTimestamp": now, "count": 1})
post("/kvolsim/v1/clock", {"for": "10s"}, "PUT")


def open_tab(selector, tab, words):
    page.browser.execute_script("document.querySelector(arguments[0]).click()", selector)
    page.click(f"#tab-{tab}")
    return page.wait(lambda: all(word in page.text(f"#panel-{tab}") for word in words))


in_yaml = ["window.hurt=1", "onerror=", "display:none"]
for object_name, selector in (("a pod", ".chip[aria-label^='pod hostile:']"), ("a claim", ".chip[aria-label^='pvc hostile:']"),
                              ("a volume", ".chip[aria-label^='pv hostile:']"), ("a node", ".card .name")):
    page.wait(lambda: page.find(selector))
    harmless(f"{object_name}: hostile texts are shown as YAML", open_tab(selector, "yaml", in_yaml))
    harmless(f"{object_name}: ... and described", open_tab(selector, "describe", ["window.hurt=1"]))
    for tab in ("why", "explain", "sequence", "time"):
        harmless(f"{object_name}: ... and do nothing under {tab}", open_tab(selector, tab, []))
describe = page.ask_text("/kvolsim/v1/describe?object=pod/hostile&namespace=default")
open_tab(".chip[aria-label^='pod hostile:']", "describe", ["Events:"])
cases.case("the messages of Events are there, letter by letter", page.wait(lambda: page.text("#panel-describe") == describe) and
           all(text in describe for text in HOSTILE), describe[-600:])
for tab in ("story", "numbers", "hands", "lessons"):
    page.click(f"#tab-{tab}")
    harmless(f"nothing of them is markup under {tab}", page.wait(lambda: page.text(f"#panel-{tab}") != ""))

# ---- What the reader types ----
for number, text in enumerate(HOSTILE):
    page.browser.execute_script("""
        const type = (selector, text, event) => {
          const field = document.querySelector(selector);
          field.value = text;
          field.dispatchEvent(new Event(event));
        };
        type('#find', arguments[0], 'input');
        type('#find', arguments[0], 'change');
        type('.panel input[type=search]', arguments[0], 'input');
        document.querySelector('#goal').value = arguments[0];
        document.querySelector('#go').click();
        location.hash = 'object=pod/' + encodeURIComponent(arguments[0]);""", text)
    page.write("#manifest", json.dumps({"apiVersion": "v1", "kind": text, "metadata": {"name": text}}))
    page.click("#apply")
    harmless(f"text {number + 1} of the reader is a text", page.wait(lambda: page.text(".said") != ""))

# ---- The policy holds even if markup came in ----
policy = page.browser.execute_script("return fetch('/', {headers: {Accept: 'text/html'}}).then((answer) => answer.headers.get('Content-Security-Policy'))")
cases.case("the policy has no inline script, no inline style and no eval", "default-src 'self'" in policy and "unsafe" not in policy and "data:" not in policy, policy)
page.browser.execute_script("document.querySelector('.said').innerHTML = '<img src=nothing onerror=\"window.hurt=1\">'; const script = document.createElement('script'); "
                            "script.textContent = 'window.hurt=1'; document.body.append(script)")
page.browser.execute_script("const script = document.createElement('script'); script.src = 'data:text/javascript,window.hurt=1'; document.body.append(script); "
                            "setTimeout('window.hurt=1', 0)")  # a text that is evaluated
page.wait(lambda: any("Content Security Policy" in line["message"] for line in page.browser.get_log("browser")))
cases.case("markup, scripts and texts to evaluate that are put into the page on purpose do not run", page.browser.execute_script("return window.hurt === undefined"))
page.close()
cases.end()
