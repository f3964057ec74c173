// SPDX-License-Identifier: GPL-3.0-or-later
// The clock: play, pause, speed, steps, jumps to a time or a condition, back into the past, and on from there.

import {h, setAttribute, setText} from './dom.js';
import {isRecorded, own, setClock} from './link.js';
import {timeLine, updateLine} from './marks.js';
import {instant, t} from './words.js';
import {shownTime, world} from './world.js';

const SPEEDS = ['0.1', '0.5', '1', '2', '5', '10', '60', '600', 'max'];
const S = 1e9;

const time = h('div', {class: 'time', role: 'timer', 'aria-label': t("Virtual time")});
const play = h('button', {type: 'button', id: 'play', class: 'primary'});
const speed = h('select', {id: 'speed', 'aria-label': t("Speed")});
const goal = h('input', {id: 'goal', type: 'text', size: 23, spellcheck: 'false'});
const pastBar = h('div', {class: 'row past', hidden: true});
let wanted = '1', report = null, show = null, moves = Promise.resolve();

const isPlaying = () => world.clock && world.clock.speed !== 0;
const speedValue = (word) => word === 'max' ? 'max' : Number(word);
const timeText = (ns) => `${Math.max(0, Math.round(ns))}ns`;

// One after the other: a click waits until the move before it has arrived.
function trying(deed) {
  moves = moves.then(() => {
    report(''); // nobody takes an older message for the answer
    return deed();
  }).catch((error) => report(error.message));
  return moves;
}

async function move(body) {
  const clock = await setClock(body);
  if (clock.isMet === false && body.condition)
    report(t("\"{condition}\" did not come true", {condition: body.condition}));
  world.clock = clock;
  updateClock();
}

const put = (body) => trying(() => move(body));

// ---- The past ----

async function toPresent() {
  await show(null);
  await own('past', null, {method: 'DELETE', of: ''});
}

// Puts the run as it was at @ns on the stage.
async function toPast(ns) {
  const present = world.present ?? await setClock({speed: 0});
  report(t("The run up to {time} is made again.", {time: instant(ns)}));
  const clock = await own('past', null, {method: 'PUT', body: {at: timeText(ns)}, of: ''});
  await show(present);
  world.clock = clock;
  report('');
}

// Makes the past that is shown the present: whatever came later is given up.
async function branch() {
  const at = timeText(world.clock.ns);
  await show(null); // nobody asks the past any more when it goes
  await own('branch', null, {method: 'POST', body: {at}, of: ''});
  await show(null);
  report(t("The run goes on from here."));
}

// Moves to any time, into the past or forward. @time: ns; or a function that gives them once the moves before are done
export function goTo(time) {
  return trying(async () => {
    const ns = typeof time === 'function' ? time() : time;
    const present = world.present ?? world.clock;
    if (isRecorded() || ns >= present.ns) {
      if (world.present)
        await toPresent();
      if (isRecorded() || ns > present.ns)
        await move({speed: 0, until: timeText(ns)});
    } else
      await toPast(ns);
  });
}

// ---- Steps ----

// The latest instant before the present one at which the story has something of a kind.
function previous(isWanted) {
  const now = world.clock.ns;
  return world.story.findLast((entry) => entry.at < now && isWanted(entry))?.at ?? 0;
}

const isWrite = (entry) => entry.kind === 'change';
const isDecision = (entry) => entry.kind === 'step' || entry.kind === 'call';

function stepForward(kind) {
  put({speed: 0, step: kind, ...(kind !== 'event' && {for: '1h'})});
}

// "42s", "+5m", "-10s" or "pod/web-0 Ready"
function go(event) {
  event.preventDefault();
  const text = goal.value.trim();
  const match = /^([-+]?)((?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h|d))+)$/.exec(text);
  if (text.includes('/'))
    put({speed: 0, condition: text});
  else if (!match)
    report(t("A time is written as 42s, +5m or -10s, a condition as pod/web-0 Ready."));
  else
    goTo({'+': world.clock.ns, '-': world.clock.ns, '': 0}[match[1]] + (match[1] === '-' ? -1 : 1) * nanoseconds(match[2]));
}

function nanoseconds(text) {
  const units = {ns: 1, us: 1e3, ms: 1e6, s: S, m: 60 * S, h: 3600 * S, d: 86400 * S};
  return [...text.matchAll(/(\d+(?:\.\d+)?)(ns|us|ms|s|m|h|d)/g)].reduce((sum, [, number, unit]) => sum + number * units[unit], 0);
}

// ---- The bar ----

// onReport(text): a word for the reader; onShow(present): the run on the stage changes, to the past of a present with this clock
// (null: to the present).
export function clockBar(onReport, onShow) {
  report = onReport;
  show = onShow;
  for (const word of SPEEDS)
    speed.append(h('option', {value: word}, word === 'max' ? t("fastest") : `× ${word}`));
  speed.value = wanted;
  speed.addEventListener('change', () => {
    wanted = speed.value;
    if (isPlaying())
      put({speed: speedValue(wanted)});
  });
  play.addEventListener('click', () => trying(() => move({speed: isPlaying() ? 0 : speedValue(wanted)})));
  goal.placeholder = '42s  +5m  pod/web-0 Ready';
  const button = (label, id, click, name) => h('button', {type: 'button', id, click, 'aria-label': name, title: name}, label);
  pastBar.append(h('strong', null, t("This is the past.")), button(t("Back to the present"), 'to-present', () => trying(toPresent)),
                 button(t("Go on from here"), 'branch', () => trying(branch), t("Go on from here: what came later is given up")));
  return h('section', {class: 'clock', 'aria-label': t("Clock")},
           h('div', {class: 'row'},
             h('div', {class: 'row group', role: 'group', 'aria-label': t("Back")},
               button('⇤', 'to-start', () => goTo(0), t("To the start")),
               button('−10s', 'back-10', () => goTo(() => world.clock.ns - 10 * S)),
               button(`◂ ${t("write")}`, 'back-write', () => goTo(() => previous(isWrite)), t("Back to the write before")),
               button(`◂ ${t("decision")}`, 'back-decision', () => goTo(() => previous(isDecision)), t("Back to the decision before"))),
             play, speed,
             h('div', {class: 'row group', role: 'group', 'aria-label': t("Forward")},
               button(`${t("event")} ▸`, 'step-event', () => stepForward('event'), t("Next event")),
               button(`${t("write")} ▸`, 'step-write', () => stepForward('write'), t("Next write")),
               button(`${t("decision")} ▸`, 'step-decision', () => stepForward('decision'), t("Next decision")),
               button('+10s', 'step-10', () => put({speed: 0, for: '10s'}))),
             h('form', {class: 'row', submit: go}, h('label', {for: 'goal'}, t("Go to")), goal, h('button', {id: 'go'}, t("Go"))), time),
           ...timeLine(goTo), pastBar);
}

export function updateClock() {
  const clock = world.clock;
  if (!clock)
    return;
  if (clock.speed !== 0 && document.activeElement !== speed) {
    wanted = clock.speed === 'max' ? 'max' : String(clock.speed);
    if (SPEEDS.includes(wanted))
      speed.value = wanted;
  }
  setText(play, isPlaying() ? t("Pause") : t("Play"));
  setText(time, instant(shownTime()));
  pastBar.hidden = !world.present;
  setAttribute(document.body, 'data-past', world.present ? 'yes' : null);
  updateLine();
}
