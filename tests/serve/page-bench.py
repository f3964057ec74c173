#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How well the page of `kvolsim serve` runs in a real Chromium (Debian: chromium-driver, python3-selenium; without them: nothing).
   page-bench.py KVOLSIM SOURCE: the first paint of burst-100; frames a second while 100 pods start, and on 5,000 nodes, beside those of
   an empty page in the same browser; and the work of the page's thread for a frame, which other load on the machine hardly changes.
   page-bench.py KVOLSIM SOURCE soak [MINUTES]: memory of the page and of the server at speed 60, while a pod with a claim comes and
   goes every four virtual seconds, and the reader looks at everything."""
import pathlib
import re
import subprocess
import sys
import time

program, source = sys.argv[1], pathlib.Path(sys.argv[2])
SAMPLES_MIN = 6  # of a soak: two to settle, one for the rest of its first half, three for its second
FRAMES = """const [seconds, done] = arguments, times = [];
const frame = (now) => { times.push(now); if (now - times[0] < seconds * 1000) requestAnimationFrame(frame); else done(times); };
requestAnimationFrame(frame);"""
EMPTY = """data:text/html,<div style="width:50px;height:50px;background:teal"></div><script>const square = document.querySelector('div');
const move = (now) => { square.style.transform = `translateX(${now / 5 % 300}px)`; requestAnimationFrame(move); }; requestAnimationFrame(move);</script>"""

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

    def window(self, seconds):
        """Frames a second while time passes, the gap of one in a hundred, and ms of the page's thread for a frame: of the processor,
        and by the clock for scripts, style and layout."""
        before = self.metrics()
        times = self.page.browser.execute_async_script(FRAMES, seconds)
        after = self.metrics()
        gaps = sorted(b - a for a, b in zip(times, times[1:]))
        spent = {name: (after[name] - before[name]) / len(gaps) * 1000
                 for name in ("ThreadTime", "TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration")}
        return (times[-1] - times[0]) / len(gaps), gaps[len(gaps) * 99 // 100], spent

    def frames(self, name, windows=4, seconds=5):
        """Frames of the page, and of an empty page with a moving square in the same browser before and after each window: no page there
        has more frames than that one."""
        browser = self.page.browser
        browser.set_script_timeout(120)
        page = browser.current_window_handle
        browser.switch_to.new_window("tab")
        browser.get(EMPTY)
        empty = browser.current_window_handle
        time.sleep(1)
        rows = {page: [], empty: []}
        for _ in range(windows):
            for handle in (empty, page):
                browser.switch_to.window(handle)
                browser.execute_cdp_cmd("Page.bringToFront", {})  # what lies behind draws nothing
                browser.execute_cdp_cmd("Performance.enable", {})
                time.sleep(1)
                rows[handle].append(self.window(seconds))
        for kind, found in (("", rows[page]), ("empty_", rows[empty])):
            frame, late, spent = min(found, key=lambda row: row[0])
            least = {part: min(row[2][part] for row in found) for part in spent}
            print(f"page_frames_{kind}{name} {1000 / frame:.1f} frames/s\npage_frame_{kind}{name} {frame:.2f} ms\npage_frame_p99_{kind}{name} {late:.1f} ms\n"
                  f"page_work_{kind}{name} {least['ThreadTime']:.2f} ms\npage_script_{kind}{name} {least['ScriptDuration']:.2f} ms\n"
                  f"page_style_{kind}{name} {least['RecalcStyleDuration']:.2f} ms\npage_layout_{kind}{name} {least['LayoutDuration']:.2f} ms", flush=True)
        ratios = sorted(own[0] / base[0] for own, base in zip(rows[page], rows[empty]))
        print(f"page_frame_ratio_{name} {ratios[len(ratios) // 2]:.3f} of-an-empty-page", flush=True)


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
        begin, samples, pause = time.time(), [], min(30, minutes * 60 / SAMPLES_MIN)
        while time.time() - begin < minutes * 60 or len(samples) < SAMPLES_MIN:
            page.click(f"#tab-{tabs[len(samples) % len(tabs)]}")
            page.browser.execute_script("[...document.querySelectorAll('.card .chip[data-kind=pod]')].at(arguments[0] % 10)?.click()", len(samples))
            time.sleep(pause)
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
    length = sys.argv[4] if len(sys.argv) > 4 else "20"
    if not re.fullmatch(r"\d+(\.\d+)?", length) or float(length) == 0:
        sys.exit(f'page-bench.py: soak: "{length}" is not a number of minutes above 0')
    soak(float(length))
    sys.exit(0)
first_paint()
with Served(str(source / "scenarios/burst-100.yaml"), "--at", "5s", "--speed", "1") as quick:
    quick.frames("100_pods")
with Served(str(source / "tests/bench/pods.yaml"), "--at", "2s", "--speed", "1", "--set", "spec.nodes[0].count=5000",
            "--set", "spec.workload[0].create.count=5000") as crowd:
    crowd.frames("5000_nodes")
