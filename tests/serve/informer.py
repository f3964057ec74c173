#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another client than kubectl, python3-kubernetes, on `kvolsim serve`: an informer sees every change in order, conflicts and lost
   histories are told, patches and server-side apply work.
   informer.py PORT CHANGES"""
import sys
import threading

from kubernetes import client, watch
from kubernetes.client.rest import ApiException

port, wanted = int(sys.argv[1]), int(sys.argv[2])
configuration = client.Configuration()
configuration.host = f"http://127.0.0.1:{port}"
api = client.ApiClient(configuration)
core, apps = client.CoreV1Api(api), client.AppsV1Api(api)


def refused(code, call, *words, **more):
    try:
        call(*words, **more)
    except ApiException as error:
        assert error.status == code, error
        return error
    raise AssertionError(f"{call} was not refused")


# An informer: a list, and a watch from its version on. Each label counts one change.
core.create_namespaced_config_map("default", {"metadata": {"name": "count"}, "data": {"n": "0"}})
pods = core.list_namespaced_pod("default")
cache = {pod.metadata.name: pod.metadata.resource_version for pod in pods.items}
seen, versions = [], []


def inform():
    version = pods.metadata.resource_version
    stream = watch.Watch()
    while not seen or seen[-1] != wanted:  # a watch ends at its time, and the next goes on where it ended
        for event in stream.stream(core.list_namespaced_pod, "default", resource_version=version, timeout_seconds=60):
            pod = event["object"]
            version = pod.metadata.resource_version
            versions.append(int(version))
            cache[pod.metadata.name] = version
            label = (pod.metadata.labels or {}).get("n")
            if label is not None and event["type"] == "MODIFIED" and (not seen or seen[-1] != int(label)):
                seen.append(int(label))
            if label == str(wanted):
                stream.stop()


informer = threading.Thread(target=inform, daemon=True)
informer.start()
for i in range(1, wanted + 1):
    core.patch_namespaced_pod(pods.items[i % len(pods.items)].metadata.name, "default", {"metadata": {"labels": {"n": str(i)}}})
informer.join(timeout=120)
assert not informer.is_alive(), f"the informer waits; it has seen {len(seen)} of {wanted}"
assert seen == list(range(1, wanted + 1)), f"{len(seen)} of {wanted}: {seen[:5]} ..."
assert versions == sorted(versions), "out of order"
listed = {pod.metadata.name: pod.metadata.resource_version for pod in core.list_namespaced_pod("default").items}
assert listed == cache, "the cache is not what is stored"

# A version that is long forgotten: 410, and the library's watch tells it.
error = refused(410, core.list_namespaced_pod, "default", resource_version="1", watch=True, _preload_content=False)

# Conflicts.
old = core.read_namespaced_config_map("count", "default")
core.patch_namespaced_config_map("count", "default", {"data": {"n": "1"}})
old.data = {"n": "2"}
assert refused(409, core.replace_namespaced_config_map, "count", "default", old).reason == "Conflict"
refused(409, core.create_namespaced_config_map, "default", {"metadata": {"name": "count"}})
refused(404, core.read_namespaced_pod, "nothere", "default")
refused(422, core.create_namespaced_persistent_volume_claim, "default", {"metadata": {"name": "bad"}, "spec": {"resources": {}}})

# Typed objects there and back, scale, deletion with a precondition.
container = client.V1Container(name="c", image="i:1")
made = apps.create_namespaced_deployment("default", client.V1Deployment(
    metadata=client.V1ObjectMeta(name="web"), spec=client.V1DeploymentSpec(
        replicas=1, selector=client.V1LabelSelector(match_labels={"app": "web"}), template=client.V1PodTemplateSpec(
            metadata=client.V1ObjectMeta(labels={"app": "web"}), spec=client.V1PodSpec(containers=[container])))))
assert made.spec.strategy.type == "RollingUpdate" and made.spec.template.spec.dns_policy == "ClusterFirst"
assert apps.patch_namespaced_deployment_scale("web", "default", {"spec": {"replicas": 2}}).spec.replicas == 2
wrong = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="00000000-0000-0000-0000-000000000000"))
refused(409, apps.delete_namespaced_deployment, "web", "default", body=wrong)
apps.delete_namespaced_deployment("web", "default", propagation_policy="Foreground")
print(f"done: {wanted} changes, {len(versions)} events")
