#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hostile requests to `kvolsim serve`, for hostile.sh: each is refused as it should be, and the server answers the next one.
   hostile.py PORT TOKEN-PORT TOKEN"""
import json
import socket
import sys

port, token_port, token = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
n = 0
failed = 0
HEAD = f"Host: 127.0.0.1:{port}\r\nAccept: application/json\r\n"
JSON = "Content-Type: application/json\r\n"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def send(data, to=None, end=False):
    """Returns: the status of the answer; 0: the connection was closed without one."""
    with socket.create_connection(("127.0.0.1", to or port), timeout=5) as connection:
        answer = b""
        try:
            for part in data if isinstance(data, list) else [data]:
                connection.sendall(part.encode("latin-1") if isinstance(part, str) else part)
            if end:
                connection.shutdown(socket.SHUT_WR)
            while b"\r\n\r\n" not in answer:
                more = connection.recv(65536)
                if not more:
                    break
                answer += more
        except (ConnectionResetError, BrokenPipeError):
            pass
        except TimeoutError:
            answer = b"HTTP/1.1 999 "
    words = answer.split(b" ", 2)
    text = answer.decode("latin-1")
    assert "root:" not in text, text
    return int(words[1]) if len(words) > 2 and words[0].startswith(b"HTTP/1.") else 0


def get(path, headers="", head=HEAD):
    return f"GET {path} HTTP/1.1\r\n{head}{headers}\r\n"


def with_body(method, path, body, headers=JSON):
    if isinstance(body, str):
        body = body.encode()
    return [f"{method} {path} HTTP/1.1\r\n{HEAD}{headers}Content-Length: {len(body)}\r\n\r\n", body]


def case(name, found, *wanted):
    global n, failed
    n += 1
    alive = send(get("/healthz"))
    good = found in wanted and alive == 200
    failed += not good
    print(f"{'ok' if good else 'not ok'} {n} - {name}" + ("" if good else f": {found}, wanted {wanted}, then {alive}"), flush=True)


# Paths.
case("a path that leads out", send(get("/../../../../etc/passwd")), 400, 404)
case("... encoded", send(get("/%2e%2e/%2e%2e/etc/passwd")), 400, 404)
case("... in a resource", send(get("/api/v1/namespaces/..%2f..%2fetc/pods")), 400, 404)
case("... below the page", send(get("/page/../../etc/passwd")), 400, 404)
case("a zero in the path", send(get("/api/v1/pods%00.txt")), 400, 404)
case("no UTF-8 in the path", send(get("/api/v1/namespaces/%ff%fe/pods")), 400, 404)
case("an absolute address of elsewhere", send(f"GET http://example.com/api/v1/pods HTTP/1.1\r\nHost: example.com\r\n\r\n"), 400, 403)
case("a path of 60,000 letters", send(get("/" + "a" * 60000)), 0, 400, 404, 414)

# Who may ask.
case("a name of elsewhere that leads here", send(get("/api/v1/pods", head="Host: evil.example.com\r\n")), 403)
case("no Host", send("GET /api/v1/pods HTTP/1.1\r\n\r\n"), 400)
case("a page of another site", send(get("/api/v1/pods", "Origin: http://evil.example.com\r\n")), 403)
case("... that a browser tells", send(get("/api/v1/pods", "Sec-Fetch-Site: cross-site\r\n")), 403)
case("an Origin that is none", send(get("/api/v1/pods", "Origin: null\r\n")), 403)
case("another port of this machine", send(get("/api/v1/pods", f"Origin: http://127.0.0.1:{port + 1}\r\n")), 403)
own = f"Host: 127.0.0.1:{token_port}\r\n"
case("no token", send(get("/api/v1/pods", head=own), token_port), 401)
case("a wrong token", send(get("/api/v1/pods", "Authorization: Bearer " + token[:-1] + "\r\n", own), token_port), 401)
case("a token as a password", send(get("/api/v1/pods", "Authorization: Basic " + token + "\r\n", own), token_port), 401)
case("the token", send(get("/api/v1/pods", "Authorization: Bearer " + token + "\r\n", own), token_port), 200)

# Heads and bodies that do not end, or are two.
case("a head of a megabyte", send(get("/", "X: " + "a" * 1000000 + "\r\n")), 0, 400, 413, 431)
case("100,000 headers", send(get("/", "X: y\r\n" * 100000)), 0, 400, 413, 431)
case("a body of a gigabyte", send(f"POST {CLAIMS} HTTP/1.1\r\n{HEAD}{JSON}Content-Length: 1000000000\r\n\r\n"), 413)
case("a length that is none", send(f"POST {CLAIMS} HTTP/1.1\r\n{HEAD}{JSON}Content-Length: -5\r\n\r\n", end=True), 0, 400, 413)
chunk = "100000\r\n" + "a" * 0x100000 + "\r\n"
case("chunks without end", send([f"POST {CLAIMS} HTTP/1.1\r\n{HEAD}{JSON}Transfer-Encoding: chunked\r\n\r\n"] + [chunk] * 8), 0, 413)
case("a length and chunks", send(f"POST {CLAIMS} HTTP/1.1\r\n{HEAD}{JSON}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 0, 400)
case("two lengths", send(f"POST {CLAIMS} HTTP/1.1\r\n{HEAD}{JSON}Content-Length: 2\r\nContent-Length: 40\r\n\r\n{{}}"), 0, 400)
case("a body that is cut off", send(f"POST {CLAIMS} HTTP/1.1\r\n{HEAD}{JSON}Content-Length: 100\r\n\r\n{{", end=True), 0, 400)
case("no HTTP", send("hello\r\n\r\n", end=True), 0, 400)
case("an unknown method", send(f"BREW {CLAIMS} HTTP/1.1\r\n{HEAD}\r\n"), 405, 501)
case("CONNECT", send("CONNECT example.com:80 HTTP/1.1\r\nHost: example.com\r\n\r\n"), 0, 400, 403, 404, 405)

# Bodies that are none.
case("JSON nested 100,000 deep", send(with_body("POST", CLAIMS, "[" * 100000 + "]" * 100000)), 400)
case("JSON that is cut off", send(with_body("POST", CLAIMS, '{"kind": "Pod"')), 400)
case("a list for an object", send(with_body("POST", CLAIMS, "[]")), 400)
case("a number for metadata", send(with_body("POST", CLAIMS, '{"metadata": 5}')), 400, 422)
case("XML", send(with_body("POST", CLAIMS, "<a/>", "Content-Type: text/xml\r\n")), 415)
bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [" + ", ".join(["*" + chr(97 + i)] * 10) + "]\n" for i in range(9))
case("YAML that grows", send(with_body("POST", CLAIMS, bomb, "Content-Type: application/yaml\r\n")), 400)
case("protobuf that is none", send(with_body("POST", CLAIMS, b"k8s\0\x12\xff\xff\xff\xff\x7f", "Content-Type: application/vnd.kubernetes.protobuf\r\n")), 400)
case("a zero in a name", send(with_body("POST", CLAIMS, '{"metadata": {"name": "a\\u0000b"}}')), 400, 422)
case("a name that is markup", send(with_body("POST", CLAIMS, '{"metadata": {"name": "<script>"}}')), 422)
patches = json.dumps([{"op": "test", "path": "/metadata/name", "value": "x"}] * 10001)
case("a patch of 10,001 operations", send(with_body("PATCH", "/api/v1/nodes/node-0", patches, "Content-Type: application/json-patch+json\r\n")), 413)
deep = '{"metadata": {"labels": ' * 150 + "{}" + "}" * 300
case("a deep merge patch", send(with_body("PATCH", "/api/v1/nodes/node-0", deep, "Content-Type: application/merge-patch+json\r\n")), 400, 422)
case("a patch of another type", send(with_body("PATCH", "/api/v1/nodes/node-0", "{}", "Content-Type: text/plain\r\n")), 415)

# Parameters.
case("a token of the next page that is none", send(get("/api/v1/pods?limit=1&continue=eyJ9")), 400)
case("a negative limit", send(get("/api/v1/pods?limit=-1")), 200, 400)
case("a huge version", send(get("/api/v1/pods?watch=true&resourceVersion=99999999999999999999999&timeoutSeconds=1")), 200, 400, 410, 504)
case("a version that is none", send(get("/api/v1/pods?watch=true&resourceVersion=abc")), 400)
case("a selector that is none", send(get("/api/v1/pods?labelSelector=" + "(" * 1000)), 400)
case("a selector of 60,000 terms", send(get("/api/v1/pods?labelSelector=" + "a%2C" * 15000)), 0, 200, 400)
case("a field that nobody has", send(get("/api/v1/pods?fieldSelector=spec.secret%3Dx")), 400)
case("a speed that is none", send(with_body("PUT", "/kvolsim/v1/clock", '{"speed": -1}')), 400)
case("an infinite speed", send(with_body("PUT", "/kvolsim/v1/clock", '{"speed": 1e999}')), 400)
case("a file as a manifest", send(with_body("POST", "/kvolsim/v1/actions", '{"create": {"manifest": "/etc/passwd"}}')), 400)
case("an injected action", send(with_body("POST", "/kvolsim/v1/faults", '{"do": "power-off], spec.manifests=[/etc/passwd", "node": "node-0"}')), 400)

# Many at once.
crowd = []
for _ in range(300):
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall(b"GET /api/v1/pods HTTP/1.1\r\nHost: 127.0.0.1")
    crowd.append(connection)
case("300 requests that never end", send(get("/healthz")), 200)
for connection in crowd:
    connection.close()
crowd = []
for _ in range(300):
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall(get("/api/v1/pods?watch=true").encode())
    crowd.append(connection)
case("300 watches that nobody reads", send(get("/healthz")), 200)
for connection in crowd:
    connection.close()
with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
    connection.sendall((get("/healthz") * 50).encode())
    text = b""
    while text.count(b"HTTP/1.1 200") < 50:
        more = connection.recv(65536)
        if not more:
            break
        text += more
case("50 requests in one breath", text.count(b"HTTP/1.1 200"), 50)
print(f"1..{n}")
sys.exit(failed > 0)
