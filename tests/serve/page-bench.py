#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How well the page of `kvolsim serve` runs in a real Chromium (Debian: chromium-driver, python3-selenium; without them: nothing).
   page-bench.py KVOLSIM SOURCE: the first paint of burst-100; frames a second while 100 pods start, and on 5,000 nodes.
   page-bench.py KVOLSIM SOURCE soak [MINUTES]: memory of the page and of the server at speed 60, while a pod with a claim comes and
   goes every four virtual seconds, and the reader looks at everything."""
import pathlib
import re
import subprocess
import sys
import time

program, source = sys.argv[1], pathlib.Path(sys.argv[2])
FRAMES = """const [seconds, done] = arguments, times = [];
const frame = (now) => { times.push(now); if (now - times[0] < seconds * 1000) requestAnimationFrame(frame); else done(times); };
requestAnimationFrame(frame);"""

try:
    from browser import Page
except ImportError:
    sys.exit(0)


class Served:
    """A server of a scenario with the page in front of it."""

    def __init__(self, *arguments):
        self.server = subprocess.Popen([program, "serve", *arguments, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
        self.port = re.search(r"http://127.0.0.1:(\d+)", self.server.stdout.readline()).group(1)
        self.page = Page(self.port)
        assert self.page.wait(lambda: self.page.find("body[data-ready]"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.page.close()
        self.server.terminate()
        self.server.wait()

    def metrics(self):
        return {one["name"]: one["value"] for one in self.page.browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]}

    def frames(self, name, seconds=10):
        """Frames a second while time passes, and the share of that time in which the page's thread was busy."""
        self.page.browser.set_script_timeout(120)
        self.page.browser.execute_cdp_cmd("Performance.enable", {})
        time.sleep(2)
        before = self.metrics()
        times = self.page.browser.execute_async_script(FRAMES, seconds)
        after = self.metrics()
        gaps = sorted(b - a for a, b in zip(times, times[1:]))
        rate = (len(times) - 1) / (times[-1] - times[0]) * 1000
        busy = (after["TaskDuration"] - before["TaskDuration"]) / (after["Timestamp"] - before["Timestamp"])
        print(f"page_frames_{name} {rate:.1f} frames/s\npage_frame_{name} {1000 / rate:.2f} ms\npage_frame_p99_{name} {gaps[len(gaps) * 99 // 100]:.1f} ms\npage_busy_{name} {busy * 100:.0f} %", flush=True)


def first_paint():
    """The best of five: the first paint, and the first stage with everything on it, since the page was asked for."""
    best = [1e9, 1e9]
    for _ in range(5):
        with Served(str(source / "scenarios/burst-100.yaml"), "--at", "30s", "--speed", "1") as served:
            found = served.page.browser.execute_script(
                "return [performance.getEntriesByName('first-contentful-paint')[0].startTime, performance.getEntriesByName('stage')[0].startTime]")
            best = [min(pair) for pair in zip(best, found)]
    print(f"page_first_paint {best[0] / 1000:.2f} s\npage_first_stage {best[1] / 1000:.2f} s", flush=True)


def soak(minutes):
    with Served(str(source / "tests/serve/churn.yaml"), "--speed", "60") as served:
        page, tabs = served.page, ["story", "numbers", "hands", "lessons", "details"]
        page.browser.execute_cdp_cmd("Performance.enable", {})
        begin, samples = time.time(), []
        while time.time() - begin < minutes * 60:
            page.click(f"#tab-{tabs[len(samples) % len(tabs)]}")
            page.browser.execute_script("[...document.querySelectorAll('.card .chip[data-kind=pod]')].at(arguments[0] % 10)?.click()", len(samples))
            time.sleep(30)
            page.browser.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
            now = served.metrics()
            # What a server reads of its log again lies in memory as pages of a file, which the system takes back when it needs them.
            own, logs = (int(re.search(rf"{name}:\s*(\d+)", pathlib.Path(f"/proc/{served.server.pid}/status").read_text()).group(1)) / 1024
                         for name in ("RssAnon", "RssFile"))
            samples.append((now["JSHeapUsedSize"] / 2**20, now["Nodes"], own))
            print(f"# {(time.time() - begin) / 60:.1f} min, {page.ask('/kvolsim/v1/clock')['ns'] / 3.6e12:.1f} virtual hours: page {samples[-1][0]:.1f} MiB, "
                  f"{samples[-1][1]:.0f} nodes of the document; server {own:.0f} MiB and {logs:.0f} MiB of files", flush=True)
        half = len(samples) // 2
        for what, i, unit in (("page_soak_heap", 0, "MiB"), ("page_soak_nodes", 1, "nodes"), ("page_soak_server", 2, "MiB")):
            early, late = (sorted(sample[i] for sample in part) for part in (samples[2:half], samples[half:]))
            print(f"{what}_first_half {early[len(early) // 2]:.1f} {unit}\n{what}_second_half {late[len(late) // 2]:.1f} {unit}")


if "soak" in sys.argv:
    soak(float(sys.argv[4]) if len(sys.argv) > 4 else 20)
    sys.exit(0)
first_paint()
with Served(str(source / "scenarios/burst-100.yaml"), "--at", "5s", "--speed", "1") as quick:
    quick.frames("100_pods")
with Served(str(source / "tests/bench/pods.yaml"), "--at", "2s", "--speed", "1", "--set", "spec.nodes[0].count=5000",
            "--set", "spec.workload[0].create.count=5000") as crowd:
    crowd.frames("5000_nodes")
