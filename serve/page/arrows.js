// SPDX-License-Identifier: GPL-3.0-or-later
// Messages between the boxes of the stage. An arrow is shown for as long as its message takes, and for SHORTEST at least. Arrows lie
// below the boxes, and a label only where nothing else is.

import {shortName} from './words.js';
import {shownPace, shownTime} from './world.js';

const SHORTEST = 550; // ms of real time
const FADE = 250; // ms after the arrival
const REFRESH = 400; // ms: how often colours and boxes are looked at
const ARROWS_MAX = 60;
const CALLERS_MAX = 2000; // calls that wait for their answer
const LABELS_MAX = 14;
const LABEL_HEIGHT = 18;
const LANES = 5; // arrows between the same boxes lie beside each other

const canvas = document.createElement('canvas');
canvas.className = 'arrows';
canvas.setAttribute('aria-hidden', 'true');
const pending = [], flying = [], callers = new Map();
const rects = new Map(); // places that were measured since the stage changed
let placeOf = null, stage = null, launched = 0, colours = {}, obstacles = [], refreshed = -REFRESH;

// @find(who, where) returns the place of a component, a driver or a node: an element, or what has its getBoundingClientRect().
export function arrowsOn(on, find) {
  placeOf = find;
  stage = on;
  stage.append(canvas);
  new ResizeObserver(stageMoved).observe(stage);
  requestAnimationFrame(draw);
}

// Boxes may be elsewhere now.
export function stageMoved() {
  rects.clear();
}

export function clearArrows() {
  pending.length = flying.length = 0;
  callers.clear();
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
  else if (entry.kind === 'call') {
    callers.set(`${entry.what} ${entry.at}`, self);
    if (callers.size > CALLERS_MAX) // some calls are never answered
      callers.delete(callers.keys().next().value);
  } else if (entry.kind === 'answer') {
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
      flying.push({...arrow, text: shortened(arrow.text), lane: launched++ % LANES, began: real, label: null,
                   lasts: Math.max(SHORTEST, Math.min(pace > 0 ? (arrow.at - arrow.since) / pace : 0, 5000))});
  }
}

function shortened(text) {
  const short = shortName(text);
  return short.length > 34 ? `${short.slice(0, 32)}…` : short;
}

// ---- Where ----

function rectOf(place, origin) {
  const {left, right, top, bottom} = place.getBoundingClientRect();
  return {left: left - origin.left, right: right - origin.left, top: top - origin.top, bottom: bottom - origin.top};
}

// The same, measured once until the stage changes: to measure costs a layout.
function knownRect(place, origin) {
  if (!(place instanceof Element))
    return rectOf(place, origin);
  if (!rects.has(place))
    rects.set(place, rectOf(place, origin));
  return rects.get(place);
}

// What goes to the right of two boxes' common part comes back, and the other way round.
function laneOf(arrow) {
  const isBack = arrow.kind !== 'write' && arrow.kind !== 'call';
  return (isBack ? 0.56 : 0.08) + arrow.lane / (LANES - 1) * 0.36;
}

const within = (low, high, part) => low + (high - low) * part;

// The ends of an arrow at the edges of two boxes that face each other: straight where the boxes have a width in common.
function endsOf(arrow, a, b) {
  const part = laneOf(arrow);
  if (a.bottom <= b.top || b.bottom <= a.top) {
    const [y1, y2] = a.bottom <= b.top ? [a.bottom, b.top] : [a.top, b.bottom];
    const low = Math.max(a.left, b.left), high = Math.min(a.right, b.right);
    const x = high - low > 40 ? within(low, high, part) : null;
    return [{x: x ?? within(a.left, a.right, part), y: y1}, {x: x ?? within(b.left, b.right, part), y: y2}];
  }
  const [x1, x2] = a.right <= b.left ? [a.right, b.left] : [a.left, b.right];
  return [{x: x1, y: within(a.top, a.bottom, part)}, {x: x2, y: within(b.top, b.bottom, part)}];
}

const hits = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

// Where the label of an arrow from @a to @b has room. Returns undefined if it has none.
function placeLabel(arrow, a, b, context, stageWidth) {
  if (arrow.looked === refreshed)
    return undefined; // there was no room, and no box has moved since
  arrow.looked = refreshed;
  const width = Math.ceil(context.measureText(arrow.text).width) + 14;
  const others = flying.filter((other) => other.label).map((other) => other.label);
  if (others.length >= LABELS_MAX || flying.some((other) => other.label && other.text === arrow.text && other.from[0] === arrow.from[0]))
    return undefined;
  for (const part of [0.5, 0.2, 0.8, 0.35, 0.65, 0.05, 0.95])
    for (const aside of [-0.5, -0.05, -0.95]) {
      const x = Math.min(Math.max(within(a.x, b.x, part) + width * aside, 0), Math.max(0, stageWidth - width));
      const y = within(a.y, b.y, part) - LABEL_HEIGHT / 2;
      const box = {left: x, right: x + width, top: y, bottom: y + LABEL_HEIGHT};
      const isHit = (other) => hits(box, other);
      if (y > 0 && !others.some(isHit) && !obstacles.some(isHit))
        return box;
    }
  return undefined;
}

// ---- Drawing ----

function line(context, a, b, from, to) {
  context.beginPath();
  context.moveTo(within(a.x, b.x, from), within(a.y, b.y, from));
  context.lineTo(within(a.x, b.x, to), within(a.y, b.y, to));
  context.stroke();
}

function drawLine(context, arrow, a, b, part, strength) {
  const head = Math.min(part, 1), angle = Math.atan2(b.y - a.y, b.x - a.x), x = within(a.x, b.x, head), y = within(a.y, b.y, head);
  context.strokeStyle = context.fillStyle = colours[arrow.kind];
  context.setLineDash(arrow.kind === 'watch' ? [5, 4] : []);
  context.globalAlpha = 0.3 * strength;
  line(context, a, b, 0, 1);
  context.globalAlpha = strength;
  line(context, a, b, 0, head);
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(x, y);
  for (const turn of [2.65, -2.65])
    context.lineTo(x + 9 * Math.cos(angle + turn), y + 9 * Math.sin(angle + turn));
  context.fill();
}

function drawLabel(context, arrow, strength) {
  const {left, right, top} = arrow.label;
  context.globalAlpha = strength;
  context.fillStyle = colours.card;
  context.strokeStyle = colours[arrow.kind];
  context.beginPath();
  context.roundRect(left + 1, top + 1, right - left - 2, LABEL_HEIGHT - 2, 7);
  context.fill();
  context.stroke();
  context.fillStyle = colours.text;
  context.fillText(arrow.text, left + 7, top + 13);
}

function refresh(real, origin) {
  if (real - refreshed < REFRESH)
    return;
  refreshed = real;
  rects.clear();
  const style = getComputedStyle(document.documentElement);
  for (const name of ['write', 'watch', 'call', 'answer', 'trouble', 'card', 'text'])
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  obstacles = [...stage.querySelectorAll('.box, .card, .driver-card, section > .chips, h2, .crowd, .quiet')].filter((one) => one.offsetParent).map((one) => rectOf(one, origin));
  for (const arrow of flying)
    if (arrow.label && obstacles.some((one) => hits(arrow.label, one)))
      arrow.label = null;
}

function drawAll(context, real, origin) {
  const labelled = [];
  for (const arrow of flying) {
    const from = placeOf(...arrow.from), to = placeOf(...arrow.to);
    if (!from || !to || from === to)
      continue;
    const part = (real - arrow.began) / arrow.lasts, strength = Math.max(0, 1 - Math.max(0, real - arrow.began - arrow.lasts) / FADE);
    const [a, b] = endsOf(arrow, knownRect(from, origin), knownRect(to, origin));
    drawLine(context, arrow, a, b, part, strength);
    arrow.label ??= placeLabel(arrow, a, b, context, origin.width);
    if (arrow.label)
      labelled.push([arrow, strength]);
  }
  labelled.forEach(([arrow, strength]) => drawLabel(context, arrow, strength));
}

function draw() {
  requestAnimationFrame(draw);
  launch();
  const real = performance.now();
  for (let i = flying.length - 1; i >= 0; i--)
    if (real - flying[i].began > flying[i].lasts + FADE)
      flying.splice(i, 1);
  if (!flying.length && canvas.isEmpty)
    return;
  const origin = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(origin.width * ratio) || canvas.height !== Math.round(origin.height * ratio)) {
    canvas.width = Math.round(origin.width * ratio);
    canvas.height = Math.round(origin.height * ratio);
  }
  refresh(real, origin);
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, origin.width, origin.height);
  context.lineWidth = 1.6;
  context.font = '12px system-ui, "Noto Sans CJK SC", sans-serif';
  drawAll(context, real, origin);
  context.globalAlpha = 1;
  canvas.isEmpty = flying.length === 0;
}
