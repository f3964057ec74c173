#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client that speaks Kubernetes' protobuf on `kvolsim serve`: each list has the objects of its JSON, a watch sends frames, the Event
   of a scheduler is stored, DeleteOptions are read, refusals are Statuses, and what has no form in protobuf is refused.
   protobuf.py PORT"""
import http.client
import json
import struct
import sys

PORT = int(sys.argv[1])
PROTOBUF, JSON = "application/vnd.kubernetes.protobuf", "application/json"
MAGIC = b"k8s\0"


def varint(number):
    out = b""
    while True:
        out += bytes([number & 127 | (128 if number > 127 else 0)])
        number >>= 7
        if number == 0:
            return out


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def envelope(version, kind, raw):
    return MAGIC + field(1, field(1, version) + field(2, kind)) + field(2, raw)


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """{number: [values]}"""
    found, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        else:
            assert tag & 7 == 2, tag
            length, at = read_varint(data, at)
            assert at + length <= len(data)
            value, at = data[at:at + length], at + length
        found.setdefault(tag >> 3, []).append(value)
    return found


def opened(data):
    """kind, message"""
    assert data[:4] == MAGIC, data[:40]
    outer = fields(data[4:])
    return fields(outer[1][0])[2][0].decode(), fields(outer[2][0])


def name_of(message):
    return fields(message[1][0])[1][0].decode()


def ask(method, path, body=None, accept=PROTOBUF, content=PROTOBUF):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    connection.request(method, path, body, {"Accept": accept, "Content-Type": content})
    answer = connection.getresponse()
    return answer.status, answer.getheader("Content-Type"), answer.read()


def names_in_json(path):
    status, _, text = ask("GET", path, accept=JSON)
    assert status == 200, path
    return [item["metadata"]["name"] for item in json.loads(text)["items"]]


# Each list that there is has the same objects as JSON and as protobuf; one of custom resources is JSON alone.
count = 0
for group in [""] + [g["preferredVersion"]["groupVersion"] for g in json.loads(ask("GET", "/apis", accept=JSON)[2])["groups"]]:
    root = f"/apis/{group}" if group else "/api/v1"
    for resource in json.loads(ask("GET", root, accept=JSON)[2])["resources"]:
        if "list" not in resource["verbs"] or "/" in resource["name"] or resource["name"] == "componentstatuses":
            continue
        status, media, data = ask("GET", f"{root}/{resource['name']}")
        if any(word in group for word in ("kvolsim.io", "snapshot", "gateway", "metrics")):
            assert status == 406, (root, resource["name"], status)
            continue
        kind, message = opened(data)
        assert (status, media, kind) == (200, PROTOBUF, resource["kind"] + "List"), (status, media, kind)
        names = [name_of(fields(item)) for item in message.get(2, [])]
        assert names == names_in_json(f"{root}/{resource['name']}"), (resource["name"], names)
        count += len(names)
assert count > 10, count
assert opened(ask("GET", "/api/v1/pods", accept=PROTOBUF + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")[2])[0] == "PartialObjectMetadataList"
assert ask("GET", "/api/v1/pods", accept=f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1, {JSON}")[1] == JSON

# One object, and a refusal.
pods = names_in_json("/api/v1/namespaces/default/pods")
kind, pod = opened(ask("GET", f"/api/v1/namespaces/default/pods/{pods[0]}")[2])
assert kind == "Pod" and name_of(pod) == pods[0]
assert fields(fields(pod[2][0])[2][0])[1][0] == b"c"  # its container
status, media, data = ask("GET", "/api/v1/namespaces/default/pods/none")
kind, refusal = opened(data)
assert (status, media, kind, refusal[4][0], refusal[6][0]) == (404, PROTOBUF, "Status", b"NotFound", 404)

# A watch: the objects that there are, then the Event that is posted to the other group.
watch = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
watch.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events?watch=true&fieldSelector=metadata.name=from-outside",
              headers={"Accept": PROTOBUF})
stream = watch.getresponse()
assert stream.getheader("Content-Type") == PROTOBUF + ";stream=watch", stream.getheader("Content-Type")
event = (field(1, field(1, "from-outside") + field(3, "default")) + field(2, field(1, 1767225600) + field(2, 5000))
         + field(4, "default-scheduler") + field(5, "host") + field(6, "Binding") + field(7, "Scheduled")
         + field(8, field(1, "Pod") + field(2, "default") + field(3, pods[0])) + field(10, "assigned") + field(11, "Normal"))
status, _, data = ask("POST", "/apis/events.k8s.io/v1/namespaces/default/events", envelope("events.k8s.io/v1", "Event", event))
assert status == 201, (status, data)
stored = json.loads(ask("GET", "/api/v1/namespaces/default/events/from-outside", accept=JSON)[2])
assert (stored["reason"], stored["message"], stored["involvedObject"]["name"]) == ("Scheduled", "assigned", pods[0]), stored
assert stored["eventTime"].startswith("2026-01-01T00:00:00.000005"), stored
length, = struct.unpack(">I", stream.read(4))
change = fields(stream.read(length))
kind, seen = opened(fields(change[2][0])[1][0])
assert (change[1][0], kind, name_of(seen), seen[10][0]) == (b"ADDED", "Event", "from-outside", b"assigned"), seen
watch.close()

# OpenAPI of version 2, for clients of years ago: the same paths and types as in JSON. The older name is none of a media type.
document = json.loads(ask("GET", "/openapi/v2", accept=JSON)[2])
for name in "spec.v2@v1.0", "spec.v2.v1.0":
    status, media, data = ask("GET", "/openapi/v2", accept=f"application/com.github.proto-openapi.{name}+protobuf")
    found = fields(data)
    assert (status, media, found[1][0]) == (200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", b"2.0"), (status, media)
    paths = {fields(item)[1][0].decode(): fields(fields(item)[2][0]) for item in fields(found[8][0])[2]}
    types = {fields(item)[1][0].decode(): fields(fields(item)[2][0]) for item in fields(found[9][0])[1]}
    assert (set(paths), set(types)) == (set(document["paths"]), set(document["definitions"]))
    patch = fields(paths["/api/v1/namespaces/{namespace}/pods/{name}"][8][0])
    queries = [fields(fields(fields(fields(item)[1][0])[2][0])[3][0])[4][0] for item in patch[8]]
    assert b"dryRun" in queries and b"fieldValidation" in queries, queries
    kinds = [fields(item) for item in types["io.k8s.api.apps.v1.Deployment"][31]]
    assert json.loads(fields(kinds[0][2][0])[2][0]) == [{"group": "apps", "version": "v1", "kind": "Deployment"}], kinds
    names = {fields(item)[1][0] for item in fields(types["io.k8s.api.core.v1.Container"][25][0])[1]}
    assert {name.encode() for name in document["definitions"]["io.k8s.api.core.v1.Container"]["properties"]} == names

# Options of a deletion come with v1, or with the group's version.
for name, version in (pods[0], "v1"), (pods[1], "policy/v1"):
    status, _, data = ask("DELETE", f"/api/v1/namespaces/default/pods/{name}", envelope(version, "DeleteOptions", field(1, 0)))
    assert status == 200, (status, data)
    assert name not in names_in_json("/api/v1/namespaces/default/pods")

# May I? And a kind that has no numbers.
access = envelope("authorization.k8s.io/v1", "SubjectAccessReview", field(1, b"") + field(2, field(1, field(2, "get") + field(5, "pods")) + field(3, "kube-scheduler")))
status, _, data = ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", access)
kind, review = opened(data)
assert (status, kind, fields(review[3][0])[1][0]) == (201, "SubjectAccessReview", 1), (status, data)
status, _, data = ask("POST", "/api/v1/namespaces/default/configmaps", envelope("example.com/v1", "Thing", b""), accept=JSON)
assert status == 415, (status, data)
