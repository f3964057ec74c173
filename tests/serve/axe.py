#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs axe-core on each panel of the page, in light and dark, wide and narrow; for axe.sh.
   axe.py PORT AXE"""
import sys

from browser import Cases, Page
from selenium.webdriver.common.by import By

port, axe = sys.argv[1:]
cases = Cases()
with open(axe, encoding="utf-8") as file:
    script = file.read()


def check(page, name):
    # The script comes from the driver, not from the page, whose policy would not let it in.
    page.browser.execute_script(script)
    answer = page.browser.execute_async_script(
        "const done = arguments[0]; axe.run({resultTypes: ['violations']}).then((found) => done(found.violations), (error) => done([{id: String(error), nodes: []}]))")
    found = [f"{one['id']}: " + "; ".join(node["html"][:160] for node in one["nodes"][:3]) for one in answer]
    cases.case(name, not found, "\n".join(found))


for width, scheme in ((1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")):
    page = Page(port, width, 900, scheme)
    page.wait(lambda: page.browser.find_elements(By.CSS_SELECTOR, "body[data-ready] .card"))
    page.browser.execute_script("document.querySelector('#step-10').click()")
    page.wait(lambda: page.browser.find_elements(By.CSS_SELECTOR, ".card .chip[data-kind=pod]"))
    for tab in ("story", "hands", "numbers", "lessons"):
        page.browser.execute_script(f"document.querySelector('#tab-{tab}').click()")
        check(page, f"{tab}, {width} px, {scheme}")
    page.browser.execute_script("document.querySelector('.card .chip[data-kind=pod]').click()")
    for tab in ("why", "yaml", "describe", "explain", "sequence"):
        page.browser.execute_script(f"document.querySelector('#tab-{tab}').click()")
        check(page, f"{tab} of a pod, {width} px, {scheme}")
    page.browser.execute_script("document.querySelector('#back-10').click()")
    page.wait(lambda: page.browser.find_elements(By.CSS_SELECTOR, "body[data-past]"))
    check(page, f"the past, {width} px, {scheme}")
    page.browser.execute_script("document.querySelector('#to-present').click()")
    page.close()
cases.end()
