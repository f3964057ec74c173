# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests of many clients, and what a real API server answers; for answers.sh.
   answers.py PORT"""
import base64
import calendar
import http.client
import json
import socket
import sys
import time

port = int(sys.argv[1])
CORE = "/api/v1/namespaces/default/"


def ask(method, path, body=None, code=200, headers={}, kind="application/json", raw_body=None):
    """Returns: the answer's JSON, or its text."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, raw_body if body is None else json.dumps(body), {"Content-Type": kind, **headers})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == code, (method, path, answer.status, text[:600])
    return json.loads(text) if answer.headers["Content-Type"].startswith("application/json") else text


def names(path):
    return sorted(item["metadata"]["name"] for item in ask("GET", path)["items"])


def pod(name, **spec):
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def field_selectors():
    ask("POST", CORE + "pods", pod("a"), 201)
    ask("POST", CORE + "pods", pod("b", hostNetwork=True), 201)
    assert names("/api/v1/nodes?fieldSelector=spec.unschedulable%3Dfalse") == ["node-0", "node-1", "node-2"]
    assert names("/api/v1/nodes?fieldSelector=spec.unschedulable%21%3Dfalse") == []
    assert names(CORE + "pods?fieldSelector=spec.hostNetwork%3Dfalse") == ["a"]
    assert names(CORE + "pods?fieldSelector=spec.hostNetwork%3Dtrue") == ["b"]
    refusal = ask("GET", CORE + "persistentvolumeclaims?fieldSelector=status.phase%3DBound", code=400)
    assert refusal["message"] == '"status.phase" is not a known field selector: only "metadata.name", "metadata.namespace"', refusal


def without_workload():
    assert ask("PUT", "/kvolsim/v1/clock", {"for": "5s"})
    ask("PUT", "/kvolsim/v1/past", {"at": "1s"})


def raw(*parts, timeout=30):
    """A connection that has sent @parts."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    for part in parts:
        connection.sendall(part)
    return connection


POST_CONFIG = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def chunked_bodies():
    chunked = POST_CONFIG + b"Transfer-Encoding: chunked\r\n"
    assert raw(chunked + b"\r\n5\r\n{\"met\r\n", b"19\r\nadata\":{\"name\":\"chunks\"}}\r\n0\r\n\r\n").recv(99).startswith(b"HTTP/1.1 201")
    assert names(CORE + "configmaps?fieldSelector=metadata.name%3Dchunks") == ["chunks"]
    assert raw(chunked + b"Content-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n").recv(99).startswith(b"HTTP/1.1 400"), "two lengths"
    large = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
    connection = raw(chunked + b"\r\n" + large * 3)
    try:
        connection.sendall(large)
    except OSError:
        pass  # it is refused while it is sent
    assert connection.recv(99).startswith(b"HTTP/1.1 413")


def n_closed():
    """Sockets of the server whose client has gone: CLOSE_WAIT."""
    rows = [line.split() for line in open("/proc/net/tcp").readlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "08" for row in rows)


def clients_that_go():
    get = b"GET /api/v1/nodes?watch=%d HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for sent in (b"", get[:9], get % 0, get % 1, POST_CONFIG + b"Content-Length: 9\r\n\r\n{"):
        connections = [raw(sent) for _ in range(20)]
        if b"\r\n\r\n" in sent and sent.startswith(b"GET"):
            assert all(connection.recv(9) for connection in connections)
        for connection in connections:
            connection.close()
    half = raw(get % 0)
    half.shutdown(socket.SHUT_WR)
    assert half.recv(99).startswith(b"HTTP/1.1 200"), "whoever stops sending may still wait for the answer"
    limit = time.time() + 5 # long before a silent connection is closed
    while n_closed() > 0 and time.time() < limit:
        time.sleep(0.05)
    assert n_closed() == 0


def half_sent_bodies():
    bodies = [raw(POST_CONFIG + b"Content-Length: 3000000\r\n\r\n", bytes(2900000)) for _ in range(30)]
    ask("POST", CORE + "configmaps", {"metadata": {"name": "beside"}}, 201)
    bodies[0].settimeout(20)
    try:
        assert bodies[0].recv(9) == b"", "87 MB are more than unfinished bodies may hold: the oldest is closed"
    except ConnectionResetError:
        pass


def cells(path):
    return [row["cells"] for row in ask("GET", path, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})["rows"]]


def tables():
    for name, spec in (("lb", {"type": "LoadBalancer"}), ("np", {"type": "NodePort"}), ("own", {"type": "NodePort", "externalIPs": ["1.2.3.4"]}),
                       ("name", {"type": "ExternalName", "externalName": "db.example.com"})):
        ask("POST", CORE + "services", {"metadata": {"name": name}, "spec": {**spec, "ports": [{"port": 80}]}}, 201)
    rows = {row[0]: row for row in cells(CORE + "services")}
    assert rows["lb"][3] == "<pending>" and rows["np"][3] == "<none>" and rows["own"][3] == "1.2.3.4", rows
    assert rows["name"][3] == "db.example.com" and rows["name"][2] == "<none>" and rows["name"][4] == "80/TCP", rows
    assert 30000 <= int(rows["lb"][4][len("80:"):-len("/TCP")]) <= 32767, rows
    assert ask("GET", CORE + "services/lb")["spec"]["externalTrafficPolicy"] == "Cluster"
    labels = {"app": "tables"}
    ask("POST", "/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "tables"}, "spec": {
        "replicas": 2, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod("a")["spec"]}}}, 201)
    assert cells("/apis/apps/v1/namespaces/default/deployments/tables/scale")[0][:2] == ["tables", 2]
    assert cells("/apis/apps/v1/namespaces/default/deployments/tables/status")[0][1].endswith("/2")


def lines_of(path):
    """The events of a watch, one after the other."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    for line in connection.getresponse():
        yield json.loads(line)


def endpoints():
    labels, apps = {"app": "back"}, "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"name": "http", "containerPort": 8080}]}]}}
    ask("POST", CORE + "services", {"metadata": {"name": "back"}, "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": "http"}]}}, 201)
    events = lines_of(CORE + "endpoints?watch=1&fieldSelector=metadata.name%3Dback")
    assert "subsets" not in next(events)["object"], "no pod yet"
    ask("POST", apps, {"metadata": {"name": "back"}, "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}}, 201)
    for event in events:
        subset = event["object"]["subsets"][0]
        if len(subset.get("addresses", [])) == 2:
            break
    assert subset["ports"] == [{"port": 8080, "protocol": "TCP"}], subset
    of_service = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3Dback"
    (one,) = ask("GET", of_service)["items"]
    assert [each["conditions"]["ready"] for each in one["endpoints"]] == [True, True] and one["ports"][0]["name"] == "", one
    assert one["metadata"]["ownerReferences"][0]["kind"] == "Service"
    ask("PATCH", apps + "/back/scale", {"spec": {"replicas": 0}}, kind="application/merge-patch+json")
    for event in events:
        if not event["object"].get("subsets"):
            break
    ask("DELETE", CORE + "services/back")
    assert ask("GET", of_service)["items"] == []
    ask("GET", CORE + "endpoints/back", code=404)
    assert ask("GET", CORE + "endpoints/kubernetes")["subsets"][0]["ports"][0]["port"] == 6443


def tokens():
    path = CORE + "serviceaccounts/default/token"
    issued = ask("POST", path, {"spec": {"expirationSeconds": 7200}}, 201)
    claims = json.loads(base64.urlsafe_b64decode(issued["status"]["token"].split(".")[1] + "=="))
    assert claims["sub"] == "system:serviceaccount:default:default" and claims["exp"] - claims["iat"] == 7200, claims
    assert "less than 10 minutes" in ask("POST", path, {"spec": {"expirationSeconds": 60}}, 422)["message"]
    assert ask("POST", path.replace("default/token", "nobody/token"), {}, 404)["message"] == 'serviceaccounts "nobody" not found'
    assert ask("POST", path, {"spec": {"boundObjectRef": {"kind": "Pod", "name": "none"}}}, 404)["message"] == 'pods "none" not found'
    reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
    user = ask("POST", reviews, {"spec": {"token": issued["status"]["token"]}}, 201)["status"]
    assert user["authenticated"] and user["user"]["username"] == claims["sub"] and "system:serviceaccounts:default" in user["user"]["groups"], user
    assert ask("POST", reviews, {"spec": {"token": "x" + issued["status"]["token"]}}, 201)["status"] == {"user": {}, "error": "invalid bearer token"}
    assert ask("POST", reviews, {}, 400)["message"] == "token is required for TokenReview in authentication"
    access = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    asked = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    assert ask("POST", access, {"spec": {**asked, "user": "bob"}}, 201)["status"]["allowed"]
    assert "at least one of user or group" in ask("POST", access, {"spec": asked}, 422)["message"]
    local = "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews"
    assert "must match metadata.namespace" in ask("POST", local, {"spec": {**asked, "user": "bob"}}, 422)["message"]
    assert ask("GET", "/openid/v1/jwks") == {"keys": []} and ask("GET", "/.well-known/openid-configuration")["issuer"] == claims["iss"]


def usage():
    asking = pod("asking")
    asking["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1", "memory": "1Gi"}}
    ask("POST", CORE + "pods", asking, 201)
    ask("PUT", "/kvolsim/v1/clock", {"condition": "pod/asking Ready", "for": "5m"})
    metrics = "/apis/metrics.k8s.io/v1beta1/"
    used = ask("GET", metrics + "namespaces/default/pods/asking")["containers"][0]["usage"]
    assert 0 < int(used["cpu"].rstrip("n")) < 10**9 and 0 < int(used["memory"].rstrip("Ki")) < 2**20, used
    assert names(metrics + "nodes") == ["node-0", "node-1", "node-2"]
    assert names(metrics + "pods?labelSelector=app%3Dasking") == ["asking"]
    assert ask("GET", metrics + "nodes", headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})["rows"][0]["cells"][0] == "node-0"
    node = ask("GET", CORE + "pods/asking")["spec"]["nodeName"]
    proxy = f"/api/v1/nodes/{node}/proxy/"
    summary = ask("GET", proxy + "stats/summary")
    (told,) = [each for each in summary["pods"] if each["podRef"]["name"] == "asking"]
    assert str(told["cpu"]["usageNanoCores"]) + "n" == used["cpu"] and summary["node"]["nodeName"] == node
    assert ask("GET", proxy + "healthz") == "ok" and "asking" in [each["metadata"]["name"] for each in ask("GET", proxy + "pods")["items"]]
    assert "kubelet_pod_start_duration_seconds_count" in ask("GET", proxy + "metrics") and "pod_cpu_usage" in ask("GET", proxy + "metrics/resource")
    ask("GET", proxy + "nothing", code=404)
    ask("GET", "/api/v1/nodes/none/proxy/healthz", code=404)
    own = ask("GET", "/metrics")
    assert 'apiserver_storage_objects{resource="nodes"} 3' in own and "job=" not in own and "kubelet_" not in own
    assert {"/metrics", "/apis/apps/v1", "/openid/v1/jwks"} <= set(ask("GET", "/", headers={"Accept": "application/json"})["paths"])


def ages():
    """kubectl counts some ages from this machine's clock, of which the cluster's knows nothing."""
    path = CORE + "events?limit=1&fieldSelector=source%3Dkubelet"
    plain = ask("GET", path)["items"][0]
    moved = ask("GET", path, headers={"Kubectl-Command": "kubectl describe"})["items"][0]
    assert plain["lastTimestamp"].startswith("2026-01-01") and moved["metadata"] == plain["metadata"]
    back = time.time() - calendar.timegm(time.strptime(moved["lastTimestamp"], "%Y-%m-%dT%H:%M:%SZ"))
    assert -1 <= back < 3600, moved
    assert ask("GET", path, headers={"Kubectl-Command": "kubectl get"})["items"][0] == plain


def watches_of_versions():
    """A line that one watch has made is good for others of the same version only."""
    version = {"served": True, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {"metadata": {"name": "boxes.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "boxes", "kind": "Box"},
        "versions": [{"name": "v1", "storage": True, **version}, {"name": "v2", "storage": False, **version}]}}, 201)
    path = "/apis/example.com/%s/namespaces/default/boxes"
    ask("POST", path % "v1", {"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "before"}}, 201)
    watches = [(v, lines_of(path % v + "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"))
               for v in ("v1", "v2", "v1", "v2")]
    for name, kind in (("before", "ADDED"), (None, "BOOKMARK"), ("behind", "ADDED")):
        if name == "behind":
            ask("POST", path % "v2", {"apiVersion": "example.com/v2", "kind": "Box", "metadata": {"name": name}}, 201)
        for v, watch in watches:
            event = next(watch)
            assert (event["type"], event["object"]["apiVersion"], event["object"]["metadata"].get("name")) == (kind, "example.com/" + v, name), event
    one = next(lines_of(path % "v2" + "?watch=1&fieldSelector=metadata.name%3Dbehind"))
    assert one["object"]["metadata"]["name"] == "behind", one
    ask("DELETE", path % "v2" + "/behind")
    assert names(path % "v1") == ["before"]


def lists_that_are_shared():
    """Watches that begin a little later get an older list, and what has changed since then."""
    path = CORE + "configmaps"
    ask("POST", path, {"metadata": {"name": "first"}}, 201)
    begun = lines_of(path + "?watch=1&labelSelector=kept%3Dyes")
    ask("POST", path, {"metadata": {"name": "second", "labels": {"kept": "yes"}}}, 201)
    ask("DELETE", path + "/first")
    assert next(begun)["object"]["metadata"]["name"] == "second"
    seen = {}
    for event in lines_of(path + "?watch=1"):
        name = event["object"]["metadata"]["name"]
        if event["type"] == "DELETED":
            del seen[name]
        else:
            seen[name] = event["object"]["metadata"]["resourceVersion"]
        if "second" in seen and "first" not in seen:
            break
    assert sorted(seen) == [name for name in names(path) if name in seen]


def garbage():
    strategic, merge, operations = ("application/" + word + "-patch+json" for word in ("strategic-merge", "merge", "json"))
    path = CORE + "configmaps/kube-root-ca.crt"
    for kind, body, message in (
            (strategic, '{"data"', "unexpected end of JSON input"),
            (merge, "{data: 1}", "error decoding patch: invalid character 'd' looking for beginning of object key string"),
            (strategic, '"x"', "json: cannot unmarshal string into Go value of type map[string]interface {}"),
            (merge, "[]", "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
            (operations, "{}", "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp")):
        refusal = ask("PATCH", path, code=400, headers={"Content-Type": kind}, raw_body=body)
        assert refusal["message"] == message, (body, refusal)
    refusal = ask("POST", CORE + "pods", code=400, raw_body='{"kind": ')
    assert refusal["message"] == "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: " \
        'unexpected end of JSON input ({"kind": )', refusal
    for review in ("/apis/authentication.k8s.io/v1/tokenreviews", CORE + "serviceaccounts/default/token"):
        ask("POST", review, code=400, raw_body='"x"')
    ask("DELETE", path, code=400, raw_body='"x"')


def what_every_cluster_has():
    assert names("/apis/scheduling.k8s.io/v1/priorityclasses") == ["system-cluster-critical", "system-node-critical"]
    refusal = ask("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical", code=403)
    assert refusal["message"].endswith("is forbidden: this is a system priority class and cannot be deleted"), refusal
    ask("DELETE", CORE + "services/kubernetes")
    assert ask("GET", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/none", code=404)["message"] == \
        'podmetrics.metrics.k8s.io "default/none" not found'


def bindings():
    ask("POST", CORE + "pods", pod("bound", schedulerName="none"), 201)
    path, there = CORE + "pods/bound/binding", {"metadata": {"name": "bound"}}
    assert ask("POST", path, {"target": {"name": "node-0"}}, 400)["message"] == "name in URL does not match name in Binding object"
    assert ask("POST", path, there, 500)["message"] == "target.name: Required value"
    refusal = ask("POST", path, {**there, "target": {"kind": "Pod", "name": "node-0"}}, 500)
    assert refusal["message"] == 'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"', refusal
    assert ask("POST", path, {**there, "target": {"kind": "Node", "name": "node-0"}}, 201)["status"] == "Success"
    refusal = ask("POST", CORE + "bindings", {**there, "target": {"name": "node-1"}}, 409)
    assert refusal["message"] == 'Operation cannot be fulfilled on pods/binding "bound": pod bound is already assigned to node "node-0"', refusal
    assert refusal["details"] == {"name": "bound", "kind": "pods/binding"}, refusal


for case in (chunked_bodies, clients_that_go, half_sent_bodies, field_selectors, without_workload, endpoints, tokens, usage, tables, ages, watches_of_versions,
             lists_that_are_shared, garbage, what_every_cluster_has, bindings):
    case()
    print("#", case.__name__, flush=True)
