# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests of many clients, and what a real API server answers; for answers.sh.
   answers.py PORT"""
import http.client
import json
import socket
import sys
import time

port = int(sys.argv[1])
CORE = "/api/v1/namespaces/default/"


def ask(method, path, body=None, code=200, headers={}, kind="application/json"):
    """Returns: the answer's JSON, or its text."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind, **headers})
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


for case in (chunked_bodies, clients_that_go, half_sent_bodies, field_selectors, without_workload, tables):
    case()
    print("#", case.__name__, flush=True)
