// SPDX-License-Identifier: GPL-3.0-or-later
// A recorded run in place of a server: answers the page's questions for any instant. Scripts beside the page bring the data, because
// a page that is opened from disk can load nothing else.

import {h} from './dom.js';
import {LinkError, useRecording} from './link.js';
import {language, t} from './words.js';

const FASTEST = 600; // "max", in virtual by real time

let run = null;
const texts = {};
const clock = {ns: 0, speed: 0, since: 0};
const told = {run: 1, at: -1, change: 0, story: 0, active: new Set()};
const STORY_MAX = 2000; // entries in one answer

// Returns what a part of the recording holds: base64 of gzip of JSON.
async function unpack(name) {
  const letters = atob(globalThis.recording.parts[name]), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++)
    bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}

function loadScript(source) {
  return new Promise((resolve, reject) => {
    const script = h('script', {src: source});
    script.addEventListener('load', resolve);
    script.addEventListener('error', () => reject(new LinkError(0, source)));
    document.head.append(script);
  });
}

// ---- Time ----

function now() {
  const pace = clock.speed === 'max' ? FASTEST : clock.speed;
  return Math.min(run.end, clock.ns + Math.round((performance.now() - clock.since) * 1e6 * pace));
}

function setTime(ns, speed) {
  Object.assign(clock, {ns: Math.min(Math.max(ns, 0), run.end), speed, since: performance.now()});
}

const clockNow = () => ({ns: now(), speed: now() >= run.end ? 0 : clock.speed, isOver: now() >= run.end});

function nanoseconds(text) {
  const match = /^(\d+(?:\.\d+)?)(ns|ms|s|m|h)$/.exec(text);
  if (!match)
    throw new LinkError(400, text);
  return Number(match[1]) * {ns: 1, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9}[match[2]];
}

// The first index whose entry is later than @ns.
function indexAfter(list, ns) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].at > ns)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

const latest = (list, ns) => list[indexAfter(list, ns) - 1];

function meets(row, word) {
  if (word === 'gone')
    return row.isGone === true;
  return word === 'Ready' ? row.isReady === true : row.phase === word;
}

function nextStep(step, from) {
  if (step === 'event')
    return Math.min(run.changes[indexAfter(run.changes, from)]?.at ?? run.end, run.story[indexAfter(run.story, from)]?.at ?? run.end);
  const kinds = step === 'write' ? ['change'] : ['step', 'call'];
  return run.story.slice(indexAfter(run.story, from)).find((entry) => kinds.includes(entry.kind))?.at ?? run.end;
}

function putClock(body) {
  const from = now();
  let to = from, isMet = true;
  if (body.condition) {
    const [, kind, name, word] = /^(\w+)\/(\S+)\s+(\w+)$/.exec(body.condition) ?? [];
    const found = run.changes.find((row) => row.at >= from && row.kind === kind && row.name === name && meets(row, word));
    isMet = Boolean(found);
    to = found?.at ?? from;
  } else if (body.until)
    to = nanoseconds(body.until);
  else if (body.step)
    to = nextStep(body.step, from);
  else if (body.for)
    to = from + nanoseconds(body.for);
  setTime(to, body.speed ?? clock.speed);
  return {...clockNow(), isMet};
}

// ---- The stage ----

function stage(asksForAll) {
  const at = now();
  if (at < told.at)
    told.run++; // the page forgets all, and asks again
  if (asksForAll)
    Object.assign(told, {change: 0, story: 0, active: new Set()});
  const change = indexAfter(run.changes, at), story = indexAfter(run.story, at);
  const rows = new Map(run.changes.slice(told.change, change).map((row) => [`${row.kind}/${row.namespace}/${row.name}`, row]));
  run.story.slice(told.story, story).forEach((entry) => told.active.add(entry.who));
  const answer = {clock: clockNow(), run: told.run, isWhole: asksForAll, next: change, storyNext: story, active: [...told.active],
                  objects: [...rows.values()].filter((row) => !asksForAll || !row.isGone),
                  story: run.story.slice(Math.max(told.story, story - STORY_MAX), story), ...(latest(run.frames, at) ?? run.frames[0])};
  Object.assign(told, {at, change, story});
  return answer;
}

// ---- Texts of an object ----

// @part: "texts", or "zh" for those in Chinese
async function textsOf(part, key) {
  if (!texts[part]) {
    await loadScript(`${part}.js`);
    texts[part] = await unpack(part);
  }
  return texts[part][key] ?? {};
}

const RESOURCES = {pods: 'pod', persistentvolumeclaims: 'pvc', persistentvolumes: 'pv', nodes: 'node', volumeattachments: 'va',
                   statefulsets: 'statefulset', deployments: 'deployment'};

function keyOfPath(path) {
  const parts = path.split('/').map(decodeURIComponent);
  const [resource, name] = parts.slice(-2), at = parts.indexOf('namespaces');
  return `${RESOURCES[resource]}/${at < 0 ? '' : parts[at + 1]}/${name}`;
}

async function text(key, kind) {
  const list = (language() === 'zh' ? (await textsOf('zh', key))[kind] : undefined) ?? (await textsOf('texts', key))[kind];
  const found = Array.isArray(list) ? latest(list, now())?.text : list;
  if (found === undefined)
    throw new LinkError(404, t("The recording does not have this."));
  return found;
}

// ---- Answers ----

async function answer(path, {method, body}) {
  const url = new URL(path, 'http://recorded'), name = url.pathname.replace('/kvolsim/v1/', '');
  const [kind, object] = (url.searchParams.get('object') ?? '').split('/');
  const key = `${kind}/${url.searchParams.get('namespace') ?? ''}/${object}`;
  if (name === 'clock' && method === 'PUT')
    return putClock(body);
  if (method !== 'GET')
    throw new LinkError(405, t("A recorded run cannot be changed."));
  switch (name) {
  case 'stage':
    return stage(url.searchParams.get('since') === '0');
  case 'marks':
    return run.marks;
  case 'figures':
    return latest(run.figures, now())?.figures ?? {stages: {}, clients: []};
  case 'runs':
    return {runs: [{path: '', name: run.name}]};
  case 'why':
  case 'describe':
  case 'explain':
  case 'sequence':
  case 'attribution':
    return text(key, name);
  default:
    return text(keyOfPath(url.pathname), 'yaml');
  }
}

// Takes the recording beside the page as the run, if there is one.
export async function openRecording() {
  if (!globalThis.recording?.parts.run)
    return;
  run = await unpack('run');
  document.title = `kvolsim: ${run.name}`;
  useRecording(answer);
}
