// SPDX-License-Identifier: GPL-3.0-or-later
// Messages between the boxes of the stage. An arrow is shown for as long as its message takes, and for SHORTEST at least.

import {shownPace, shownTime} from './world.js';

const SHORTEST = 450; // ms of real time
const ARROWS_MAX = 60;
const LABELS_MAX = 6;

const canvas = document.createElement('canvas');
canvas.className = 'arrows';
canvas.setAttribute('aria-hidden', 'true');
const pending = [], flying = [], callers = new Map();
let placeOf = null;

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
      flying.push({...arrow, began: real, lasts: Math.max(SHORTEST, Math.min(pace > 0 ? (arrow.at - arrow.since) / pace : 0, 5000))});
  }
}

function centre(element, origin) {
  const box = element.getBoundingClientRect();
  return {x: box.left + box.width / 2 - origin.left, y: box.top + Math.min(box.height / 2, 24) - origin.top};
}

function drawOne(context, arrow, part, style, origin, isLabelled) {
  const from = placeOf(...arrow.from), to = placeOf(...arrow.to);
  if (!from || !to || from === to)
    return;
  const a = centre(from, origin), b = centre(to, origin);
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
  if (!isLabelled)
    return;
  const text = arrow.text.length > 40 ? `${arrow.text.slice(0, 38)}…` : arrow.text;
  const width = context.measureText(text).width;
  const x = Math.min(Math.max(head.x - width / 2, 2), canvas.clientWidth - width - 2);
  context.fillStyle = style.getPropertyValue('--card').trim();
  context.fillRect(x - 3, head.y - 24, width + 6, 16);
  context.fillStyle = style.getPropertyValue('--text').trim();
  context.fillText(text, x, head.y - 12);
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
  flying.forEach((arrow, i) => drawOne(context, arrow, (real - arrow.began) / arrow.lasts, style, origin, i < LABELS_MAX));
  canvas.isEmpty = flying.length === 0;
}
