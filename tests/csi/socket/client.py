# SPDX-License-Identifier: GPL-3.0-or-later
"""An independent client of `kvolsim csi`: Google's gRPC with stubs that are made from the tree's csi.proto.

    client.py FOLDER-OF-STUBS PROGRAM SCENARIO

Prints TAP. A test is a function with a docstring, which says what it proves.
"""
import contextlib
import fcntl
import json
import os
import random
import resource
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, sys.argv[1])
import csi_pb2 as pb  # noqa: E402
import csi_pb2_grpc as stubs  # noqa: E402
import grpc  # noqa: E402

PROGRAM, SCENARIO = sys.argv[2:4]
with open(PROGRAM, "rb") as program:
    SANITIZED = b"__asan_init" in program.read()
GI = 1 << 30
Code = grpc.StatusCode
SCRATCH = tempfile.mkdtemp(prefix="kvolsim-csi-")


class Driver:
    """The process and its stubs."""

    def __init__(self, *options, node="node-1", name="csi", state=None, log="none"):
        self.socket = os.path.join(SCRATCH, name + ".sock")
        command = [PROGRAM, "csi", "--endpoint", "unix://" + self.socket, "--log-format", log]
        if not any(o in ("--profile", "--scenario") for o in options):
            command += ["--scenario", SCENARIO]
        if node:
            command += ["--node-id", node]
        if state:
            command += ["--state-dir", state]
        self.output = open(os.path.join(SCRATCH, name + ".log"), "w+")
        self.process = subprocess.Popen(command + list(options), stdout=self.output, stderr=subprocess.STDOUT)
        for _ in range(3000):  # a first attempt without a socket would cost a second of gRPC's back-off
            if self.listens() or self.process.poll() is not None:
                break
            time.sleep(0.01)
        self.channel = grpc.insecure_channel("unix:" + self.socket, options=[("grpc.use_local_subchannel_pool", 1)])
        grpc.channel_ready_future(self.channel).result(timeout=30)
        for service in ("Identity", "Controller", "Node", "GroupController"):
            stub = getattr(stubs, service + "Stub")(self.channel)
            for method in pb.DESCRIPTOR.services_by_name[service].methods:
                setattr(self, method.name, self.bind(getattr(stub, method.name), getattr(pb, method.input_type.name)))

    def listens(self):
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.socket) == 0

    @staticmethod
    def bind(call, request):
        def make(timeout=30, future=False, **fields):
            return (call.future if future else call)(request(**fields), timeout=timeout)
        return make

    def text(self):
        with open(self.output.name) as file:
            return file.read()

    def close(self, how=signal.SIGTERM):
        self.channel.close()
        self.process.send_signal(how)
        status = self.process.wait(timeout=60)
        self.output.close()
        return status


@contextlib.contextmanager
def driver(*options, **more):
    it = Driver(*options, **more)
    try:
        yield it
    finally:
        if it.process.poll() is None:
            status = it.close()
            assert status == 143, (status, it.text())


def mount(mode=1, fs_type="", flags=()):
    return pb.VolumeCapability(
        mount=pb.VolumeCapability.MountVolume(fs_type=fs_type, mount_flags=flags),
        access_mode=pb.VolumeCapability.AccessMode(mode=mode))


def block(mode=1):
    return pb.VolumeCapability(block=pb.VolumeCapability.BlockVolume(),
                               access_mode=pb.VolumeCapability.AccessMode(mode=mode))


def size(required=0, limit=0):
    return pb.CapacityRange(required_bytes=required, limit_bytes=limit)


def zone(name):
    return pb.Topology(segments={"topology.kubernetes.io/zone": name})


def create(d, name, **fields):
    fields.setdefault("volume_capabilities", [mount()])
    fields.setdefault("capacity_range", size(GI))
    return d.CreateVolume(name=name, **fields).volume


def refused(code, call, *args, **fields):
    try:
        answer = call(*args, **fields)
    except grpc.RpcError as error:
        assert error.code() == code, f"{error.code()} ({error.details()}), not {code}"
        assert error.details(), "an error without a message (CSI-7)"
        return error.details()
    raise AssertionError(f"{code} expected, answered {answer}")


def targets(name):
    """A staging path and a target path whose folder is there, as a kubelet makes them."""
    folder = os.path.join(SCRATCH, "kubelet", name)
    os.makedirs(os.path.join(folder, "staging"), exist_ok=True)
    return os.path.join(folder, "staging"), os.path.join(folder, "target")


def use(d, volume_id, name, node="node-1", capability=None):
    """Attaches, stages and publishes."""
    capability = capability or mount()
    staging, target = targets(name)
    d.ControllerPublishVolume(volume_id=volume_id, node_id=node, volume_capability=capability)
    d.NodeStageVolume(volume_id=volume_id, staging_target_path=staging, volume_capability=capability)
    d.NodePublishVolume(volume_id=volume_id, staging_target_path=staging, target_path=target, volume_capability=capability)
    return staging, target


def is_mounted(path):
    with open("/proc/self/mountinfo") as mounts_now:
        return any(line.split()[4] == path for line in mounts_now)


def eventually(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it does not come true")


# ---- Tests ----

def every_method_works():
    """every method of every service answers, and the answers have the fields of the specification"""
    with driver() as d:
        info = d.GetPluginInfo()
        assert (info.name, info.vendor_version) == ("everything.kvolsim.io", "1.0.0")
        services = {c.service.type for c in d.GetPluginCapabilities().capabilities if c.HasField("service")}
        assert services == {1, 2, 3}, services
        assert [c.volume_expansion.type for c in d.GetPluginCapabilities().capabilities if c.HasField("volume_expansion")] == [1]
        assert d.Probe().ready.value
        assert {c.rpc.type for c in d.ControllerGetCapabilities().capabilities} == set(range(1, 15))
        assert {c.rpc.type for c in d.NodeGetCapabilities().capabilities} == set(range(1, 7))
        assert [c.rpc.type for c in d.GroupControllerGetCapabilities().capabilities] == [1]
        node = d.NodeGetInfo()
        assert (node.node_id, node.max_volumes_per_node) == ("node-1", 30)
        assert dict(node.accessible_topology.segments) == {"topology.kubernetes.io/zone": "zone-a"}

        need = pb.TopologyRequirement(requisite=[zone("zone-a"), zone("zone-b")], preferred=[zone("zone-a")])
        volume = create(d, "one", accessibility_requirements=need, parameters={"type": "fast"}, mutable_parameters={"iops": "3"})
        assert volume.capacity_bytes == GI and list(volume.accessible_topology) == [zone("zone-a")]
        assert d.GetCapacity(accessible_topology=zone("zone-a")).available_capacity == 10 * 1024 * GI - GI
        assert d.GetCapacity().maximum_volume_size.value == 8 * 1024 * GI
        confirmed = d.ValidateVolumeCapabilities(volume_id=volume.volume_id, volume_capabilities=[mount()], parameters={"type": "fast"}).confirmed
        assert list(confirmed.volume_capabilities) == [mount()] and dict(confirmed.parameters) == {"type": "fast"}
        assert d.ValidateVolumeCapabilities(volume_id=volume.volume_id, volume_capabilities=[block()]).message

        staging, target = use(d, volume.volume_id, "one")
        assert os.path.isdir(target)
        entry, = d.ListVolumes().entries
        assert list(entry.status.published_node_ids) == ["node-1"] and not entry.status.volume_condition.abnormal
        assert list(d.ControllerGetVolume(volume_id=volume.volume_id).status.published_node_ids) == ["node-1"]
        usage = {u.unit: u for u in d.NodeGetVolumeStats(volume_id=volume.volume_id, volume_path=target).usage}
        assert usage[1].total == GI and usage[1].used + usage[1].available == GI and usage[2].total > 0
        expanded = d.ControllerExpandVolume(volume_id=volume.volume_id, capacity_range=size(2 * GI), volume_capability=mount())
        assert expanded.capacity_bytes == 2 * GI and expanded.node_expansion_required
        assert d.NodeExpandVolume(volume_id=volume.volume_id, volume_path=target).capacity_bytes == 2 * GI
        d.ControllerModifyVolume(volume_id=volume.volume_id, mutable_parameters={"iops": "9"})

        snapshot = d.CreateSnapshot(source_volume_id=volume.volume_id, name="shot").snapshot
        assert snapshot.ready_to_use and snapshot.size_bytes == 2 * GI and abs(snapshot.creation_time.seconds - time.time()) < 60
        assert [e.snapshot.snapshot_id for e in d.ListSnapshots(source_volume_id=volume.volume_id).entries] == [snapshot.snapshot_id]
        refused(Code.UNIMPLEMENTED, d.GetSnapshot, snapshot_id=snapshot.snapshot_id)
        restored = create(d, "two", capacity_range=size(2 * GI), volume_content_source=pb.VolumeContentSource(
            snapshot=pb.VolumeContentSource.SnapshotSource(snapshot_id=snapshot.snapshot_id)))
        assert restored.content_source.snapshot.snapshot_id == snapshot.snapshot_id
        clone = create(d, "three", capacity_range=size(2 * GI), volume_content_source=pb.VolumeContentSource(
            volume=pb.VolumeContentSource.VolumeSource(volume_id=volume.volume_id)))
        assert clone.content_source.volume.volume_id == volume.volume_id
        group = d.CreateVolumeGroupSnapshot(name="group", source_volume_ids=[volume.volume_id, clone.volume_id]).group_snapshot
        members = [s.snapshot_id for s in group.snapshots]
        assert len(members) == 2 and {s.group_snapshot_id for s in group.snapshots} == {group.group_snapshot_id}
        assert d.GetVolumeGroupSnapshot(group_snapshot_id=group.group_snapshot_id, snapshot_ids=members).group_snapshot.ready_to_use
        d.DeleteVolumeGroupSnapshot(group_snapshot_id=group.group_snapshot_id, snapshot_ids=members)

        d.NodeUnpublishVolume(volume_id=volume.volume_id, target_path=target)
        assert not os.path.exists(target)
        d.NodeUnstageVolume(volume_id=volume.volume_id, staging_target_path=staging)
        d.ControllerUnpublishVolume(volume_id=volume.volume_id, node_id="node-1")
        d.DeleteSnapshot(snapshot_id=snapshot.snapshot_id)
        for v in (volume, restored, clone):
            d.DeleteVolume(volume_id=v.volume_id)
        assert not d.ListVolumes().entries and not d.ListSnapshots().entries


def repeats_are_fine():
    """a repeated call is answered as the first time (CSI-3, CSI-4)"""
    with driver() as d:
        first = create(d, "one")
        assert create(d, "one") == first
        staging, target = use(d, first.volume_id, "repeat")
        assert use(d, first.volume_id, "repeat") == (staging, target)
        shot = d.CreateSnapshot(source_volume_id=first.volume_id, name="shot")
        assert d.CreateSnapshot(source_volume_id=first.volume_id, name="shot") == shot
        for _ in range(2):
            d.NodeUnpublishVolume(volume_id=first.volume_id, target_path=target)
            d.NodeUnstageVolume(volume_id=first.volume_id, staging_target_path=staging)
            d.ControllerUnpublishVolume(volume_id=first.volume_id, node_id="node-1")
            d.DeleteSnapshot(snapshot_id=shot.snapshot.snapshot_id)
            d.DeleteVolume(volume_id=first.volume_id)


def every_error():
    """each refusal of the specification's tables has its code and a message"""
    source = pb.VolumeContentSource
    bad, missing, exists, failed = Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.ALREADY_EXISTS, Code.FAILED_PRECONDITION
    with driver() as d:
        v = create(d, "one").volume_id
        other = create(d, "other").volume_id
        staging, target = use(d, v, "errors")
        shot = d.CreateSnapshot(source_volume_id=v, name="shot").snapshot.snapshot_id
        group = d.CreateVolumeGroupSnapshot(name="g", source_volume_ids=[v]).group_snapshot
        cases = [
            (bad, d.CreateVolume, dict(volume_capabilities=[mount()])),
            (bad, d.CreateVolume, dict(name="n")),
            (bad, d.CreateVolume, dict(name="n" * 129, volume_capabilities=[mount()])),
            (bad, d.CreateVolume, dict(name="n", volume_capabilities=[pb.VolumeCapability()])),
            (bad, d.CreateVolume, dict(name="n", volume_capabilities=[mount(0)])),
            (bad, d.CreateVolume, dict(name="n", volume_capabilities=[mount()], volume_content_source=source())),
            (bad, d.CreateVolume, dict(name="n", volume_capabilities=[mount()], mutable_parameters={"x": "1"})),
            (bad, d.CreateVolume, dict(name="n", volume_capabilities=[mount()], capacity_range=size(-1))),
            (exists, d.CreateVolume, dict(name="one", volume_capabilities=[mount()], capacity_range=size(5 * GI))),
            (missing, d.CreateVolume, dict(name="n", volume_capabilities=[mount()],
                                           volume_content_source=source(snapshot=source.SnapshotSource(snapshot_id="no")))),
            (missing, d.CreateVolume, dict(name="n", volume_capabilities=[mount()],
                                           volume_content_source=source(volume=source.VolumeSource(volume_id="no")))),
            (Code.OUT_OF_RANGE, d.CreateVolume, dict(name="n", volume_capabilities=[mount()], capacity_range=size(9 * 1024 * GI))),
            (bad, d.DeleteVolume, {}),
            (failed, d.DeleteVolume, dict(volume_id=v)),
            (bad, d.ControllerPublishVolume, dict(node_id="node-1", volume_capability=mount())),
            (bad, d.ControllerPublishVolume, dict(volume_id=v, volume_capability=mount())),
            (bad, d.ControllerPublishVolume, dict(volume_id=v, node_id="node-1")),
            (missing, d.ControllerPublishVolume, dict(volume_id="no", node_id="node-1", volume_capability=mount())),
            (missing, d.ControllerPublishVolume, dict(volume_id=other, node_id="no", volume_capability=mount())),
            (exists, d.ControllerPublishVolume, dict(volume_id=v, node_id="node-1", volume_capability=mount(), readonly=True)),
            (failed, d.ControllerPublishVolume, dict(volume_id=other, node_id="node-2", volume_capability=mount())),
            (bad, d.ControllerUnpublishVolume, dict(node_id="node-1")),
            (bad, d.ValidateVolumeCapabilities, dict(volume_id=v)),
            (bad, d.ValidateVolumeCapabilities, dict(volume_capabilities=[mount()])),
            (missing, d.ValidateVolumeCapabilities, dict(volume_id="no", volume_capabilities=[mount()])),
            (Code.ABORTED, d.ListVolumes, dict(starting_token="no")),
            (Code.ABORTED, d.ListSnapshots, dict(starting_token="no")),
            (bad, d.ListVolumes, dict(max_entries=-1)),
            (missing, d.ControllerGetVolume, dict(volume_id="no")),
            (bad, d.ControllerGetVolume, {}),
            (bad, d.ControllerModifyVolume, dict(mutable_parameters={"iops": "1"})),
            (missing, d.ControllerModifyVolume, dict(volume_id="no", mutable_parameters={"iops": "1"})),
            (bad, d.ControllerModifyVolume, dict(volume_id=v, mutable_parameters={"color": "1"})),
            (bad, d.ControllerExpandVolume, dict(capacity_range=size(GI))),
            (bad, d.ControllerExpandVolume, dict(volume_id=v)),
            (missing, d.ControllerExpandVolume, dict(volume_id="no", capacity_range=size(GI))),
            (Code.OUT_OF_RANGE, d.ControllerExpandVolume, dict(volume_id=v, capacity_range=size(9 * 1024 * GI))),
            (bad, d.CreateSnapshot, dict(name="s")),
            (bad, d.CreateSnapshot, dict(source_volume_id=v)),
            (missing, d.CreateSnapshot, dict(name="s", source_volume_id="no")),
            (exists, d.CreateSnapshot, dict(name="shot", source_volume_id=other)),
            (bad, d.DeleteSnapshot, {}),
            (bad, d.DeleteSnapshot, dict(snapshot_id=group.snapshots[0].snapshot_id)),
            (bad, d.CreateVolumeGroupSnapshot, dict(source_volume_ids=[v])),
            (bad, d.CreateVolumeGroupSnapshot, dict(name="h")),
            (missing, d.CreateVolumeGroupSnapshot, dict(name="h", source_volume_ids=["no"])),
            (exists, d.CreateVolumeGroupSnapshot, dict(name="g", source_volume_ids=[other])),
            (bad, d.GetVolumeGroupSnapshot, {}),
            (missing, d.GetVolumeGroupSnapshot, dict(group_snapshot_id="no", snapshot_ids=["no"])),
            (bad, d.DeleteVolumeGroupSnapshot, {}),
            (bad, d.NodeStageVolume, dict(staging_target_path=staging, volume_capability=mount())),
            (bad, d.NodeStageVolume, dict(volume_id=v, volume_capability=mount())),
            (bad, d.NodeStageVolume, dict(volume_id=v, staging_target_path=staging)),
            (missing, d.NodeStageVolume, dict(volume_id="no", staging_target_path=staging, volume_capability=mount())),
            (failed, d.NodeStageVolume, dict(volume_id=other, staging_target_path=staging, volume_capability=mount())),
            (exists, d.NodeStageVolume, dict(volume_id=v, staging_target_path=staging, volume_capability=mount(fs_type="xfs"))),
            (bad, d.NodeUnstageVolume, dict(volume_id=v)),
            (Code.INTERNAL, d.NodeUnstageVolume, dict(volume_id=v, staging_target_path=staging)),
            (bad, d.NodePublishVolume, dict(target_path=target, volume_capability=mount())),
            (bad, d.NodePublishVolume, dict(volume_id=v, staging_target_path=staging, volume_capability=mount())),
            (bad, d.NodePublishVolume, dict(volume_id=v, staging_target_path=staging, target_path=target)),
            (failed, d.NodePublishVolume, dict(volume_id=v, target_path=target, volume_capability=mount())),
            (missing, d.NodePublishVolume, dict(volume_id="no", staging_target_path=staging, target_path=target, volume_capability=mount())),
            (exists, d.NodePublishVolume, dict(volume_id=v, staging_target_path=staging, target_path=target, volume_capability=mount(), readonly=True)),
            (bad, d.NodeUnpublishVolume, dict(volume_id=v)),
            (missing, d.NodeUnpublishVolume, dict(volume_id="no", target_path=target)),
            (bad, d.NodeGetVolumeStats, dict(volume_path=target)),
            (bad, d.NodeGetVolumeStats, dict(volume_id=v)),
            (missing, d.NodeGetVolumeStats, dict(volume_id="no", volume_path=target)),
            (missing, d.NodeGetVolumeStats, dict(volume_id=v, volume_path="some/path")),
            (missing, d.NodeExpandVolume, dict(volume_id="no", volume_path=target)),
            (bad, d.NodeExpandVolume, dict(volume_id=v)),
        ]
        for number, (code, call, fields) in enumerate(cases):
            try:
                refused(code, call, **fields)
            except AssertionError as fault:
                raise AssertionError(f"case {number} {fields}: {fault}") from None
        for i in range(29):
            more = create(d, f"more-{i}").volume_id
            d.ControllerPublishVolume(volume_id=more, node_id="node-1", volume_capability=mount())
        refused(Code.RESOURCE_EXHAUSTED, d.ControllerPublishVolume, volume_id=other, node_id="node-1", volume_capability=mount())


def pages():
    """a list comes in pages, and a token survives the end of the volume that it points to"""
    with driver() as d:
        ids = [create(d, f"v-{i}").volume_id for i in range(7)]
        seen, token = [], ""
        while True:
            page = d.ListVolumes(max_entries=3, starting_token=token)
            seen += [e.volume.volume_id for e in page.entries]
            token = page.next_token
            if not token:
                break
            if len(seen) == 3:
                d.DeleteVolume(volume_id=ids[3])
        assert seen == ids[:3] + ids[4:], seen


def paths_lead_nowhere_else():
    """neither "..", nor a symbolic link, nor a path outside of --mount-root is used as a target"""
    inside = os.path.join(SCRATCH, "root")
    os.makedirs(inside, exist_ok=True)
    outside = os.path.join(SCRATCH, "outside")
    os.makedirs(outside, exist_ok=True)
    if not os.path.islink(os.path.join(inside, "link")):
        os.symlink(outside, os.path.join(inside, "link"))
    with driver("--mount-root", inside) as d:
        v = create(d, "one").volume_id
        staging = os.path.join(inside, "staging")
        d.ControllerPublishVolume(volume_id=v, node_id="node-1", volume_capability=mount())
        d.NodeStageVolume(volume_id=v, staging_target_path=staging, volume_capability=mount())
        for bad in ("relative", inside + "/../outside/x", inside + "/link/x", outside + "/x", inside + "/./x", "/"):
            refused(Code.INVALID_ARGUMENT, d.NodePublishVolume, volume_id=v, staging_target_path=staging, target_path=bad, volume_capability=mount())
            if bad != "/":
                refused(Code.INVALID_ARGUMENT, d.NodeUnpublishVolume, volume_id=v, target_path=bad)
            d.NodeUnpublishVolume(volume_id=v, target_path=os.path.join(inside, "none"))
        refused(Code.INVALID_ARGUMENT, d.NodeStageVolume, volume_id=v, staging_target_path="/a/../b", volume_capability=mount())
        assert os.listdir(outside) == []


def latency_limits_errors():
    """calls take the latency of the scenario, wait for its limits, and fail as it says"""
    slow = ("--set", "spec.drivers[0].latency={CreateVolume: 300ms}",
            "--set", "spec.drivers[0].limits=[{methods: [CreateVolume], concurrent: 1}]",
            "--set", "spec.drivers[0].errors=[{method: DeleteVolume, code: UNAVAILABLE, message: out of order, count: 1}]")
    with driver(*slow) as d:
        start = time.monotonic()
        calls = [d.CreateVolume(future=True, name=f"v-{i}", volume_capabilities=[mount()]) for i in range(3)]
        ends = []
        for call in calls:
            call.result()
            ends.append(time.monotonic() - start)
        assert ends[0] >= 0.3 and ends[2] >= 0.9, ends
        v = calls[0].result().volume.volume_id
        assert refused(Code.UNAVAILABLE, d.DeleteVolume, volume_id=v) == "out of order"
        d.DeleteVolume(volume_id=v)


def deadlines_and_cancellations():
    """a caller that gives up gets DEADLINE_EXCEEDED or CANCELLED; the work goes on, a second call meanwhile is ABORTED, and a
    repeat finds the volume (CSI-5, CSI-46)"""
    with driver("--set", "spec.drivers[0].latency={CreateVolume: 4s}") as d:
        refused(Code.DEADLINE_EXCEEDED, create, d, "one", timeout=0.2)
        refused(Code.ABORTED, create, d, "one")
        call = d.CreateVolume(future=True, name="two", volume_capabilities=[mount()])
        time.sleep(1)
        call.cancel()
        eventually(lambda: len(d.ListVolumes().entries) == 2)


def second_calls_wait():
    """with lockWaits a second call about a volume is not ABORTED: it waits for the first one, also if that one's caller has gone"""
    with driver("--set", "spec.drivers[0].latency={CreateVolume: 1s, DeleteVolume: 1s}", "--set", "spec.drivers[0].lockWaits=true") as d:
        calls = [d.CreateVolume(future=True, name="one", volume_capabilities=[mount()]) for _ in range(20)]
        assert len({call.result().volume.volume_id for call in calls}) == 1
        v = calls[0].result().volume.volume_id
        refused(Code.DEADLINE_EXCEEDED, d.DeleteVolume, volume_id=v, timeout=0.2)
        waiting = [d.DeleteVolume(future=True, volume_id=v) for _ in range(5)]
        waiting[1].cancel()
        for i in (0, 2, 3, 4):
            waiting[i].result()
        assert not d.ListVolumes().entries


def many_at_once():
    """a thousand volumes by forty callers at once: each is there once"""
    with driver("--set", "spec.drivers[0].latency={CreateVolume: {uniform: {min: 1ms, max: 30ms}}}") as d:
        ids = {}

        def work(first):
            for i in range(first, 1000, 40):
                ids[i] = create(d, f"v-{i}").volume_id
        threads = [threading.Thread(target=work, args=(i,)) for i in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(ids.values())) == 1000
        assert {e.volume.volume_id for e in d.ListVolumes().entries} == set(ids.values())


def memory_survives():
    """after SIGTERM and after kill -9 everything that was answered is there: volumes, snapshots, groups, attachments, mounts"""
    for how in (signal.SIGTERM, signal.SIGKILL):
        state = os.path.join(SCRATCH, f"state-{how}")
        with driver(state=state) as d:
            v = create(d, "one", parameters={"type": "fast"})
            gone = create(d, "gone").volume_id
            d.DeleteVolume(volume_id=gone)
            staging, target = use(d, v.volume_id, f"state-{how}")
            d.ControllerExpandVolume(volume_id=v.volume_id, capacity_range=size(3 * GI))
            shot = d.CreateSnapshot(source_volume_id=v.volume_id, name="shot")
            group = d.CreateVolumeGroupSnapshot(name="g", source_volume_ids=[v.volume_id])
            volumes, snapshots = d.ListVolumes(), d.ListSnapshots()
            d.close(how)
        with driver(state=state) as d:
            assert d.ListVolumes() == volumes, (d.ListVolumes(), volumes)
            assert d.ListSnapshots() == snapshots
            assert d.CreateSnapshot(source_volume_id=v.volume_id, name="shot") == shot
            assert d.CreateVolumeGroupSnapshot(name="g", source_volume_ids=[v.volume_id]) == group
            refused(Code.ALREADY_EXISTS, create, d, "one", parameters={"type": "slow"}, capacity_range=size(3 * GI))
            refused(Code.FAILED_PRECONDITION, d.DeleteVolume, volume_id=v.volume_id)
            d.NodeGetVolumeStats(volume_id=v.volume_id, volume_path=target)
            refused(Code.INTERNAL, d.NodeUnstageVolume, volume_id=v.volume_id, staging_target_path=staging)
            d.NodeUnpublishVolume(volume_id=v.volume_id, target_path=target)
            d.NodeUnstageVolume(volume_id=v.volume_id, staging_target_path=staging)


class Told:
    """What a driver has answered so far; calls without an answer may have had their effect."""

    def __init__(self):
        self.volumes, self.snapshots, self.attached, self.deleted, self.doubtful, self.faults = {}, {}, set(), set(), set(), []

    def work(self, d, prefix):
        """Calls of all kinds, until one has no answer."""
        try:
            for i in range(100000):
                name = f"{prefix}-{i}"
                self.volumes[name] = volume = create(d, name)
                if i % 3 == 0:
                    self.doubtful.add(name)
                    d.ControllerPublishVolume(volume_id=volume.volume_id, node_id="node-1", volume_capability=mount())
                    if i % 2 == 0:
                        d.ControllerUnpublishVolume(volume_id=volume.volume_id, node_id="node-1")
                    else:
                        self.attached.add(volume.volume_id)
                    self.doubtful.discard(name)
                if i % 4 == 0:
                    self.snapshots[name] = d.CreateSnapshot(name=name, source_volume_id=volume.volume_id)
                if i % 10 == 0:
                    self.doubtful.add(name)
                    d.DeleteVolume(volume_id=volume.volume_id)
                    self.deleted.add(name)
        except grpc.RpcError as error:
            if error.code() != Code.UNAVAILABLE:
                self.faults.append(error)

    def check(self, d):
        ids = {e.volume.volume_id: e for e in d.ListVolumes().entries}
        for name, volume in self.volumes.items():
            if name in self.deleted:
                assert volume.volume_id not in ids, f"{name} is there again"
            elif name not in self.doubtful:
                assert create(d, name) == volume, name
                assert list(ids[volume.volume_id].status.published_node_ids) == (["node-1"] if volume.volume_id in self.attached else []), name
        for name, answer in self.snapshots.items():
            assert d.CreateSnapshot(name=name, source_volume_id=answer.snapshot.source_volume_id) == answer, name


def killed_at_random_instants():
    """kill -9 at random instants of many calls at once, again and again: what was answered is there, and a repeat has the same answer"""
    state, told = os.path.join(SCRATCH, "state-random"), Told()
    seed = int.from_bytes(os.urandom(4), "big")
    instants = random.Random(seed)
    try:
        for round_number in range(int(os.environ.get("KILLS", "6"))):
            with driver("--set", "spec.drivers[0].attachLimit=100000", "--set", "spec.drivers[0].pools=[{zone: zone-a, capacity: 1Pi}]",
                        state=state, name="random") as d:
                told.check(d)
                timer = threading.Timer(instants.uniform(0.02, 1), d.process.kill)
                callers = [threading.Thread(target=told.work, args=(d, f"r{round_number}-{i}")) for i in range(8)]
                for thread in callers + [timer]:
                    thread.start()
                for thread in callers:
                    thread.join()
                d.process.wait()
        counts = [len(kind) for kind in (told.volumes, told.snapshots, told.attached, told.deleted)]
        assert all(counts) and not told.faults, (counts, told.faults[:1])
        with sqlite3.connect(f"file:{state}/csi.sqlite?mode=ro", uri=True) as db:
            assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    except Exception as fault:
        raise AssertionError(f"seed {seed}, round {round_number}: {type(fault).__name__} {fault}") from fault


def two_processes():
    """controller and node are two processes that share a volume's context only; the name of any node will do"""
    with driver("--services", "controller", "--profile", "aws-ebs-gp3", "--speed", "1000", node=None, name="controller") as c, \
            driver("--services", "node", "--profile", "aws-ebs-gp3", "--speed", "1000", node="far", name="node") as n:
        volume = create(c, "one", capacity_range=size(5 * GI))
        context = c.ControllerPublishVolume(volume_id=volume.volume_id, node_id="far", volume_capability=mount()).publish_context
        refused(Code.UNIMPLEMENTED, c.NodeGetInfo)
        refused(Code.UNIMPLEMENTED, create, n, "two")
        staging, target = targets("far")
        fields = dict(volume_id=volume.volume_id, staging_target_path=staging, volume_capability=mount(),
                      volume_context=volume.volume_context, publish_context=context)
        n.NodeStageVolume(**fields)
        n.NodePublishVolume(target_path=target, **fields)
        stats = n.NodeGetVolumeStats(volume_id=volume.volume_id, volume_path=target)
        assert stats.usage[0].total == 5 * GI, stats
        n.NodeUnpublishVolume(volume_id=volume.volume_id, target_path=target)
        n.NodeUnstageVolume(volume_id=volume.volume_id, staging_target_path=staging)


def hostile_callers():
    """malformed, oversized and unknown things are refused, and the driver goes on"""
    with driver() as d:
        def raw(method, data):
            return d.channel.unary_unary(method, request_serializer=None, response_deserializer=None)(data, timeout=10)
        path = "/csi.v1.Controller/CreateVolume"
        for data in (b"\xff" * 20, b"\x0a\xff\xff\xff\xff\x7f", b"\x0a\x03ab", b"\x0a\x02\xff\xfe"):
            refused(Code.INVALID_ARGUMENT, raw, path, data)
        refused(Code.UNIMPLEMENTED, raw, "/csi.v1.Controller/DropTable", b"")
        refused(Code.UNIMPLEMENTED, raw, "/" + "x" * 3000, b"")
        refused(Code.RESOURCE_EXHAUSTED, raw, path, b"\x0a\x80\x80\x80\x02" + b"x" * (4 << 20))
        refused(Code.INVALID_ARGUMENT, create, d, "one", parameters={"k": "x" * 70000})
        refused(Code.INVALID_ARGUMENT, create, d, "one", parameters={str(i): "x" for i in range(20000)})
        known = pb.CreateVolumeRequest(name="one", volume_capabilities=[mount()]).SerializeToString()
        raw(path, known + b"\xfa\x3f\x03abc")  # field 1023, which is not known: fine
        idle = []
        for _ in range(300):
            s = socket.socket(socket.AF_UNIX)
            s.connect(d.socket)
            s.send(b"GET / HTTP/1.1\r\n\r\n" if len(idle) % 2 else os.urandom(100))
            idle.append(s)
        assert d.Probe().ready.value and len(d.ListVolumes().entries) == 1
        for s in idle:
            s.close()


def thousands_of_connections():
    """three thousand connections, three thousand waiting calls and calls with large maps: memory stays small, and others are served"""
    with driver("--set", "spec.drivers[0].latency={CreateVolume: 20s}", "--services", "controller", node=None) as d:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
        sockets = []
        for _ in range(min(3000, limit[1] - 200)):
            s = socket.socket(socket.AF_UNIX)
            s.setblocking(False)
            try:
                s.connect(d.socket)
            except BlockingIOError:
                time.sleep(0.05)
            sockets.append(s)
        calls = [d.CreateVolume(future=True, timeout=60, name=f"v-{i}", volume_capabilities=[mount()],
                                parameters={"k": "x" * 1000}) for i in range(3000)]
        again = [d.CreateVolume(future=True, timeout=60, name="v-0", volume_capabilities=[mount()],
                                parameters={str(k): "x" * 90 for k in range(500)}) for i in range(100)]
        for call in again:
            refused(Code.ABORTED, call.result)
        assert d.Probe().ready.value
        with open(f"/proc/{d.process.pid}/status") as status:
            peak = [int(line.split()[1]) for line in status if line.startswith("VmHWM")][0] >> 10
        assert peak < (1500 if SANITIZED else 300), f"{peak} MiB"
        for call in calls:
            call.cancel()
        for s in sockets:
            s.close()
        eventually(lambda: d.Probe().ready.value)
        d.close(signal.SIGKILL)


def mounts():
    """with --mount tmpfs and bind a pod finds a file system of its size; a read-only one cannot be written; bind keeps its data"""
    for mode in ("tmpfs", "bind"):
        state = os.path.join(SCRATCH, "state-" + mode)
        with driver("--mount", mode, state=state, name="mount-" + mode) as d:
            v = create(d, "one", capacity_range=size(16 << 20)).volume_id
            staging, target = use(d, v, mode)
            assert is_mounted(target)
            assert use(d, v, mode) == (staging, target)
            if mode == "tmpfs":
                assert os.statvfs(target).f_blocks * os.statvfs(target).f_frsize == 16 << 20
                d.ControllerExpandVolume(volume_id=v, capacity_range=size(32 << 20))
                d.NodeExpandVolume(volume_id=v, volume_path=target)
                assert os.statvfs(target).f_blocks * os.statvfs(target).f_frsize == 32 << 20
            with open(os.path.join(target, "file"), "w") as file:
                file.write("data")
            d.close(signal.SIGKILL)
        with driver("--mount", mode, state=state, name="mount-" + mode) as d:
            assert use(d, v, mode) == (staging, target)
            assert open(os.path.join(target, "file")).read() == "data"
            d.NodeUnpublishVolume(volume_id=v, target_path=target)
            assert not os.path.exists(target)
            d.NodePublishVolume(volume_id=v, staging_target_path=staging, target_path=target, volume_capability=mount(), readonly=True)
            assert os.path.exists(os.path.join(target, "file")) == (mode == "bind")
            try:
                open(os.path.join(target, "more"), "w")
                raise AssertionError("a read-only volume was written")
            except OSError:
                pass
            d.NodeUnpublishVolume(volume_id=v, target_path=target)
            d.NodeUnstageVolume(volume_id=v, staging_target_path=staging)
            d.ControllerUnpublishVolume(volume_id=v, node_id="node-1")
            d.DeleteVolume(volume_id=v)
            assert not os.path.isdir(os.path.join(state, "volumes")) or os.listdir(os.path.join(state, "volumes")) == []


def real_devices():
    """with --backend loop a pod has a file system that keeps its data over kill -9, and a snapshot that has them, too"""
    state = tempfile.mkdtemp(prefix="csi-devices-", dir=os.environ.get("KVOLSIM_BUILDDIR"))
    options = ("--backend", "loop", "--profile", "generic")
    with open(os.path.join(tempfile.gettempdir(), "kvolsim-loop-tests.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with driver(*options, state=state, name="loop") as d:
                v = create(d, "one", capacity_range=size(32 << 20)).volume_id
                staging, target = use(d, v, "loop")
                assert is_mounted(target)
                with open(os.path.join(target, "file"), "w") as file:
                    file.write("data")
                    os.fsync(file.fileno())
                d.close(signal.SIGKILL)
            with driver(*options, state=state, name="loop") as d:
                assert create(d, "one", capacity_range=size(32 << 20)).volume_id == v
                assert use(d, v, "loop") == (staging, target)
                assert open(os.path.join(target, "file")).read() == "data"
                d.NodeUnpublishVolume(volume_id=v, target_path=target)
                assert not os.path.exists(target)
                d.NodeUnstageVolume(volume_id=v, staging_target_path=staging)
                d.ControllerUnpublishVolume(volume_id=v, node_id="node-1")
                shot = d.CreateSnapshot(source_volume_id=v, name="shot").snapshot.snapshot_id
                w = create(d, "two", capacity_range=size(32 << 20), volume_content_source=pb.VolumeContentSource(
                    snapshot=pb.VolumeContentSource.SnapshotSource(snapshot_id=shot))).volume_id
                staging, target = use(d, w, "loop-two")
                assert open(os.path.join(target, "file")).read() == "data"
                d.close(signal.SIGKILL)
            subprocess.run(["umount", target], check=True)
        finally:
            clean = subprocess.run([PROGRAM, "loop", "clean", "--state-dir", state], capture_output=True, text=True)
        assert clean.returncode == 0, clean
        os.rmdir(state) if not os.listdir(state) else subprocess.run(["rm", "-rf", "--one-file-system", state], check=True)


def socket_and_signals():
    """the socket is its owner's only, a stale one is replaced, a live one is not; SIGTERM answers calls that are under way"""
    with driver("--set", "spec.drivers[0].latency={CreateVolume: 3s}", name="own") as d:
        assert stat.S_IMODE(os.stat(d.socket).st_mode) == 0o600
        again = subprocess.run([PROGRAM, "csi", "--endpoint", d.socket, "--scenario", SCENARIO], capture_output=True, text=True)
        assert again.returncode == 1 and "another process listens there" in again.stderr, again
        call = d.CreateVolume(future=True, name="one", volume_capabilities=[mount()])
        time.sleep(1)
        d.process.terminate()
        assert call.result().volume.volume_id
        assert d.process.wait(timeout=30) == 143
        assert not os.path.exists(d.socket)
    with driver(name="own") as d:
        d.close(signal.SIGKILL)
        assert os.path.exists(d.socket)
    with driver(name="own") as d:
        assert d.Probe().ready.value
    with open(os.path.join(SCRATCH, "file"), "w") as file:
        file.write("precious")
    bad = subprocess.run([PROGRAM, "csi", "--endpoint", file.name, "--scenario", SCENARIO], capture_output=True, text=True)
    assert bad.returncode == 1 and "is no socket" in bad.stderr and open(file.name).read() == "precious"


def logs_and_metrics():
    """logs have a line for each call and no secret; the mock format is that of csi-test; metrics count calls"""
    for form in ("text", "json", "mock"):
        with driver("--metrics", "127.0.0.1:0", log=form, name="log-" + form) as d:
            create(d, "one", secrets={"password": "hush"})
            refused(Code.INVALID_ARGUMENT, d.DeleteVolume, secrets={"password": "hush"})
            where = [word for word in d.text().replace('"', " ").split() if word.endswith("/metrics")][0]
            scrape = urllib.request.urlopen(where, timeout=10).read().decode()
            d.close()
            with open(os.path.join(SCRATCH, f"log-{form}.log")) as file:
                lines = file.read()
        assert "hush" not in lines and "password" not in lines
        assert 'grpc_status_code="OK",job="kvolsim",method_name="/csi.v1.Controller/CreateVolume",le="+Inf"} 1' in scrape, scrape
        if form == "mock":
            calls = [json.loads(line.split("gRPCCall: ", 1)[1]) for line in lines.splitlines() if line.startswith("gRPCCall: ")]
            assert [c["Method"] for c in calls] == ["/csi.v1.Controller/CreateVolume", "/csi.v1.Controller/DeleteVolume"]
            assert calls[0]["Error"] == "" and calls[0]["FullError"] is None and calls[0]["Request"]["name"] == "one"
            assert calls[1]["FullError"]["code"] == 3 and calls[1]["Error"].startswith("rpc error: code = InvalidArgument desc = ")


def journal_of_calls():
    """the journal has each call with its duration, and kvolsim fit makes a profile of it"""
    journal = os.path.join(SCRATCH, "calls.jsonl")
    with driver("--journal", journal, "--set", "spec.drivers[0].latency={CreateVolume: {uniform: {min: 40ms, max: 60ms}}}") as d:
        for i in range(30):
            create(d, f"v-{i}")
        d.DeleteVolume(volume_id=create(d, "v-0").volume_id)
    with open(journal) as file:
        head, *rows = [json.loads(line) for line in file]
    assert head["driver"] == "everything.kvolsim.io"
    made = [r for r in rows if r["call"] == "CreateVolume"]
    assert len(made) == 31 and all(r["code"] == "OK" and r["endedAt"] - r["startedAt"] >= 40e6 for r in made[:30]), made
    fitted = subprocess.run([PROGRAM, "fit", journal], capture_output=True, text=True)
    assert fitted.returncode == 0 and "CreateVolume:" in fitted.stdout and "Probe:" not in fitted.stdout, fitted


def journal_replayed():
    """kvolsim replay makes the calls of a journal again: they take as long with their own profile, and not with another one"""
    journal = os.path.join(SCRATCH, "replayed.jsonl")
    with driver("--journal", journal, "--profile", "aws-ebs-gp3", "--speed", "20", name="replayed") as d:
        old = create(d, "old")
        calls = [d.CreateVolume(future=True, timeout=60, name=f"v-{i}", volume_capabilities=[mount()], capacity_range=size(5 * GI))
                 for i in range(30)]
        ids = [call.result().volume.volume_id for call in calls]
        for i, volume_id in enumerate(ids[:20]):
            staging, target = use(d, volume_id, f"replayed-{i}")
            d.NodeUnpublishVolume(volume_id=volume_id, target_path=target)
            d.NodeUnstageVolume(volume_id=volume_id, staging_target_path=staging)
            d.ControllerUnpublishVolume(volume_id=volume_id, node_id="node-1")
        d.CreateSnapshot(source_volume_id=ids[0], name="shot")
        refused(Code.NOT_FOUND, d.ControllerPublishVolume, volume_id="no", node_id="node-1", volume_capability=mount())
        for volume_id in ids + [old.volume_id]:
            d.DeleteVolume(volume_id=volume_id)

    def replay(*options):
        done = subprocess.run([PROGRAM, "replay", journal, *options], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr
    own, other = replay(), replay("--profile", "nfs")
    assert own == replay(), "not the same bytes"
    assert own[0] == 0 and "the calls agree" in own[1] and "they failed or had no end: 1\n" in own[1], own
    assert other[0] == 3 and "DIFFER" in other[1], other
    code, text = replay("--format", "json")
    counts = {c["call"]: c["recorded"]["count"] for c in json.loads(text)["calls"]}
    assert code == 0 and counts["CreateVolume"] == 31 and counts["NodeStageVolume"] == 20 and counts["DeleteVolume"] == 31, counts
    assert replay("--fit")[0] == 2 and replay("--profile", "none-such")[0] == 2
    with open(journal, "a") as file:
        file.write('{"call": "CreateVolume"}\n')
    code, text = replay()
    assert code == 2 and "this is no call of a journal" in text, text


def faults_by_the_clock():
    """the scenario's faults of the driver strike by the clock: it hangs, and goes on"""
    with driver("--set", "spec.faults=[{at: 500ms, driver: everything.kvolsim.io, do: hang, for: 2s}]", log="text", name="faults") as d:
        eventually(lambda: "hang: begins" in d.text())
        d.Probe()
        eventually(lambda: "Probe" in d.text())
        assert d.text().index("hang: ends") < d.text().index("Probe"), d.text()


def main():
    tests = [every_method_works, repeats_are_fine, every_error, pages, paths_lead_nowhere_else, latency_limits_errors,
             deadlines_and_cancellations, second_calls_wait, many_at_once, memory_survives, killed_at_random_instants, two_processes,
             hostile_callers, thousands_of_connections, mounts, real_devices, socket_and_signals, logs_and_metrics, journal_of_calls, journal_replayed,
             faults_by_the_clock]
    needs = {mounts: (os.geteuid() == 0, "needs root"),
             real_devices: (os.geteuid() == 0 and os.access("/dev/loop-control", os.W_OK), "needs root and /dev/loop-control")}
    if len(sys.argv) > 4:
        tests = [t for t in tests if t.__name__ in sys.argv[4:]]
    print(f"1..{len(tests)}")
    failed = 0
    for number, test in enumerate(tests, 1):
        text = " ".join(test.__doc__.split())
        may, reason = needs.get(test, (True, ""))
        if not may:
            print(f"ok {number} - {text} # SKIP {reason}", flush=True)
            continue
        try:
            test()
            print(f"ok {number} - {text}", flush=True)
        except Exception as fault:  # any: the next test still runs
            failed += 1
            print(f"not ok {number} - {text}\n# {type(fault).__name__}: " + str(fault).replace("\n", "\n# "), flush=True)
    with open("/proc/self/mountinfo") as mounts_now:  # of a test that failed
        for path in [line.split()[4] for line in mounts_now if line.split()[4].startswith(SCRATCH)]:
            subprocess.run(["umount", path], check=False)
    subprocess.run(["rm", "-rf", "--one-file-system", SCRATCH], check=False)
    return 1 if failed else 0


sys.exit(main())
