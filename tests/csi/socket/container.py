# SPDX-License-Identifier: GPL-3.0-or-later
"""A volume's life with the driver of deploy/csi-driver.yaml, whose container is killed and made anew.

    container.py FOLDER PROGRAM

FOLDER has the stubs. The driver's container is a mount namespace in which FOLDER/host/kubelet is /var/lib/kubelet, as with
`mountPropagation: Bidirectional`: this process is the host. Prints TAP.
"""
import os
import signal
import stat
import subprocess
import sys
import time

FOLDER, PROGRAM = sys.argv[1:3]
sys.path.insert(0, FOLDER)
import csi_pb2 as pb  # noqa: E402
import csi_pb2_grpc as stubs  # noqa: E402
import grpc  # noqa: E402

HOST, KUBELET = FOLDER + "/host/kubelet", "/var/lib/kubelet"
SOCKET = HOST + "/csi.sock"
START = """set -e
mkdir -p /var/lib/kubelet
mount --rbind "$1" /var/lib/kubelet
shift
exec "$@"
"""
MI = 1 << 20
WRITER = pb.VolumeCapability.AccessMode(mode=1)
FILES = pb.VolumeCapability(mount=pb.VolumeCapability.MountVolume(fs_type="ext4"), access_mode=WRITER)
BLOCKS = pb.VolumeCapability(block=pb.VolumeCapability.BlockVolume(), access_mode=WRITER)


class Container:
    """A driver, and its stubs."""

    def __init__(self, *options):
        command = [PROGRAM, "csi", f"--endpoint=unix://{KUBELET}/csi.sock", "--node-id=node-1", "--log-format=none",
                   f"--state-dir={KUBELET}/state", f"--mount-root={KUBELET}", *options]
        self.process = subprocess.Popen(["unshare", "-m", "--propagation", "unchanged", "sh", "-c", START, "sh", HOST, *command],
                                        stderr=subprocess.PIPE, text=True)
        for _ in range(600):
            channel = grpc.insecure_channel("unix:" + SOCKET, options=[("grpc.use_local_subchannel_pool", 1)])
            try:
                grpc.channel_ready_future(channel).result(timeout=0.1)
                break
            except grpc.FutureTimeoutError:
                channel.close()
            assert self.process.poll() is None, self.process.stderr.read()
        self.channel, self.controller, self.node = channel, stubs.ControllerStub(channel), stubs.NodeStub(channel)

    def end(self, how):
        self.channel.close()
        self.process.send_signal(how)
        self.process.wait(60)


def seen(path):
    """Where the host finds a path of the kubelet's folder."""
    return HOST + path.removeprefix(KUBELET)


def mounts():
    with open("/proc/self/mounts") as file:
        return sum(" " + HOST + "/pods/" in line for line in file)


class Volume:
    """One volume: all its calls have the same arguments."""

    def __init__(self, driver, name, capability):
        made = driver.controller.CreateVolume(pb.CreateVolumeRequest(
            name=name, capacity_range=pb.CapacityRange(required_bytes=64 * MI), volume_capabilities=[capability])).volume
        self.id = {"volume_id": made.volume_id}
        self.staging = {"staging_target_path": f"{KUBELET}/plugins/{name}/globalmount"}
        self.target = {"target_path": f"{KUBELET}/pods/{name}/mount"}
        self.how = {"volume_capability": capability, "volume_context": made.volume_context}
        self.path = seen(self.target["target_path"])
        os.makedirs(seen(self.staging["staging_target_path"]))
        os.makedirs(os.path.dirname(self.path))

    def up(self, driver):
        context = driver.controller.ControllerPublishVolume(
            pb.ControllerPublishVolumeRequest(node_id="node-1", **self.id, **self.how)).publish_context
        self.how["publish_context"] = context
        driver.node.NodeStageVolume(pb.NodeStageVolumeRequest(**self.id, **self.staging, **self.how))
        self.publish(driver)

    def publish(self, driver):
        driver.node.NodePublishVolume(pb.NodePublishVolumeRequest(**self.id, **self.staging, **self.target, **self.how))

    def down(self, driver):
        driver.node.NodeUnpublishVolume(pb.NodeUnpublishVolumeRequest(**self.id, **self.target))
        driver.node.NodeUnstageVolume(pb.NodeUnstageVolumeRequest(**self.id, **self.staging))
        driver.controller.ControllerUnpublishVolume(pb.ControllerUnpublishVolumeRequest(node_id="node-1", **self.id))
        driver.controller.DeleteVolume(pb.DeleteVolumeRequest(**self.id))


def life(is_sized, is_device, *options):
    """Two volumes: the first driver publishes them and is killed, the second one repeats that and removes them."""
    driver = Container(*options)
    files, blocks = Volume(driver, "files", FILES), Volume(driver, "blocks", BLOCKS)
    files.up(driver)
    blocks.up(driver)
    assert mounts() >= 1, "the host sees no mount"
    with open(files.path + "/note", "w") as note:
        note.write("here")
    sizes = os.statvfs(files.path)
    assert not is_sized or 32 * MI <= sizes.f_blocks * sizes.f_frsize <= 64 * MI, sizes
    kind = os.stat(blocks.path).st_mode
    assert stat.S_ISBLK(kind) if is_device else stat.S_ISREG(kind), oct(kind)
    driver.end(signal.SIGKILL)
    assert os.path.exists(files.path + "/note"), "the mount went with the driver"
    driver = Container(*options)
    files.publish(driver)
    blocks.publish(driver)
    assert os.path.exists(files.path + "/note"), "the volume was mounted anew"
    files.down(driver)
    blocks.down(driver)
    assert mounts() == 0 and not os.path.exists(files.path), "something is left"
    driver.end(signal.SIGTERM)


def main():
    is_loop = os.access("/dev/loop-control", os.W_OK)
    cases = [("a file system in memory", "", (True, False, "--mount=tmpfs", "--speed=1000")),
             ("a folder", "", (False, False, "--mount=bind", "--speed=1000")),
             ("a loop device", "" if is_loop else "no loop devices", (True, True, "--backend=loop"))]
    failed = 0
    for number, (name, reason, arguments) in enumerate(cases, 1):
        subprocess.run(f"rm -rf '{HOST}' && mkdir -p '{HOST}' && mount --bind '{HOST}' '{HOST}' && mount --make-rshared '{HOST}'",
                       shell=True, check=True)
        start = time.monotonic()
        try:
            if not reason:
                life(*arguments)
            print(f"ok {number} - {name} outlives the driver's container{' # SKIP ' + reason if reason else ''}")
            print(f"# {time.monotonic() - start:.1f} s")
        except (AssertionError, OSError, grpc.RpcError) as fault:
            failed += 1
            print(f"not ok {number} - {name} outlives the driver's container\n# " + str(fault).replace("\n", "\n# "))
        subprocess.run([PROGRAM, "loop", "clean", "--state-dir", HOST + "/state"], check=False, capture_output=True)
        subprocess.run(["umount", "-R", HOST], check=False)
    print(f"1..{len(cases)}")
    return 1 if failed else 0


sys.exit(main())
