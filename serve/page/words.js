// SPDX-License-Identifier: GPL-3.0-or-later
// Texts in the reader's language, from the program's catalogue; and how times are written.

let catalogue = {};
let current = 'en';

export function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function store(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch { /* a browser without storage asks again next time */ }
}

export const language = () => current;

// A text, with the values of its {names}.
export function t(text, values) {
  const words = catalogue[text] ?? text;
  return values ? words.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole) : words;
}

// The form for a number: plural(n, t("{n} fault"), t("{n} faults")). A language without forms has the same text for both.
export const plural = (n, one, many) => (n === 1 ? one : many).replace('{n}', n);

// Names without the rest of a uid or a sum: "pvc-29d3…", "csi-5f68bb…"
export const shortName = (text) => text.replace(/([0-9a-f]{4})[0-9a-f]{4}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '$1…').replace(/\b(csi-[0-9a-f]{6})[0-9a-f]{58}/g, '$1…');

export async function chooseLanguage() {
  const wanted = stored('kvolsim-language') ?? navigator.language ?? 'en';
  current = wanted.startsWith('zh') ? 'zh' : 'en';
  document.documentElement.lang = current === 'zh' ? 'zh-CN' : 'en';
  if (current === 'en')
    return;
  try {
    catalogue = globalThis.recording?.words ?? await (await fetch('page/words-zh.json')).json();
  } catch {
    current = 'en';
  }
}

// "12.345s", "2m05s", "1h02m": ns of virtual time.
export function duration(ns, digits = 3) {
  const s = ns / 1e9;
  if (s < 0)
    return `-${duration(-ns, digits)}`;
  if (s < 1 && digits > 0)
    return `${Number((s * 1000).toPrecision(3))}ms`;
  if (s < 60)
    return `${s.toFixed(digits)}s`;
  const whole = Math.floor(s);
  const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (n) => String(n).padStart(2, '0');
  return hours > 0 ? `${hours}h${two(minutes)}m${two(seconds)}s` : `${minutes}m${two(seconds)}s`;
}

// The instant of the clock, always as long: "0:00:12.345"
export function instant(ns) {
  const ms = Math.floor(ns / 1e6);
  const pad = (n, digits) => String(n).padStart(digits, '0');
  return `${Math.floor(ms / 3600000)}:${pad(Math.floor(ms / 60000) % 60, 2)}:${pad(Math.floor(ms / 1000) % 60, 2)}.${pad(ms % 1000, 3)}`;
}

// The word for a state of an object, a node or a process.
export function stateWord(state) {
  const words = {
    ready: t("ready"), starting: t("starting"), waiting: t("without a node"), failed: t("failed"), done: t("done"), deleting: t("being deleted"),
    pending: t("pending"), bound: t("bound"), lost: t("lost"), available: t("available"), released: t("released"),
    'not-ready': t("not ready"), cordoned: t("cordoned"), running: t("running"), down: t("down"), hung: t("hangs"), 'cut-off': t("cut off"),
    off: t("without power"),
  };
  return words[state] ?? state;
}

// The word for a wait, as the attribution of time names it (models/timing/waits.h).
export function waitWord(wait) {
  const words = {
    scenario: t("scenario"), component: t("component"), 'client throttling': t("client throttling"), 'API latency': t("API latency"),
    'watch delay': t("watch delay"), 'work queue': t("work queue"), 'all workers busy': t("all workers busy"), 'retry back-off': t("retry back-off"),
    'poll or tick': t("poll or tick"), 'scheduler queue': t("scheduler queue"), unschedulable: t("unschedulable"), 'driver latency': t("driver latency"),
    'driver throttling': t("driver throttling"), 'container runtime': t("container runtime"), 'start-up': t("start-up"),
    "change of files' group": t("change of files' group"), 'SELinux relabelling': t("SELinux relabelling"), 'image pull': t("image pull"),
  };
  return words[wait] ?? wait;
}
