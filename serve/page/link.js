// SPDX-License-Identifier: GPL-3.0-or-later
// Requests to the server that the page came from, or to a recorded run.

import {t} from './words.js';

const OWN = '/kvolsim/v1/';
let token = null;
let base = ''; // '', '/past', '/versus', '/versus/past': the run that is asked
let recorded = null; // answers in place of a server; null: there is one

export const setBase = (path) => { base = path; };
export const isRecorded = () => recorded !== null;
export const useRecording = (answer) => { recorded = answer; };

try {
  token = sessionStorage.getItem('kvolsim-token');
} catch { /* none is kept */ }

export function setToken(value) {
  token = value;
  try {
    sessionStorage.setItem('kvolsim-token', value);
  } catch { /* it holds until the page is left */ }
}

// The server's message about a failure; code 0: it was not reached.
export class LinkError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function answerOf(response) {
  const isJson = response.headers.get('Content-Type')?.startsWith('application/json');
  const body = isJson ? await response.json() : await response.text();
  if (!response.ok)
    throw new LinkError(response.status, body?.message ?? (isJson ? JSON.stringify(body) : body));
  return body;
}

// Returns the answer: JSON as an object, all else as text. @of: another run than the one on the stage
export async function ask(path, {method = 'GET', body, type = 'application/json', accept, of = base} = {}) {
  if (recorded)
    return recorded(path, {method, body});
  const headers = {};
  if (body !== undefined)
    headers['Content-Type'] = type;
  if (accept)
    headers.Accept = accept;
  if (token)
    headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(of + path, {method, headers, body: typeof body === 'object' ? JSON.stringify(body) : body});
  } catch {
    throw new LinkError(0, t("The server does not answer."));
  }
  return answerOf(response);
}

// kvolsim's own paths. own('why', {object: 'pod/web-0'})
export function own(path, query, options) {
  const parameters = new URLSearchParams(Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== ''));
  return ask(`${OWN}${path}${parameters.size ? `?${parameters}` : ''}`, options);
}

// A variant goes wherever the first run's clock is.
export const setClock = (body) => own('clock', null, {method: 'PUT', body, of: base.replace(/^\/versus/, '')});
export const act = (list, item, of) => own(list, null, {method: 'POST', body: item, of});

// The resources of the kinds on the stage, by the word of an object: "pod/web-0".
const RESOURCES = {
  pod: ['/api/v1', 'pods', true],
  pvc: ['/api/v1', 'persistentvolumeclaims', true],
  pv: ['/api/v1', 'persistentvolumes', false],
  node: ['/api/v1', 'nodes', false],
  va: ['/apis/storage.k8s.io/v1', 'volumeattachments', false],
  statefulset: ['/apis/apps/v1', 'statefulsets', true],
  deployment: ['/apis/apps/v1', 'deployments', true],
};

export function pathOf(object, subresource) {
  const [root, resource, isNamespaced] = RESOURCES[object.kind];
  const space = isNamespaced ? `/namespaces/${encodeURIComponent(object.namespace || 'default')}` : '';
  return `${root}${space}/${resource}/${encodeURIComponent(object.name)}${subresource ? `/${subresource}` : ''}`;
}
