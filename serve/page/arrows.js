// SPDX-License-Identifier: GPL-3.0-or-later
// Messages between the boxes of the stage. An arrow is shown for as long as its message takes, and for SHORTEST at least.

import {shownPace, shownTime} from './world.js';

const SHORTEST = 450; // ms of real time
const ARROWS_MAX = 60;
const LABELS_MAX = 8;
const LANES = 7; // arrows between the same boxes lie beside each other

const canvas = document.createElement('canvas');
canvas.className = 'arrows';
canvas.setAttribute('aria-hidden', 'true');
const pending = [], flying = [], callers = new Map();
let placeOf = null, launched = 0;

// @find(who, where) returns the element of a component, a driver or a node.
export function arrowsOn(stage, find) {
  placeOf = find;
  stage.append(canvas);
  requestAnimationFrame(draw);
}

export function clearArrows() {
  pending.length = flying.length = 0;
}

function add(kind, from, to, since, at, text) {
  pending.push({kind, from, to, since, at, text});
}

// Draws the messages of an entry of the story.
export function addEntry(entry) {
  const since = entry.since ?? entry.at;
  const self = [entry.who ?? 'you', entry.where];
  if (entry.news)
    add('watch', ['kube-apiserver'], self, entry.news.sent, entry.news.arrived, entry.news.kind);
  if (entry.kind === 'change')
    add('write', self, ['kube-apiserver'], since, entry.at, `${entry.verb ?? ''} ${entry.object ?? ''}`);
  else if (entry.kind === 'call')
    callers.set(`${entry.what} ${entry.at}`, self);
  else if (entry.kind === 'answer') {
    const key = `${entry.what.split(':')[0]} ${since}`;
    const caller = callers.get(key);
    callers.delete(key);
    if (caller) {
      add('call', caller, [entry.who], since, since, entry.what.split(':')[0]);
      add(entry.isTrouble ? 'trouble' : 'answer', [entry.who], caller, entry.at, entry.at, entry.what);
    }
  } else if (entry.isTrouble)
    add('trouble', self, ['kube-apiserver'], entry.at, entry.at, entry.what);
}

function launch() {
  const now = shownTime(), pace = shownPace(), real = performance.now();
  for (let i = 0; i < pending.length;) {
    const arrow = pending[i];
    if (arrow.since > now) {
      i++;
      continue;
    }
    pending.splice(i, 1);
    if (flying.length < ARROWS_MAX)
      flying.push({...arrow, text: shortened(arrow.text), lane: launched++ % LANES, began: real, lasts: Math.max(SHORTEST, Math.min(pace > 0 ? (arrow.at - arrow.since) / pace : 0, 5000))});
  }
}

// "create pv/pvc-29d3..." without the rest of the uid
function shortened(text) {
  const short = text.replace(/([0-9a-f]{4})[0-9a-f]{4}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '$1…');
  return short.length > 40 ? `${short.slice(0, 38)}…` : short;
}

function centre(element, origin) {
  const box = element.getBoundingClientRect();
  return {x: box.left + box.width / 2 - origin.left, y: box.top + Math.min(box.height / 2, 24) - origin.top, width: box.width};
}

// The ends of an arrow, moved aside into its lane: boxes that stand above each other have lanes over their whole width.
function endsOf(arrow, from, to, origin) {
  const a = centre(from, origin), b = centre(to, origin);
  const part = (arrow.lane + 1) / (LANES + 1) - 0.5, isSteep = Math.abs(a.x - b.x) < 60;
  const dx = isSteep ? part * Math.min(a.width, b.width) * 0.9 : part * 24, dy = isSteep ? 0 : part * 24;
  return [{x: a.x + dx, y: a.y + dy}, {x: b.x + dx, y: b.y + dy}];
}

// Places a label near a point where no other one is. Returns undefined if there is no room.
function placeLabel(width, head, taken) {
  const x = Math.min(Math.max(head.x - width / 2, 2), Math.max(2, canvas.clientWidth - width - 2));
  for (const dy of [-24, 10, -42, 28, -60, 46]) {
    const box = {x: x - 3, y: head.y + dy, width: width + 6};
    if (box.y > 0 && !taken.some((other) => box.x < other.x + other.width && other.x < box.x + box.width && Math.abs(box.y - other.y) < 17)) {
      taken.push(box);
      return box;
    }
  }
  return undefined;
}

function drawOne(context, arrow, part, style, origin, taken) {
  const from = placeOf(...arrow.from), to = placeOf(...arrow.to);
  if (!from || !to || from === to)
    return;
  const [a, b] = endsOf(arrow, from, to, origin);
  const head = {x: a.x + (b.x - a.x) * part, y: a.y + (b.y - a.y) * part};
  const angle = Math.atan2(b.y - a.y, b.x - a.x);
  context.strokeStyle = context.fillStyle = style.getPropertyValue(`--${arrow.kind}`).trim();
  context.setLineDash(arrow.kind === 'watch' ? [5, 4] : []);
  context.beginPath();
  context.moveTo(a.x, a.y);
  context.lineTo(head.x, head.y);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(head.x, head.y);
  for (const turn of [2.6, -2.6])
    context.lineTo(head.x + 10 * Math.cos(angle + turn), head.y + 10 * Math.sin(angle + turn));
  context.fill();
  const box = taken.length < LABELS_MAX && placeLabel(context.measureText(arrow.text).width, head, taken);
  if (!box)
    return;
  context.fillStyle = style.getPropertyValue('--card').trim();
  context.fillRect(box.x, box.y, box.width, 16);
  context.fillStyle = style.getPropertyValue('--text').trim();
  context.fillText(arrow.text, box.x + 3, box.y + 12);
}

function draw() {
  requestAnimationFrame(draw);
  launch();
  const real = performance.now(), origin = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
  for (let i = flying.length - 1; i >= 0; i--)
    if (real - flying[i].began > flying[i].lasts)
      flying.splice(i, 1);
  if (!flying.length && canvas.isEmpty)
    return;
  if (canvas.width !== Math.round(origin.width * ratio) || canvas.height !== Math.round(origin.height * ratio)) {
    canvas.width = Math.round(origin.width * ratio);
    canvas.height = Math.round(origin.height * ratio);
  }
  const context = canvas.getContext('2d'), style = getComputedStyle(document.documentElement);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, origin.width, origin.height);
  context.lineWidth = 1.6;
  context.font = '12px system-ui, sans-serif';
  const taken = [];
  flying.forEach((arrow) => drawOne(context, arrow, (real - arrow.began) / arrow.lasts, style, origin, taken));
  canvas.isEmpty = flying.length === 0;
}
