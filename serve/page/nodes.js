// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes with their pods and volumes: a card each; many nodes are squares on a canvas, whose colour tells how their pods are.

import {h, keep, setAttribute, setText} from './dom.js';
import {makeChip, updateChip} from './stage.js';
import {plural, stateWord, t} from './words.js';
import {keyOf, nodeState, nodeTroubles, podState, rowsOf, world} from './world.js';

const CARDS_MAX = 150;
const COMPACT_FROM = 150; // pods
const CELL = 14;

const inOrder = new Intl.Collator('en', {numeric: true});
const cards = h('div', {class: 'cards'});
const canvas = h('canvas', {class: 'crowd', role: 'img'});
const heading = h('h2');
const pointed = h('p', {class: 'quiet'});
const nodeElements = new Map();
let width = 0; // of the canvas; to ask for it costs a layout
let select = null, squares = [], places = new Map(), drawn = '';
const sorted = {version: -1, names: []};
const painted = {on: '', colours: []}; // the canvas, and the colours of the squares on it

const columnsOf = () => Math.max(1, Math.floor(width / CELL));

// The place of a square on the page.
function placeOfSquare(i) {
  const {left, top} = canvas.getBoundingClientRect(), x = left + i % columnsOf() * CELL, y = top + Math.floor(i / columnsOf()) * CELL;
  return {left: x, right: x + CELL - 2, top: y, bottom: y + CELL - 2};
}

// The place of a node: an element, or what has its getBoundingClientRect().
export function nodeBox(name) {
  const i = canvas.hidden ? undefined : places.get(name);
  return i === undefined ? nodeElements.get(name) : {getBoundingClientRect: () => placeOfSquare(i)};
}

function squareAt(event) {
  return squares[Math.floor(event.offsetY / CELL) * columnsOf() + Math.floor(event.offsetX / CELL)];
}

export function nodesSection(onSelect) {
  select = onSelect;
  new ResizeObserver(() => {
    width = canvas.clientWidth;
    updateNodes();
  }).observe(canvas);
  canvas.addEventListener('click', (event) => {
    const node = squareAt(event)?.node;
    if (node)
      select({type: 'object', row: node});
  });
  canvas.addEventListener('pointermove', (event) => {
    const square = squareAt(event);
    setText(pointed, square ? `${square.node.name}: ${stateWord(square.state)}, ${t("{ready} of {all} pods ready", square)}` : '');
  });
  return h('section', {class: 'nodes', 'aria-label': t("Nodes")}, heading, cards, canvas, pointed);
}

function byNode(kind) {
  const map = new Map();
  for (const row of rowsOf(kind))
    if (!row.node)
      continue;
    else if (map.has(row.node))
      map.get(row.node).push(row);
    else
      map.set(row.node, [row]);
  return map;
}

// Nodes by name: "node-2" comes before "node-10".
function sortedNodes() {
  if (sorted.version !== world.nodesVersion) {
    sorted.names = rowsOf('node').sort((a, b) => inOrder.compare(a.name, b.name)).map(keyOf);
    sorted.version = world.nodesVersion;
  }
  return sorted.names.map((key) => world.objects.get(key));
}

// ---- Cards ----

function makeCard(node) {
  const element = h('div', {class: 'card'},
                    h('button', {type: 'button', class: 'name', click: () => select({type: 'object', row: world.objects.get(keyOf(node)) ?? node})}),
                    h('div', {class: 'chips'}), h('div', {class: 'chips'}));
  return element;
}

function updateCard(element, node, state, pods, attachments) {
  const [name, podChips, volumeChips] = element.children;
  nodeElements.set(node.name, element);
  setText(name, node.name + (state === 'ready' ? '' : ` · ${stateWord(state)}`));
  setAttribute(element, 'data-state', state);
  keep(podChips, pods, keyOf, makeChip, (chip, row) => updateChip(chip, row));
  keep(volumeChips, attachments, keyOf, makeChip, (chip, row) => {
    updateChip(chip, row, '⛁');
    const words = row.isAttached ? t("attached") : row.hasError ? t("failed") : t("attaching");
    setAttribute(chip, 'data-state', row.isDeleting ? 'deleting' : row.isAttached ? 'ready' : row.hasError ? 'failed' : 'starting');
    setAttribute(chip, 'title', `${row.volume}: ${words}`);
    setAttribute(chip, 'aria-label', `${t("volume")} ${row.volume}: ${words}`);
  });
}

// ---- The crowd ----

function paint(nodes, pods, troubles) {
  const style = getComputedStyle(document.documentElement), ratio = devicePixelRatio || 1;
  const columns = columnsOf(), height = Math.ceil(nodes.length / columns) * CELL;
  const context = canvas.getContext('2d');
  squares = nodes.map((node) => {
    const mine = pods.get(node.name) ?? [];
    return {node, state: nodeState(node, troubles), all: mine.length, ready: mine.filter((pod) => podState(pod) === 'ready').length};
  });
  places = new Map(nodes.map((node, i) => [node.name, i]));
  const colours = Object.fromEntries(['ready', 'starting', 'failed', 'empty'].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  const on = [width, height, ratio].join(' ');
  if (painted.on !== on) {
    Object.assign(painted, {on, colours: []});
    canvas.style.height = `${height}px`;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  squares.forEach((square, i) => {
    const isBad = square.state !== 'ready' && square.state !== 'cordoned';
    const colour = isBad ? colours.failed : square.all === 0 ? colours.empty : square.ready === square.all ? colours.ready : colours.starting;
    if (painted.colours[i] === colour)
      return;
    painted.colours[i] = context.fillStyle = colour;
    context.fillRect((i % columns) * CELL, Math.floor(i / columns) * CELL, CELL - 2, CELL - 2);
  });
}

export function updateNodes() {
  const troubles = nodeTroubles(), seen = [world.version, width, ...[...troubles].flat()].join(' ');
  if (seen === drawn)
    return;
  drawn = seen;
  const nodes = sortedNodes();
  const isCrowd = nodes.length > CARDS_MAX, podCount = world.kinds.get('pod')?.size ?? 0;
  setText(heading, `${plural(nodes.length, t("{n} node"), t("{n} nodes"))} · ${plural(podCount, t("{n} pod"), t("{n} pods"))}`);
  cards.hidden = isCrowd;
  canvas.hidden = !isCrowd;
  cards.classList.toggle('compact', podCount > COMPACT_FROM);
  if (isCrowd) {
    nodeElements.clear();
    paint(nodes, byNode('pod'), troubles);
    setAttribute(canvas, 'aria-label', t("{n} nodes, {bad} in trouble. Find one by its name above.",
                                         {n: nodes.length, bad: squares.filter((square) => square.state !== 'ready').length}));
    return;
  }
  const pods = byNode('pod'), attachments = byNode('va');
  keep(cards, nodes, keyOf, makeCard, (element, node) =>
    updateCard(element, node, nodeState(node, troubles), pods.get(node.name) ?? [], attachments.get(node.name) ?? []));
}
