// SPDX-License-Identifier: GPL-3.0-or-later
// The run's figures as they grow: how long stages take, where the time went, availability, requests by client. With a variant beside
// it, both stand side by side.

import {h, keep, setText, svg} from './dom.js';
import {own} from './link.js';
import {duration, plural, t, waitWord} from './words.js';
import {world} from './world.js';

const CAUSES_SHOWN = 4;
const CLIENTS_SHOWN = 12;
const SHARE_SHOWN = 0.005; // of an object's time
const body = h('div', {class: 'figures'});
const columns = h('div', {class: 'columns'});
const legend = h('ul', {class: 'legend quiet'});
const pictures = h('div', {class: 'pictures'});

export function numbersPanel() {
  body.append(legend, h('h3', null, t("How long each stage took")), h('p', {class: 'quiet'}, t("From left to right the time, from bottom to top the share of objects that took no longer.")), pictures, columns);
  return h('div', {class: 'panel'}, body);
}

// ---- Distributions: all runs in one picture, by stage ----

const WIDTH = 300, HEIGHT = 90;

// The share of objects that took at most a time, as a line.
function curve(stage, longest) {
  const n = stage.quantiles.length - 1;
  return stage.quantiles.map((ns, i) => `${i ? 'L' : 'M'}${(ns / longest * WIDTH).toFixed(1)} ${(HEIGHT - i / n * HEIGHT).toFixed(1)}`).join('') +
         `L${WIDTH} 0`;
}

function summaryOf(name, stage) {
  return `${name}${plural(stage.count, t("{n} object"), t("{n} objects"))} · p50 ${duration(stage.p50)} · p99 ${duration(stage.p99)} · ${t("longest")} ${duration(stage.max)}`;
}

function updatePicture(figure, {name, stages}) {
  const longest = Math.max(1, ...stages.map((stage) => stage?.max ?? 0));
  const [caption, picture, scale, list] = figure.children;
  setText(caption, name);
  picture.replaceChildren(svg('path', {d: `M0 ${HEIGHT / 2}H${WIDTH}`, class: 'axis half'}), svg('path', {d: `M0 0V${HEIGHT}H${WIDTH}`, class: 'axis'}),
                          ...stages.map((stage, i) => stage && svg('path', {d: curve(stage, longest), class: `run-${i}`})).filter(Boolean));
  setText(scale.lastChild, duration(longest, 1));
  picture.setAttribute('aria-label', t("{stage}: the share of objects that took at most a time, from 0 to {time}", {stage: name, time: duration(longest)}));
  list.replaceChildren(...stages.map((stage, i) => stage && h('li', {class: `run-${i}`}, summaryOf(stages.length > 1 ? `${String.fromCharCode(65 + i)}: ` : '', stage))).filter(Boolean));
}

function makePicture() {
  return h('figure', null, h('figcaption'), svg('svg', {role: 'img', viewBox: `-2 -4 ${WIDTH + 4} ${HEIGHT + 8}`, class: 'distribution'}),
           h('div', {class: 'scale quiet', 'aria-hidden': 'true'}, h('span', null, '0'), h('span')),
           h('ul', {class: 'quiet'}));
}

function updatePictures(runs) {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.figures.stages)))].sort();
  keep(pictures, names.map((name) => ({name, stages: runs.map((run) => run.figures.stages[name])})), (one) => one.name, makePicture, updatePicture);
}

// ---- Columns: a run each ----

function table(caption, head, rows) {
  return h('table', null, h('caption', null, caption), h('thead', null, h('tr', null, head.map((word) => h('th', {scope: 'col'}, word)))),
           h('tbody', null, rows.map((row) => h('tr', null, row.map((cell, i) => h(i ? 'td' : 'th', i ? null : {scope: 'row'}, cell))))));
}

function bar(share, kind) {
  const element = h('span', {class: `bar ${kind}`});
  element.style.width = `${Math.min(100, Math.max(1, share * 100))}%`;
  return h('span', {class: 'share', 'aria-hidden': 'true'}, element);
}

function causeRow(cause) {
  const behind = cause.busyWith ? t(", busy with: {what}", {what: [waitWord(cause.busyWith), cause.busyWithDetail].filter(Boolean).join(': ')}) : '';
  return h('li', null, bar(cause.share, ''), `${(cause.share * 100).toFixed(0)} % ${waitWord(cause.wait)}${cause.detail ? `: ${cause.detail}` : ''}${behind}`);
}

// A stage with all its causes, as /kvolsim/v1/attribution has it.
export function timeOfStage(name, {causes}) {
  const all = causes.reduce((sum, cause) => sum + cause.seconds, 0);
  return h('div', null, h('h4', null, `${name}: ${duration(all * 1e9)}`), h('ul', {class: 'causes'}, causes.filter((cause) => cause.share >= SHARE_SHOWN).map(causeRow)));
}

function causesOf(figures) {
  return Object.entries(figures.attribution ?? {}).flatMap(([name, stage]) =>
    [h('h4', null, t("Where the time went: {stage}", {stage: name})),
     h('ul', {class: 'causes'}, (stage.causes ?? []).filter((cause) => cause.share >= SHARE_SHOWN).slice(0, CAUSES_SHOWN).map(causeRow))]);
}

// Requests of the latest second, and the client's limit.
function clientRow([name, client]) {
  const latest = client.latest.at(-2) ?? 0, limit = client.qps;
  return h('li', null, limit && bar(latest / limit, latest >= limit ? 'full' : ''),
           limit ? t("{name}: {latest} requests in a second of {qps} (burst {burst}), {peak} at most, {total} in all",
                     {name, latest, qps: limit, burst: client.burst, peak: client.peak, total: client.total})
                 : t("{name}: {latest} requests in a second, {peak} at most, {total} in all", {name, latest, peak: client.peak, total: client.total}));
}

function columnOf(run, i, isOne) {
  const {figures} = run, parts = isOne ? [] : [h('h3', {class: `run-${i}`}, `${String.fromCharCode(65 + i)} · ${run.title}`)];
  const rows = figures.availability ?? [];
  if (rows.length)
    parts.push(table(t("Availability"), [t("workload"), t("availability"), t("outages")],
                     rows.map((row) => [row.workload, row.availability == null ? '–' : `${(row.availability * 100).toFixed(2)} %`, row.outages])));
  const clients = Object.entries(figures.clients).sort(([, a], [, b]) => b.total - a.total).slice(0, CLIENTS_SHOWN);
  parts.push(h('h4', null, t("Requests by client")), h('ul', {class: 'causes'}, clients.map(clientRow)), ...causesOf(figures));
  return h('div', null, parts);
}

// Returns the runs of the server, each with its figures at this instant.
async function askAll() {
  const {runs} = await own('runs', null, {of: ''});
  return Promise.all(runs.map(async (run) => ({
    ...run, title: run.title ? `${run.name}: ${run.title}` : run.name,
    figures: await own('figures', null, {of: `${run.path}${world.present ? '/past' : ''}`})})));
}

export async function updateNumbers() {
  if (body.offsetParent === null)
    return;
  const runs = await askAll();
  keep(legend, runs.length > 1 ? runs : [], (run) => run.path, () => h('li'), (element, run) => {
    const i = runs.indexOf(run);
    element.className = `run-${i}`;
    setText(element, `${String.fromCharCode(65 + i)} ${run.title}`);
  });
  updatePictures(runs);
  columns.replaceChildren(...runs.map((run, i) => columnOf(run, i, runs.length === 1)));
}
