#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each lesson played to its end in the page, for lessons.sh.
   lessons.py PORT FOLDER-OF-SOLUTIONS"""
import pathlib
import sys

from browser import Cases, Page

port, folder = sys.argv[1], pathlib.Path(sys.argv[2])
cases = Cases()
page = Page(port)
cases.case("the page comes up", page.wait(lambda: page.find("body[data-ready]")))
page.click("#tab-lessons")
cases.case("it lists the lessons", page.wait(lambda: len(page.find("#lesson option")) >= 16))


def answer(number, k, choices, given):
    """Answers question k, in the way that it asks for."""
    form = f".question:nth-of-type({k + 1})"
    if choices:
        page.browser.execute_script("[...document.querySelectorAll(arguments[0])].find(one => one.value === arguments[1]).checked = true",
                                    f"{form} input[type=radio]", given)
    else:
        page.write(f"{form} input", given)
    page.click(f"{form} button")
    return form


for entry in page.ask("/kvolsim/v1/lessons")["lessons"]:
    number = entry["number"]
    lesson = page.ask(f"/kvolsim/v1/lesson?lesson={number}")
    page.browser.execute_script("const list = document.querySelector('#lesson'); list.value = arguments[0]; list.dispatchEvent(new Event('change'))", str(number))
    page.wait(lambda: page.text("#panel-lessons h2") == lesson["title"])
    page.click("#open-lesson")
    is_open = page.wait(lambda: page.ask("/kvolsim/v1/lessons").get("open") == number)
    cases.case(f"lesson {number} opens", is_open and page.wait(lambda: f"lesson={number}" in page.browser.current_url), page.text(".said"))
    for k, question in enumerate(lesson["questions"]):
        told = page.ask("/kvolsim/v1/lesson/answer", "POST", {"lesson": str(number), "question": k})
        form = answer(number, k, question.get("choices"), told["answer"])
        cases.case(f"lesson {number}, question {k + 1}: the right answer is right, and its reason is told",
                   page.wait(lambda: "Right." in page.text(f"{form} .told") and told["because"] in page.text(f"{form} .told")), page.text(form))
    page.click("#check-session")
    cases.case(f"lesson {number}: nothing done does not solve it", page.wait(lambda: "Not yet." in page.text(".task [role=status]")), page.text(".task"))
    page.write("#solution", (folder / f"{entry['name']}.yaml").read_text())
    page.click("#check-text")
    cases.case(f"lesson {number}: the solution does", page.wait(lambda: "Solved." in page.text(".task [role=status]")), page.text(".task"))
cases.case("what is solved is marked", page.wait(lambda: page.text("#lesson").count("✓") == len(page.find("#lesson option"))), page.text("#lesson"))

# Wrong answers.
page.browser.execute_script("const list = document.querySelector('#lesson'); list.value = '9'; list.dispatchEvent(new Event('change'))")
page.wait(lambda: page.text("#panel-lessons h2") == page.ask("/kvolsim/v1/lesson?lesson=9")["title"])
lesson = page.ask("/kvolsim/v1/lesson?lesson=9")
k = next(k for k, question in enumerate(lesson["questions"]) if not question.get("choices"))
form = answer(9, k, None, "nonsense")
cases.case("a wrong answer may be given once more", page.wait(lambda: "No. Once more." in page.text(f"{form} .told")))
answer(9, k, None, "nonsense")
cases.case("... and then the right one is told", page.wait(lambda: "It is " in page.text(f"{form} .told")))
page.close()

# A link to a lesson at a time; its task done by hand.
page = Page(port, fragment="#lesson=8&at=180s")
cases.case("a link opens a lesson at a time", page.wait(lambda: page.ask("/kvolsim/v1/clock")["ns"] == 180 * 10**9) and
           page.wait(lambda: page.find(".card[data-state=off]")), page.text(".said"))
page.ask("/api/v1/nodes/node-0", "PATCH", {"spec": {"taints": [{"key": "node.kubernetes.io/out-of-service", "value": "x", "effect": "NoExecute"}]}},
         "application/merge-patch+json")
page.wait(lambda: page.find("#check-session"))
page.click("#check-session")
cases.case("what was done by hand solves the task", page.wait(lambda: "Solved." in page.text(".task [role=status]")), page.text(".task"))
problems = [line for line in page.browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
cases.case("the browser's console has no complaint", not problems, problems)
page.close()
cases.end()
