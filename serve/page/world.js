// SPDX-License-Identifier: GPL-3.0-or-later
// The page's copy of the run: the latest answer of /kvolsim/v1/stage laid over all earlier ones; and the time that is shown.

const STORY_MAX = 2000;

export const world = {
  paths: [''], // of all runs
  path: '', // of the run on the stage
  run: null, // the number of the run that the server has
  present: null, // the clock of the present, while the past is on the stage; else null
  clock: null,
  objects: new Map(), // "pod/default/web-0" -> row
  kinds: new Map(), // "pod" -> the same by kind
  processes: [],
  drivers: [],
  story: [], // the latest entries
  next: 0, storyNext: 0,
  version: 0, // grows as objects change
  nodesVersion: 0, // grows as nodes come and go
  active: new Set(), // components that have done something
  isFresh: true, // another run comes: its time does not go on from what is shown
};

const listeners = [];
export const onChange = (listener) => listeners.push(listener);
const tell = (what) => listeners.forEach((listener) => listener(what));

export const keyOf = (row) => `${row.kind}/${row.namespace}/${row.name}`;
export const wordOf = (row) => `${row.kind}/${row.name}`;
// The same as kubectl needs it: "pod/web-0 -n shop"
export const fullWordOf = (row) => wordOf(row) + (row.namespace && row.namespace !== 'default' ? ` -n ${row.namespace}` : '');

// "pod/web-0" of an entry, in its namespace.
export function findObject(word, namespace = '') {
  const [kind, name] = word.split('/');
  return world.objects.get(`${kind}/${namespace}/${name}`) ?? {kind, namespace, name, isGone: true};
}

export const rowsOf = (kind) => [...world.kinds.get(kind)?.values() ?? []];

function setRow(row) {
  const key = keyOf(row);
  if (row.kind === 'node' && world.objects.has(key) === Boolean(row.isGone))
    world.nodesVersion++;
  if (!world.kinds.has(row.kind))
    world.kinds.set(row.kind, new Map());
  for (const map of [world.objects, world.kinds.get(row.kind)]) {
    if (row.isGone)
      map.delete(key);
    else
      map.set(key, row);
  }
}

function forgetObjects() {
  world.objects.clear();
  world.kinds.clear();
  world.nodesVersion++;
}

// ---- Time: the page shows the time of one answer ago, so it knows all that happened until then. ----

const shown = {from: 0, to: 0, began: 0, lasts: 1};

function setShown(ns, real) {
  const was = shownTime();
  shown.from = ns < was || world.isFresh ? ns : was;
  world.isFresh = false;
  shown.to = ns;
  shown.lasts = Math.min(Math.max(real - shown.began, 50), 1000);
  shown.began = real;
}

export function shownTime() {
  const part = Math.min((performance.now() - shown.began) / shown.lasts, 1);
  return shown.from + (shown.to - shown.from) * part;
}

// ns of virtual time in a ms of real time, as shown
export const shownPace = () => (shown.to - shown.from) / shown.lasts;

// Before another run is on the stage.
export function forgetAll() {
  forgetObjects();
  world.version++;
  world.run = null;
  world.isFresh = true;
  world.story.length = 0;
  world.next = world.storyNext = 0;
  world.active.clear();
}

// @stage: an answer of /kvolsim/v1/stage. Returns false if it is of another run than the one before: ask for all of it.
export function apply(stage) {
  if (world.run !== null && stage.run !== world.run) {
    forgetAll();
    return false;
  }
  world.run = stage.run;
  if (stage.isWhole)
    forgetObjects();
  stage.objects.forEach(setRow);
  if (stage.objects.length || stage.isWhole)
    world.version++;
  stage.active?.forEach((who) => world.active.add(who));
  for (const entry of stage.story)
    if (entry.who)
      world.active.add(entry.who);
  world.story.push(...stage.story);
  if (world.story.length > STORY_MAX)
    world.story.splice(0, world.story.length - STORY_MAX);
  Object.assign(world, {clock: stage.clock, next: stage.next, storyNext: stage.storyNext, processes: stage.processes, drivers: stage.drivers});
  setShown(stage.clock.ns, performance.now());
  tell({objects: stage.objects, story: stage.story, isWhole: stage.isWhole});
  return true;
}

// ---- Words for states ----

// Returns: the state of a pod, as the stage shows it.
export function podState(pod) {
  if (pod.isDeleting)
    return 'deleting';
  if (pod.phase === 'Succeeded')
    return 'done';
  if (pod.phase === 'Failed' || pod.phase === 'Unknown')
    return 'failed';
  if (pod.isReady)
    return 'ready';
  return pod.node ? pod.phase === 'Running' ? 'not-ready' : 'starting' : 'waiting';
}

export function nodeState(node, troubles) {
  return troubles.get(node.name) ?? (node.isReady ? node.isCordoned ? 'cordoned' : 'ready' : 'not-ready');
}

// Nodes whose agents do not run, hang or are cut off: name -> state.
export function nodeTroubles() {
  const troubles = new Map();
  for (const process of world.processes)
    if (process.node && process.name === 'kubelet')
      troubles.set(process.node, process.state);
  return troubles;
}
