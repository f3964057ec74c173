# SPDX-License-Identifier: GPL-3.0-or-later
"""What admission makes of new objects, and what a client that writes back what it read is answered; for admission.sh.
   admission.py PORT"""
import http.client
import json
import sys

port = int(sys.argv[1])
CORE = "/api/v1/namespaces/default/"
PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


def ask(method, path, body=None, code=200, kind="application/json"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == code, (method, path, answer.status, text[:900])
    return json.loads(text)


def wait(condition):
    ask("PUT", "/kvolsim/v1/clock", {"condition": condition, "for": "5m"})


def pod(name, containers=None, **spec):
    return {"metadata": {"name": name}, "spec": {"containers": containers or [{"name": "c", "image": "i:1"}], **spec}}


def token_volumes(spec):
    return [volume for volume in spec.get("volumes", []) if volume["name"].startswith("kube-api-access-")]


def token():
    """API-195, at the creation and later, and in a controller's pods."""
    made = ask("POST", CORE + "pods", pod("token", initContainers=[{"name": "i", "image": "i"}]), 201)
    (volume,) = token_volumes(made["spec"])
    assert [list(source)[0] for source in volume["projected"]["sources"]] == ["serviceAccountToken", "configMap", "downwardAPI"]
    for container in made["spec"]["containers"] + made["spec"]["initContainers"]:
        assert container["volumeMounts"] == [{"name": volume["name"], "readOnly": True, "mountPath": PATH}], container
    assert made["spec"]["serviceAccountName"] == made["spec"]["serviceAccount"] == "default"
    assert made["spec"]["priority"] == 0 and len(made["spec"]["tolerations"]) == 2
    assert made["metadata"]["generation"] == 1
    assert token_volumes(ask("GET", CORE + "pods/token")["spec"]) == [volume]
    other = ask("POST", CORE + "pods", pod("other-token"), 201)
    assert token_volumes(other["spec"])[0]["name"] != volume["name"]
    silent = ask("POST", CORE + "pods", pod("silent", automountServiceAccountToken=False), 201)
    assert not token_volumes(silent["spec"]) and "volumeMounts" not in silent["spec"]["containers"][0]
    own = [{"name": "c", "image": "i", "volumeMounts": [{"name": "mine", "mountPath": PATH}]}]
    own = ask("POST", CORE + "pods", pod("own", own, volumes=[{"name": "mine", "emptyDir": {}}]), 201)
    assert not token_volumes(own["spec"]) and len(own["spec"]["containers"][0]["volumeMounts"]) == 1
    for name in "other-token", "silent", "own":
        ask("DELETE", CORE + "pods/" + name + "?gracePeriodSeconds=0")
    template = {"metadata": {"labels": {"app": "set"}}, "spec": pod("x")["spec"]}
    ask("POST", "/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "set"}, "spec": {"selector": {"matchLabels": {"app": "set"}}, "template": template}}, 201)
    ask("PUT", "/kvolsim/v1/clock", {"for": "5s"})
    (item,) = ask("GET", CORE + "pods?labelSelector=app%3Dset")["items"]
    assert len(token_volumes(item["spec"])) == 1, item["spec"]
    ask("DELETE", "/apis/apps/v1/namespaces/default/deployments/set")


def accounts():
    """API-196: an account must exist; it tells of tokens and secrets. A dry run is answered like the creation after it."""
    refusal = ask("POST", CORE + "pods", pod("lost", serviceAccountName="nobody"), 403)
    assert refusal["message"] == 'pods "lost" is forbidden: error looking up service account default/nobody: serviceaccount "nobody" not found', refusal
    account = {"metadata": {"name": "quiet"}, "automountServiceAccountToken": False, "imagePullSecrets": [{"name": "pull"}]}
    ask("POST", CORE + "serviceaccounts", account, 201)
    tried = ask("POST", CORE + "pods?dryRun=All", pod("quiet", serviceAccountName="quiet"), 201)
    assert not token_volumes(tried["spec"]) and tried["spec"]["imagePullSecrets"] == [{"name": "pull"}], tried
    ask("GET", CORE + "pods/quiet", code=404)
    ask("POST", CORE + "pods?dryRun=All", pod("lost", serviceAccountName="nobody"), 403)
    tried = ask("POST", CORE + "pods?dryRun=All", pod("tried"), 201)
    made = ask("POST", CORE + "pods", pod("tried"), 201)
    assert tried["spec"] == made["spec"] and tried["metadata"]["generation"] == 1, (tried["spec"], made["spec"])
    template = {"metadata": {"labels": {"app": "lost"}}, "spec": pod("x", serviceAccountName="nobody")["spec"]}
    ask("POST", "/apis/apps/v1/namespaces/default/replicasets", {"metadata": {"name": "lost"}, "spec": {"selector": {"matchLabels": {"app": "lost"}}, "template": template}}, 201)
    ask("PUT", "/kvolsim/v1/clock", {"for": "5s"})
    failed = ask("GET", CORE + "events?fieldSelector=reason%3DFailedCreate")["items"]
    assert failed and failed[0]["message"].startswith('Error creating: pods "lost-" is forbidden: error looking up service account'), failed
    ask("DELETE", "/apis/apps/v1/namespaces/default/replicasets/lost")
    ask("DELETE", CORE + "pods/tried?gracePeriodSeconds=0")


def written_back():
    """What a client read is no change; with a label nothing but the label has changed."""
    wait("pod/token Ready")
    read = ask("GET", CORE + "pods/token")
    same = ask("PUT", CORE + "pods/token", read)
    assert same["metadata"]["resourceVersion"] == read["metadata"]["resourceVersion"]
    read["metadata"]["labels"] = {"a": "b"}
    labelled = ask("PUT", CORE + "pods/token", read)
    assert labelled["spec"] == read["spec"] and labelled["metadata"]["generation"] == 1, labelled
    assert ask("GET", CORE + "pods/token")["spec"] == read["spec"]


def image():
    """KVM-102 and API-3."""
    before = ask("GET", CORE + "pods/token")
    patch = {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}
    after = ask("PATCH", CORE + "pods/token", patch, kind="application/strategic-merge-patch+json")
    assert after["metadata"]["generation"] == 2 and after["spec"]["volumes"] == before["spec"]["volumes"]
    ask("PUT", "/kvolsim/v1/clock", {"for": "10s"})
    (now,) = ask("GET", CORE + "pods/token")["status"]["containerStatuses"]
    (then,) = before["status"]["containerStatuses"]
    assert now["restartCount"] == 1 and now["image"] == "i:2" and now["ready"], now
    assert now["containerID"] != then["containerID"]
    killed = ask("GET", CORE + "events?fieldSelector=reason%3DKilling,involvedObject.name%3Dtoken")["items"]
    assert [event["message"] for event in killed] == ["Container c definition changed, will be restarted"], killed


def deletion():
    """WL-91: a second deletion changes nothing; a shorter grace does."""
    patch = {"metadata": {"finalizers": ["example.com/hold"]}}
    ask("PATCH", CORE + "pods/token", patch, kind="application/merge-patch+json")
    ask("DELETE", CORE + "pods/token")
    first = ask("GET", CORE + "pods/token")["metadata"]
    assert first["deletionGracePeriodSeconds"] == 30 and first["generation"] == 3
    again = ask("DELETE", CORE + "pods/token")["metadata"]
    assert again["resourceVersion"] == first["resourceVersion"] and again["deletionTimestamp"] == first["deletionTimestamp"]
    shorter = ask("DELETE", CORE + "pods/token?gracePeriodSeconds=5")["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 5 and shorter["deletionTimestamp"] < first["deletionTimestamp"], shorter
    ask("PATCH", CORE + "pods/token", {"metadata": {"finalizers": None}}, kind="application/merge-patch+json")
    ask("PUT", "/kvolsim/v1/clock", {"for": "60s"})
    ask("GET", CORE + "pods/token", code=404)


def quotas():
    """The namespace has the Service kubernetes. API-152, API-157, API-159, API-193, API-194."""
    ask("POST", CORE + "resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2", "limits.cpu": "3", "count/services": "2"}}}, 201)
    ask("PUT", "/kvolsim/v1/clock", {"for": "5s"})
    refusal = ask("POST", CORE + "pods", pod("a"), 403)
    assert refusal["message"] == 'pods "a" is forbidden: failed quota: q: must specify limits.cpu for: c', refusal
    ask("POST", CORE + "limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}]}}, 201)
    (item,) = ask("GET", CORE + "limitranges/l")["spec"]["limits"]
    assert item["defaultRequest"] == {"cpu": "1"}, item
    made = ask("POST", CORE + "pods", pod("a"), 201)
    assert made["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}, made
    assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"].startswith("LimitRanger plugin set: cpu request")
    large = pod("b", [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "2500m"}}}])
    assert ask("POST", CORE + "pods", large, 403)["message"].endswith("maximum cpu usage per Container is 2, but limit is 2500m")
    ask("POST", CORE + "pods", pod("b"), 201)
    refusal = ask("POST", CORE + "pods", pod("c"), 403)
    assert refusal["message"] == 'pods "c" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2', refusal
    service = {"spec": {"ports": [{"port": 80}]}}
    ask("POST", CORE + "services", {"metadata": {"name": "one"}, **service}, 201)
    ask("POST", CORE + "services", {"metadata": {"name": "two"}, **service}, 403)
    ask("POST", CORE + "resourcequotas", {"metadata": {"name": "others"}, "spec": {"hard": {"configmaps": "2", "count/serviceaccounts": "9"}}}, 201)
    ask("PUT", "/kvolsim/v1/clock", {"for": "5s"})
    ask("POST", CORE + "configmaps?dryRun=All", {"metadata": {"name": "one"}}, 201)
    ask("POST", CORE + "configmaps", {"metadata": {"name": "one"}}, 201)
    refusal = ask("POST", CORE + "configmaps", {"metadata": {"name": "two"}}, 403)
    assert refusal["message"] == 'configmaps "two" is forbidden: exceeded quota: others, requested: configmaps=1, used: configmaps=2, limited: configmaps=2', refusal
    assert ask("GET", CORE + "resourcequotas/others")["status"]["used"] == {"configmaps": "2", "count/serviceaccounts": "2"}
    ask("DELETE", CORE + "pods/a?gracePeriodSeconds=0")
    ask("PUT", "/kvolsim/v1/clock", {"for": "5s"})
    used = ask("GET", CORE + "resourcequotas/q")["status"]["used"]
    assert used == {"pods": "1", "limits.cpu": "1", "count/services": "2"}, used


def warnings():
    """API-185, at the creation and at an update."""
    beta = "volume.beta.kubernetes.io/storage-class"
    claim = {"metadata": {"name": "warned", "annotations": {beta: "none"}},
             "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1500m"}}}}
    wanted = ['299 - "metadata.annotations[%s]: deprecated since v1.8; use \\"storageClassName\\" attribute instead"' % beta,
              '299 - "spec.resources.requests[storage]: fractional byte value \\"1500m\\" is invalid, must be an integer"']
    for method, path, code in (("POST", "persistentvolumeclaims", 201), ("PUT", "persistentvolumeclaims/warned", 200)):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request(method, CORE + path, json.dumps(claim), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        assert (answer.status, answer.msg.get_all("Warning")) == (code, wanted), (answer.status, answer.msg.get_all("Warning"), text[:900])
        connection.close()


for case in (token, accounts, written_back, image, deletion, quotas, warnings):
    case()
    print("#", case.__name__, flush=True)
