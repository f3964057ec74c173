# SPDX-License-Identifier: GPL-3.0-or-later
"""For tests of the page of `kvolsim serve`: its server, a real Chromium, and cases, reported as TAP."""
import json
import os
import sys
import urllib.request

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait


class Page:
    """A page in a browser of its own, which ends with close(). @address: a port of this machine, or file:///...; @script: runs before
       those of the page"""

    def __init__(self, address, width=1280, height=900, scheme="light", fragment="", script=None):
        self.base = address if str(address).startswith("file:") else f"http://127.0.0.1:{address}"
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--lang=en"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        if script:
            self.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
        self.browser.get(self.base + fragment if self.base.startswith("file:") else f"{self.base}/{fragment}")

    def close(self):
        self.browser.quit()

    def ask(self, path, method="GET", body=None, kind="application/json"):
        request = urllib.request.Request(self.base + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": kind, "Accept": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def ask_text(self, path):
        with urllib.request.urlopen(self.base + path, timeout=60) as answer:
            return answer.read().decode()

    def find(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def click(self, selector):
        self.browser.execute_script("arguments[0].click()", self.browser.find_element(By.CSS_SELECTOR, selector))

    def write(self, selector, text):
        self.browser.execute_script("arguments[0].value = arguments[1]", self.browser.find_element(By.CSS_SELECTOR, selector), text)

    def text(self, selector):
        return "\n".join(one.get_attribute("textContent") or "" for one in self.find(selector))

    def wait(self, what):
        """Whether it comes true within half a minute."""
        try:
            WebDriverWait(self.browser, 30).until(lambda _: what())
            return True
        except Exception:
            return False


class Cases:
    def __init__(self):
        self.n = int(os.environ.get("FIRST_CASE", "0"))
        self.n_failed = 0

    def case(self, name, is_good, why=""):
        self.n += 1
        self.n_failed += not is_good
        print("ok" if is_good else "not ok", self.n, "-", name)
        if not is_good:
            print("#", str(why)[:500].replace("\n", "\n# "))

    def end(self):
        print(f"1..{self.n}")
        sys.exit(self.n_failed > 0)
