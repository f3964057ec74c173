// SPDX-License-Identifier: GPL-3.0-or-later
// Elements. Text gets into the page here alone, as text nodes: an object's name, label or message is never markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false)
      continue;
    if (typeof value === 'function')
      element.addEventListener(name, value);
    else
      element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

// h('button', {class: 'chip', click: f}, 'text', element, ...): functions become listeners, all else attributes.
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

// Changes the page only if the text is another: a selection stays, and nothing is read aloud again.
export function setText(element, text) {
  if (element.textContent !== text)
    element.textContent = text;
}

// The same for lines, each an element of its own: what does not fit in the width goes on below the beginning of its text.
// @look(line, element): may give it a class.
export function setLines(element, text, look) {
  if (element.textContent === text)
    return;
  element.replaceChildren(...text.split(/(?<=\n)/).map((line) => {
    const row = h('span', {class: 'line-of-text'}, line);
    look?.(line, row);
    return row;
  }));
}

export function setAttribute(element, name, value) {
  if (value === undefined || value === null || value === false)
    element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value))
    element.setAttribute(name, value);
}

// Gives an element one child for each of @items, in order. An item's key finds its element again.
export function keep(parent, items, keyOf, make, update) {
  const known = parent.kept ?? (parent.kept = new Map());
  const wanted = new Set();
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let element = known.get(key);
    if (!element) {
      element = make(item);
      known.set(key, element);
    }
    wanted.add(key);
    update?.(element, item);
    if (element === place)
      place = place.nextElementSibling;
    else
      parent.insertBefore(element, place);
  }
  for (const [key, element] of known) {
    if (wanted.has(key))
      continue;
    element.remove();
    known.delete(key);
  }
}

// A row of tabs with their panels. tabs: [{id, title, panel, shown}]; shown() is told when a panel is seen.
export function tabList(label, tabs) {
  const list = h('div', {role: 'tablist', 'aria-label': label, class: 'tabs'});
  const select = (id, focus) => {
    for (const tab of tabs) {
      const is = tab.id === id;
      tab.button.setAttribute('aria-selected', is);
      tab.button.tabIndex = is ? 0 : -1;
      tab.panel.hidden = !is;
      if (is && focus)
        tab.button.focus();
      if (is)
        tab.shown?.();
    }
    list.current = id;
  };
  for (const tab of tabs) {
    tab.button = h('button', {role: 'tab', type: 'button', id: `tab-${tab.id}`, 'aria-controls': `panel-${tab.id}`,
                              click: () => select(tab.id)}, tab.title);
    fill(tab.panel, {role: 'tabpanel', id: `panel-${tab.id}`, 'aria-labelledby': `tab-${tab.id}`, tabindex: 0}, []);
    list.append(tab.button);
  }
  list.addEventListener('keydown', (event) => {
    const at = tabs.findIndex((tab) => tab.id === list.current);
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (step)
      select(tabs[(at + step + tabs.length) % tabs.length].id, true);
  });
  list.select = select;
  return list;
}
