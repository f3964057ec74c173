// SPDX-License-Identifier: GPL-3.0-or-later
// The selection: its cause of waiting, YAML, description, story and messages; and buttons to act on it.

import {h, setLines, setText, tabList} from './dom.js';
import {handsFor} from './hands.js';
import {ask, isRecorded, own, pathOf} from './link.js';
import {timeOfStage} from './numbers.js';
import {sequencePicture} from './sequence.js';
import {duration, language, stateWord, t} from './words.js';
import {fullWordOf, keyOf, wordOf, world} from './world.js';

const title = h('h2', {tabindex: -1});
const deeds = h('div', {class: 'row hands'});
const sample = (name, kind, text) => h('li', null, h('span', {class: `sample ${kind}`, 'data-state': name}), text);
const empty = h('div', {class: 'legend'},
  h('h3', null, t("What to do first")),
  h('ol', {class: 'first'}, h('li', null, t("Press Play, or go from write to write: arrows are messages on their way.")),
    h('li', null, t("Choose a box, a node, a pod or a volume to see what it is and why.")),
    h('li', null, t("Drag the line of time: the past is looked at, the present waits.")),
    isRecorded() ? null : h('li', null, t("Cut a node's power, crash a component, slow a driver down, and watch what comes of it."))),
  h('h3', null, t("Messages")),
  h('ul', null, sample('write', 'message', t("a write to the API server")), sample('watch', 'message', t("news from a watch")),
    sample('call', 'message', t("a call of a driver")), sample('answer', 'message', t("its answer")), sample('trouble', 'message', t("trouble"))),
  h('h3', null, t("Components")),
  h('ul', null, sample('queue', 'meter', t("keys in the queue")), sample('busy', 'meter', t("workers busy"))),
  h('h3', null, t("Pods, claims and volumes")),
  h('ul', null, ...['ready', 'starting', 'waiting', 'not-ready', 'failed', 'deleting'].map((state) => sample(state, 'chip', stateWord(state)))));
const body = h('div', {hidden: true}, title, deeds);
let selection = null, seen = '', tabs = null, report = null, chosenFrom = null;

const textPanel = () => h('pre', {class: 'text'});

async function showText(panel, question, put = setText) {
  const of = selection;
  let text;
  try {
    text = await question();
  } catch (error) {
    text = error.message;
  }
  if (of === selection)
    put(panel, text);
}

// Links of the chain of waits, and what they come to: "cause: ..."
function putWhy(panel, text) {
  setLines(panel, text, (line, row) => {
    const depth = /^ */.exec(line)[0].length, label = /^[^\s:：/]{1,12}[:：]/.exec(line);
    row.style.marginLeft = `${Math.min(depth, 12) * 0.35}em`;
    if (!label)
      return;
    row.className = 'line-of-text fact';
    row.replaceChildren(h('b', null, label[0]), line.slice(label[0].length));
  });
}

// Each entry of a story begins with its time, its parts with their rules.
const putStory = (panel, text) => setLines(panel, text, (line, row) => {
  const [, space, time, rule, rest] = /^( *)(\d[\d.:hm]*s)?([A-Z]+-[\d.]+:)?(.*\n?)$/.exec(line) ?? [];
  if (!time && !rule)
    return;
  row.classList.toggle('timed', Boolean(time));
  row.replaceChildren(space, time ? h('b', null, time) : h('span', {class: 'rule'}, rule), rest);
});

const asked = () => ({object: wordOf(selection.row), namespace: selection.row.namespace, lang: language() === 'en' ? undefined : language()});

async function showSequence(panel) {
  const of = selection;
  try {
    const sequence = await own('sequence', {...asked(), format: 'json'});
    if (of === selection)
      panel.replaceChildren(sequence.messages.length ? sequencePicture(sequence, t("Messages about {object}", {object: wordOf(selection.row)})) :
                                                       h('p', {class: 'quiet'}, t("No component has sent a message about it yet.")));
  } catch (error) {
    setText(panel, error.message);
  }
}

// Where the time of each stage that has ended went, by cause.
async function showTime(panel) {
  const of = selection;
  try {
    const stages = Object.entries(await own('attribution', asked()));
    if (of !== selection)
      return;
    panel.replaceChildren(...stages.map(([name, stage]) => timeOfStage(name, stage)));
    if (!stages.length)
      panel.append(h('p', {class: 'quiet'}, t("No stage of it has ended yet.")));
  } catch (error) {
    setText(panel, error.message);
  }
}

const panels = [
  {id: 'why', title: t("Why"), panel: h('div', {class: 'why'}), show: (panel) => showText(panel, () => own('why', {...asked(), format: 'text'}), putWhy)},
  {id: 'yaml', title: t("YAML"), panel: h('pre', {class: 'text table'}), show: (panel) => showText(panel, () => ask(pathOf(selection.row), {accept: 'application/yaml'}))},
  {id: 'describe', title: t("Describe"), panel: h('pre', {class: 'text table'}), show: (panel) => showText(panel, () => own('describe', asked()))},
  {id: 'explain', title: t("Story"), panel: textPanel(), show: (panel) => showText(panel, () => own('explain', asked()), putStory)},
  {id: 'sequence', title: t("Messages"), panel: h('div'), show: showSequence},
  {id: 'time', title: t("Time"), panel: h('div'), show: showTime},
];

function factsOf({component, process}) {
  const lines = [`${process.name}: ${stateWord(process.state)}`];
  for (const queue of component?.queues ?? [])
    lines.push(t("queue {name}: {length} keys, {delayed} later; {busy} of {workers} workers busy", queue));
  if (component?.client)
    lines.push(t("client: {qps} requests a second, {tokens} of {burst} tokens left",
                 {qps: component.client.qps, tokens: component.client.tokens.toFixed(1), burst: component.client.burst}));
  return lines.join('\n');
}

function callsOf(name) {
  const driver = world.drivers.find((one) => one.name === name);
  return driver ? driver.calls.map((call) => `${call.method} ${call.about ?? ''} ${call.node ?? ''} · ${t("since")} ${duration(call.since)}`).join('\n') : '';
}

const facts = textPanel();

export function detailsPanel(onReport) {
  report = onReport;
  body.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && chosenFrom?.isConnected)
      chosenFrom.focus();
  });
  tabs = tabList(t("About the selection"), panels.map((panel) => Object.assign(panel, {shown: () => panel.show(panel.panel)})));
  body.append(facts, tabs, ...panels.map((panel) => panel.panel));
  return h('div', {class: 'panel'}, empty, body);
}

// @isChosen: by the reader, who reads on here. Escape goes back.
export function showDetails(what, isChosen = false) {
  selection = what;
  seen = '';
  empty.hidden = true;
  body.hidden = false;
  const isObject = what.type === 'object' && world.objects.has(keyOf(what.row));
  setText(title, what.type === 'object' ? fullWordOf(what.row) : what.type === 'driver' ? what.name : what.item.title);
  tabs.hidden = !isObject;
  facts.hidden = isObject;
  for (const {panel} of panels) {
    panel.hidden = true;
    panel.replaceChildren(); // nobody reads of another object meanwhile
  }
  deeds.replaceChildren(...handsFor(what, report));
  if (isObject)
    tabs.select(tabs.current ?? 'why');
  updateDetails();
  if (isChosen) {
    chosenFrom = document.activeElement;
    title.focus();
  }
}

// Another run is on the stage: it may have other answers.
export function showAgain() {
  if (selection)
    showDetails(selection);
}

// The object may have changed since.
export function updateDetails() {
  if (!selection)
    return;
  if (selection.type === 'process') {
    const fresh = world.processes.find((one) => one.name === selection.item.process.name && one.driver === selection.item.process.driver);
    if (fresh)
      setText(facts, factsOf({process: fresh, component: fresh.components.find((one) => one.name === selection.item.component?.name)}));
    return;
  }
  if (selection.type === 'driver') {
    setText(facts, callsOf(selection.name));
    return;
  }
  const row = world.objects.get(keyOf(selection.row));
  const now = JSON.stringify(row ?? null);
  if (!row && !facts.textContent)
    setText(facts, t("It is gone."));
  if (now === seen || !row)
    return;
  if (seen)
    panels.find((panel) => panel.id === tabs.current)?.shown();
  seen = now;
}
