// SPDX-License-Identifier: GPL-3.0-or-later
// The boxes of the stage: the API server, components with their queues, drivers with the calls under way, and objects without a place.

import {h, keep, setAttribute, setText} from './dom.js';
import {duration, plural, shortName, stateWord, t} from './words.js';
import {fullWordOf, podState, rowsOf, shownTime, world} from './world.js';

const CALLS_SHOWN = 8;
const WAITING_SHOWN = 60;
const boxes = new Map(); // "attachdetach-controller" -> its element

export const boxOf = (who) => boxes.get(who);

const control = h('div', {class: 'boxes'});
const server = h('div');
const drivers = h('div', {class: 'boxes'});
const waiting = h('div', {class: 'chips'});
const idle = h('p', {class: 'quiet'});
const waitingNote = h('p', {class: 'quiet'});
let select = null, driverSection = null;

// onSelect(selection) is told of a click.
export function stageBoxes(onSelect) {
  select = onSelect;
  boxes.set('you', h('div', {class: 'box you'}, t("You and other clients")));
  driverSection = h('section', {class: 'drivers', 'aria-label': t("Drivers")}, h('h2', null, t("Drivers and their sidecars")), drivers);
  return [
    h('section', {class: 'control', 'aria-label': t("Control plane")}, h('div', {class: 'row heading'}, h('h2', null, t("Control plane")), idle, boxes.get('you')), control),
    h('section', {class: 'server', 'aria-label': t("API server")}, server),
    driverSection,
    h('section', {class: 'waiting', 'aria-label': t("Without a place")}, h('h2', null, t("Without a place")), waiting, waitingNote),
  ];
}

// ---- Components ----

function meter(name, value, max, kind) {
  const element = h('div', {class: `meter ${kind}`}, h('span', {class: 'bar'}));
  element.update = (now, top) => {
    element.firstChild.style.transform = `scaleX(${Math.min(1, Math.max(0, top > 0 ? now / top : 0))})`;
    element.classList.toggle('full', top > 0 && now >= top);
  };
  element.update(value, max);
  return element;
}

// What a component is doing, in words and numbers.
function figures(component) {
  const sum = (name) => component.queues.reduce((total, queue) => total + queue[name], 0);
  return {queued: sum('length'), delayed: sum('delayed'), busy: sum('busy'), workers: sum('workers'), plans: component.plans,
          client: component.client};
}

function wordsOf(now) {
  const words = [];
  if (now.workers < 0) // as many as there are keys
    words.push(t("queue {queued}, busy {busy}", now));
  else if (now.workers)
    words.push(t("queue {queued}, busy {busy} of {workers}", now));
  else
    words.push(t("at work on {plans}", now));
  if (now.workers > 0 && now.plans > now.busy) // some go on without a worker
    words.push(t("at work on {plans}", now));
  if (now.delayed)
    words.push(t("{delayed} later", now));
  if (now.client && now.client.tokens < 0)
    words.push(plural(Math.ceil(-now.client.tokens), t("{n} request waits for a token"), t("{n} requests wait for a token")));
  else if (now.client && now.client.tokens < now.client.burst)
    words.push(t("tokens {tokens} of {burst}", {tokens: Math.floor(now.client.tokens), burst: Math.round(now.client.burst)}));
  return words.join(' · ');
}

function makeBox(item) {
  const element = h('button', {type: 'button', class: 'box', 'data-title': item.title, click: () => select({type: 'process', item: element.item})},
                    h('strong', null, item.title), h('span', {class: 'state'}), h('span', {class: 'words'}));
  element.meters = [meter('queue', 0, 10, 'queue'), meter('busy', 0, 1, 'busy')];
  element.append(...element.meters);
  boxes.set(item.title, element);
  return element;
}

function updateBox(element, item) {
  const now = item.component && figures(item.component);
  const words = now ? wordsOf(now) : item.process.leads === false ? t("waits to lead") : item.title === 'kube-apiserver' ? writesOf() : '';
  element.item = item;
  boxes.set(item.title, element);
  setText(element.children[1], item.process.state === 'running' ? '' : stateWord(item.process.state));
  setText(element.children[2], words);
  setAttribute(element, 'data-state', item.process.state);
  setAttribute(element, 'data-busy', now && now.plans > 0 ? 'yes' : null);
  setAttribute(element, 'data-measured', now ? 'yes' : null);
  if (now) {
    element.meters[0].update(now.queued, 20);
    element.meters[1].update(now.workers ? now.busy : now.plans, now.workers > 0 ? now.workers : 20);
  }
  element.meters.forEach((each) => { each.hidden = !now; });
}

// A box for each component that has done something, or does now.
function itemsOf(process) {
  const active = process.components.filter((component) => world.active.has(component.name) || component.plans > 0);
  if (active.length)
    return active.map((component) => ({process, component, title: component.name}));
  return [{process, title: process.name}];
}

// Writes of the latest virtual second.
function writesOf() {
  const since = shownTime() - 1e9;
  let n = 0;
  for (let i = world.story.length - 1; i >= 0 && world.story[i].at > since; i--)
    n += world.story[i].kind === 'change';
  return plural(n, t("{n} write in the latest second"), t("{n} writes in the latest second"));
}

const keyOfItem = (item) => `${item.process.name} ${item.process.driver ?? ''} ${item.process.replica} ${item.title}`;

function updateControl() {
  const all = world.processes.filter((process) => !process.driver && !process.node);
  const processes = all.filter((process) => process.name !== 'kube-apiserver');
  keep(server, all.filter((process) => process.name === 'kube-apiserver').flatMap(itemsOf), keyOfItem, makeBox, updateBox);
  keep(control, processes.flatMap(itemsOf), keyOfItem, makeBox, updateBox);
  const n = processes.flatMap((process) => process.components).filter((one) => !world.active.has(one.name) && one.plans === 0).length;
  setText(idle, n ? plural(n, t("{n} more controller has done nothing yet."), t("{n} more controllers have done nothing yet.")) : '');
}

// ---- Drivers ----

function makeDriver(driver) {
  const element = h('button', {type: 'button', class: 'box driver', click: () => select({type: 'driver', name: driver.name})},
                    h('strong', null, driver.name), h('span', {class: 'words'}));
  const card = h('div', {class: 'driver-card'}, element, h('ul', {class: 'calls'}));
  boxes.set(driver.name, card);
  return h('div', {class: 'driver-group'}, h('div', {class: 'boxes'}), card);
}

function updateDriver(group, driver) {
  const [sidecars, card] = group.children, [box, calls] = card.children;
  const now = shownTime();
  setText(box.children[1], `${plural(driver.inFlight, t("{n} call under way"), t("{n} calls under way"))} · ${plural(driver.volumes, t("{n} volume"), t("{n} volumes"))}`);
  keep(calls, driver.calls.slice(0, CALLS_SHOWN), (call) => call.id, () => h('li'), (element, call) =>
    setText(element, `${call.method} ${duration(Math.max(0, now - call.since), 1)}${call.node ? ` · ${call.node}` : ''}`));
  const processes = world.processes.filter((process) => process.driver === driver.name && !process.node);
  keep(sidecars, processes.flatMap(itemsOf), keyOfItem, makeBox, updateBox);
}

// ---- Without a place ----

export function makeChip(row) {
  const element = h('button', {type: 'button', class: 'chip', click: () => select({type: 'object', row: element.row})});
  return element;
}

export function updateChip(element, row, text) {
  if (element.row === row && element.given === text)
    return; // a change of an object brings another row
  element.given = text;
  const state = row.kind === 'pod' ? podState(row) : row.isDeleting ? 'deleting' : (row.phase ?? '').toLowerCase();
  element.row = row;
  setText(element, text ?? shortName(row.name));
  setAttribute(element, 'data-kind', row.kind);
  setAttribute(element, 'data-state', state);
  setAttribute(element, 'title', `${fullWordOf(row)}: ${stateWord(state)}`);
  setAttribute(element, 'aria-label', `${row.kind} ${row.name}: ${stateWord(state)}`);
}

const isWaiting = (row) => row.kind === 'pod' ? podState(row) === 'waiting' :
                           row.kind === 'pvc' ? row.phase !== 'Bound' || row.isDeleting :
                           row.kind === 'pv' && row.phase !== 'Bound';

function updateWaiting() {
  if (waiting.version === world.version)
    return;
  waiting.version = world.version;
  const rows = [...['pod', 'pvc', 'pv'].flatMap(rowsOf).filter(isWaiting), ...rowsOf('statefulset'), ...rowsOf('deployment')];
  keep(waiting, rows.slice(0, WAITING_SHOWN), (row) => `${row.kind}/${row.namespace}/${row.name}`, makeChip, (element, row) =>
    updateChip(element, row, row.replicas === undefined ? `${row.kind} ${shortName(row.name)}` : `${row.kind} ${row.name} ${row.ready}/${row.replicas}`));
  setText(waitingNote, rows.length > WAITING_SHOWN ? t("and {n} more", {n: rows.length - WAITING_SHOWN}) :
                       rows.length ? '' : t("Nothing waits: every pod has a node, every claim a volume."));
}

export function updateStage() {
  updateControl();
  driverSection.hidden = world.drivers.length === 0;
  keep(drivers, world.drivers, (driver) => driver.name, makeDriver, updateDriver);
  updateWaiting();
}
