# SPDX-License-Identifier: GPL-3.0-or-later
"""A client changes one field, in each way that the API has, of an object of each kind: all other fields stay; for whole.sh.
   whole.py PORT"""
import http.client
import json
import sys

port = int(sys.argv[1])
SERVERS = ("resourceVersion", "managedFields", "generation", "creationTimestamp")
TEMPLATE = {
    "metadata": {"labels": {"app": "x"}, "annotations": {"a": "b"}},
    "spec": {
        "containers": [{
            "name": "c", "image": "i:1", "command": ["run"], "args": ["-v"], "workingDir": "/w",
            "env": [{"name": "A", "value": "b"}, {"name": "N", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}],
            "envFrom": [{"configMapRef": {"name": "m", "optional": True}}],
            "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
            "livenessProbe": {"httpGet": {"path": "/", "port": "http", "scheme": "HTTP"}, "periodSeconds": 7, "timeoutSeconds": 2, "successThreshold": 1, "failureThreshold": 4},
            "lifecycle": {"preStop": {"exec": {"command": ["sleep", "1"]}}},
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
            "securityContext": {"runAsUser": 7, "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [{"name": "map", "mountPath": "/m", "readOnly": True}, {"name": "tmp", "mountPath": "/t", "subPath": "s"}],
        }],
        "initContainers": [{"name": "i", "image": "j", "volumeMounts": [{"name": "all", "mountPath": "/all"}]}],
        "volumes": [
            {"name": "map", "configMap": {"name": "m", "defaultMode": 288, "items": [{"key": "k", "path": "p"}], "optional": True}},
            {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
            {"name": "claim", "persistentVolumeClaim": {"claimName": "d", "readOnly": True}},
            {"name": "own", "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"l": "m"}}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}},
            {"name": "all", "projected": {"defaultMode": 420, "sources": [{"secret": {"name": "s", "items": [{"key": "k", "path": "q"}]}}]}},
        ],
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["h"]}], "dnsConfig": {"searches": ["a.b"]}, "imagePullSecrets": [{"name": "p"}],
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": "x"}}, "matchLabelKeys": ["r"]}],
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3, "preference": {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}}]}},
    },
}
SELECTOR = {"matchLabels": {"app": "x"}}
RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["n"]}]
JOB = {"template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}, "backoffLimit": 2, "podReplacementPolicy": "Failed", "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}}
SNAPSHOT = "snapshot.storage.k8s.io/v1"

OBJECTS = [
    ("v1", "pods", "Pod", {"spec": {**TEMPLATE["spec"], "nodeSelector": {"no": "where"}, "runtimeClassName": "r", "readinessGates": [{"conditionType": "x.io/ready"}]}}),
    ("v1", "configmaps", "ConfigMap", {"data": {"k": "v"}, "binaryData": {"b": "YQ=="}}),
    ("v1", "secrets", "Secret", {"data": {"k": "YQ=="}, "type": "Opaque"}),
    ("v1", "services", "Service", {"spec": {"selector": {"a": "b"}, "ports": [{"name": "p", "port": 80, "targetPort": "http", "appProtocol": "h2c"}], "sessionAffinity": "ClientIP", "loadBalancerSourceRanges": None}}),
    ("v1", "serviceaccounts", "ServiceAccount", {"automountServiceAccountToken": False, "imagePullSecrets": [{"name": "p"}]}),
    ("v1", "persistentvolumeclaims", "PersistentVolumeClaim", {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "selector": SELECTOR, "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}}, "dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}}}),
    ("v1", "persistentvolumes", "PersistentVolume", {"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "mountOptions": ["ro"], "csi": {"driver": "d.io", "volumeHandle": "h", "fsType": "ext4", "volumeAttributes": {"a": "b"}, "nodeStageSecretRef": {"name": "s", "namespace": "n"}}, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "z", "operator": "In", "values": ["a"]}]}]}}}}),
    ("v1", "resourcequotas", "ResourceQuota", {"spec": {"hard": {"count/toys.x.io": "3"}, "scopes": ["NotTerminating"]}}),
    ("v1", "limitranges", "LimitRange", {"spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "9Ti"}}]}}),
    ("v1", "podtemplates", "PodTemplate", {"template": TEMPLATE}),
    ("v1", "endpoints", "Endpoints", {"subsets": [{"addresses": [{"ip": "10.0.0.9", "hostname": "h"}], "ports": [{"name": "p", "port": 1}]}]}),
    ("v1", "namespaces", "Namespace", {}),
    ("apps/v1", "deployments", "Deployment", {"spec": {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "30%", "maxUnavailable": 1}}, "revisionHistoryLimit": 3}}),
    ("apps/v1", "statefulsets", "StatefulSet", {"spec": {"replicas": 0, "serviceName": "s", "selector": SELECTOR, "template": TEMPLATE, "ordinals": {"start": 2}, "volumeClaimTemplates": [{"metadata": {"name": "t", "labels": {"a": "b"}}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}),
    ("apps/v1", "daemonsets", "DaemonSet", {"spec": {"selector": SELECTOR, "template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "nodeSelector": {"no": "where"}}}}}),
    ("apps/v1", "replicasets", "ReplicaSet", {"spec": {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE}}),
    ("v1", "replicationcontrollers", "ReplicationController", {"spec": {"replicas": 0, "selector": {"app": "x"}, "template": TEMPLATE}}),
    ("apps/v1", "controllerrevisions", "ControllerRevision", {"revision": 3, "data": {"spec": {"template": TEMPLATE}}}),
    ("batch/v1", "jobs", "Job", {"spec": {**JOB, "suspend": True}}),
    ("batch/v1", "cronjobs", "CronJob", {"spec": {"schedule": "1 2 3 4 5", "suspend": True, "jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": JOB}}}),
    ("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", {"spec": {"minAvailable": "50%", "selector": SELECTOR, "unhealthyPodEvictionPolicy": "AlwaysAllow"}}),
    ("storage.k8s.io/v1", "storageclasses", "StorageClass", {"provisioner": "d.io", "parameters": {"a": "b"}, "mountOptions": ["ro"], "allowedTopologies": [{"matchLabelExpressions": [{"key": "z", "values": ["a"]}]}]}),
    ("storage.k8s.io/v1", "csidrivers", "CSIDriver", {"spec": {"tokenRequests": [{"audience": "a", "expirationSeconds": 600}], "fsGroupPolicy": "File", "podInfoOnMount": True}}),
    ("storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity", {"storageClassName": "c", "capacity": "1Gi", "maximumVolumeSize": "512Mi", "nodeTopology": SELECTOR}),
    ("storage.k8s.io/v1", "volumeattachments", "VolumeAttachment", {"spec": {"attacher": "d.io", "nodeName": "n", "source": {"persistentVolumeName": "v"}}}),
    ("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", {"value": 7, "description": "some"}),
    ("coordination.k8s.io/v1", "leases", "Lease", {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 9, "renewTime": "2026-01-01T00:00:00.000001Z"}}),
    ("networking.k8s.io/v1", "ingresses", "Ingress", {"spec": {"rules": [{"host": "a.b", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}], "tls": [{"hosts": ["a.b"], "secretName": "t"}]}}),
    ("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", {"spec": {"podSelector": {}, "ingress": [{"from": [{"podSelector": SELECTOR}], "ports": [{"port": 80, "protocol": "TCP"}]}]}}),
    ("rbac.authorization.k8s.io/v1", "roles", "Role", {"rules": RULES}),
    ("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", {"rules": RULES}),
    ("rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding", {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "n"}]}),
    ("autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", {"spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "metrics": [{"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 50}}}], "behavior": {"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}}}),
    ("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.9"], "zone": "a", "hints": {"forZones": [{"name": "a"}]}}], "ports": [{"name": "p", "port": 1}]}),
    ("node.k8s.io/v1", "runtimeclasses", "RuntimeClass", {"handler": "h", "overhead": {"podFixed": {"cpu": "1m"}}}),
    ("apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", {"spec": {"group": "x.io", "scope": "Namespaced", "names": {"plural": "toys", "kind": "Toy"}, "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}]}}),
    ("x.io/v1", "toys", "Toy", {"spec": {"deep": {"list": [1, {"a": None, "b": "c"}], "flag": False, "text": ""}}}),
    (SNAPSHOT, "volumesnapshots", "VolumeSnapshot", {"spec": {"source": {"persistentVolumeClaimName": "c"}, "volumeSnapshotClassName": "k"}}),
    (SNAPSHOT, "volumesnapshotclasses", "VolumeSnapshotClass", {"driver": "d.io", "deletionPolicy": "Retain", "parameters": {"a": "b"}}),
]

# Whose status has conditions that a client may write.
CONDITIONS = ("Pod", "Service", "PersistentVolumeClaim", "Namespace", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController",
              "Job", "PodDisruptionBudget", "HorizontalPodAutoscaler", "Toy")


def exchange(method, path, body, kind, accept):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, body, {"Content-Type": kind, "Accept": accept})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    if answer.status == 409:
        raise Conflict(data)
    assert answer.status in (200, 201), (method, path, kind, answer.status, data[:900])
    return data


class Conflict(Exception):
    """A controller wrote between a read and a write."""


def until_written(write):
    """Reads and writes, again while controllers write in between."""
    for _ in range(9):
        try:
            return write()
        except Conflict as conflict:
            last = conflict
    raise last


def ask(method, path, body=None, kind="application/json"):
    return json.loads(exchange(method, path, None if body is None else json.dumps(body), kind, "application/json"))


def rewrite(path, form, old, new):
    """Puts what was read in @form, with a word of the same length instead of another."""
    def write():
        text = exchange("GET", path, None, "", form)
        assert old in text, (path, form, text)
        return json.loads(exchange("PUT", path, text.replace(old, new), form, "application/json"))
    return until_written(write)


def bare(thing):
    """What a write of an annotation leaves alone; components write the status."""
    metadata = {key: value for key, value in thing["metadata"].items() if key not in SERVERS + ("annotations",)}
    return {**{key: value for key, value in thing.items() if key != "status"}, "metadata": metadata}


def differences(one, other, place):
    """The places where they differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return sum((differences(one.get(key), other.get(key), place + "." + key) for key in sorted({*one, *other})), [])
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return sum((differences(a, b, place + "[]") for a, b in zip(one, other)), [])
    return [] if one == other else [(place, one, other)]


def annotation(way):
    return {"metadata": {"annotations": {"whole": way}}}


def has(found, given, place):
    """Whether what was written is there: null and empty values aside, which Go leaves out."""
    if isinstance(given, dict):
        for key, value in given.items():
            if value not in (None, "", {}, []):
                assert key in found, place + "." + key
                has(found[key], value, place + "." + key)
    elif isinstance(given, list):
        assert len(found) >= len(given), place
        for one, other in zip(found, given):
            has(one, other, place)
    else:
        assert found == given, (place, given, found)


def ways(path, thing, is_custom):
    """Each writes an annotation of its name; those behind "apply" read the object in their own form, and write that."""
    yield "put", lambda: ask("PUT", path, {**thing, "metadata": {**thing["metadata"], "resourceVersion": "", "annotations": {"whole": "put"}}})
    yield "merge", lambda: ask("PATCH", path, annotation("merge"), "application/merge-patch+json")
    if not is_custom:
        yield "strategic", lambda: ask("PATCH", path, annotation("strategic"), "application/strategic-merge-patch+json")
    yield "json", lambda: ask("PATCH", path, [{"op": "add", "path": "/metadata/annotations/whole", "value": "json"}], "application/json-patch+json")
    yield "apply", lambda: ask("PATCH", path + "?fieldManager=whole&force=true", {**annotation("apply"), "apiVersion": thing["apiVersion"], "kind": thing["kind"]}, "application/apply-patch+yaml")
    yield "sheet", lambda: rewrite(path, "application/yaml", b"whole: apply", b"whole: sheet")
    if not is_custom:
        yield "bytes", lambda: rewrite(path, "application/vnd.kubernetes.protobuf", b"sheet", b"bytes")


def check_status(path, kind):
    """A write of the status changes nothing else, and no other part of the status."""
    condition = {"type": "Whole", "status": "True", "reason": "Test", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}

    def others(status):
        return {**status, "conditions": [each for each in status.get("conditions") or [] if each["type"] != "Whole"]}

    def put():
        before = ask("GET", path + "/status")
        status = others(before.get("status") or {})
        ask("PUT", path + "/status", {**before, "spec": {}, "status": {**status, "conditions": status["conditions"] + [{**condition, "message": "put"}]}})
        return before

    def merge():
        before = ask("GET", path + "/status")
        conditions = others(before["status"])["conditions"] + [{**condition, "message": "merge"}]
        ask("PATCH", path + "/status", {"status": {"conditions": conditions}}, "application/merge-patch+json")
        return before

    for way, write in (("put", put), ("merge", merge)):
        before = until_written(write)
        after = ask("GET", path)
        lost = differences(bare(before), bare(after), kind) + differences(others(before.get("status") or {}), others(after["status"]), kind + ".status")
        assert not lost, (way, lost)
        assert [each["message"] for each in after["status"]["conditions"] if each["type"] == "Whole"] == [way], (kind, way, after["status"])


def check(version, resource, kind, body, namespaced):
    group = "/api/v1/" if version == "v1" else "/apis/" + version + "/"
    place = group + ("namespaces/default/" if namespaced else "") + resource
    name = "toys.x.io" if kind == "CustomResourceDefinition" else "w-" + resource
    dry = ask("POST", place + "?dryRun=All", {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **body})
    made = ask("POST", place, {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **body})
    has(made, body, kind)
    assert not differences(bare(dry), bare(made), kind + " dry"), differences(bare(dry), bare(made), kind + " dry")
    path = place + "/" + name
    for way, write in ways(path, made, version in ("x.io/v1", SNAPSHOT)):
        before = ask("GET", path)
        answer = write()
        after = ask("GET", path)
        assert not differences(bare(answer), bare(after), kind + " answer"), differences(bare(answer), bare(after), kind + " answer")
        assert after["metadata"]["annotations"]["whole"] == way, (kind, way)
        assert not differences(bare(before), bare(after), kind + " " + way), differences(bare(before), bare(after), kind + " " + way)
        assert after["metadata"].get("generation") == before["metadata"].get("generation"), (kind, way)
        has(after, body, kind + " after " + way)
    if kind in CONDITIONS:
        check_status(path, kind)


def define(plural, kind, scope):
    """A CustomResourceDefinition of the snapshot controller, once applied, serves its kind."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": schema}
    group = SNAPSHOT.split("/")[0]
    metadata = {"name": plural + "." + group, "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-csi/external-snapshotter"}}
    spec = {"group": group, "scope": scope, "names": {"plural": plural, "kind": kind}, "versions": [version]}
    ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {"metadata": metadata, "spec": spec})


define("volumesnapshots", "VolumeSnapshot", "Namespaced")
define("volumesnapshotclasses", "VolumeSnapshotClass", "Cluster")
served = {}
for version in {row[0] for row in OBJECTS} - {"x.io/v1"}:
    listed = ask("GET", "/api/v1" if version == "v1" else "/apis/" + version)
    served.update({(version, row["name"]): row["namespaced"] for row in listed["resources"]})
for row in OBJECTS:
    check(*row, served.get((row[0], row[1]), True))
    print("#", row[2], flush=True)
