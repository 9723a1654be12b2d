// Requests to the server that this page comes from.
import { keep, kept } from './kept.js';

const keyInput = document.getElementById('key');
keyInput.value = kept('key', 'sessionStorage') ?? '';
keyInput.addEventListener('change', () => {
  keep('key', keyInput.value, 'sessionStorage');
  keyInput.dispatchEvent(new Event('quern-key', { bubbles: true }));
});

const headers = () => (keyInput.value ? { authorization: `Bearer ${keyInput.value}` } : {});

/** The message of an error of the API. */
async function problemOf(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error.message;
  } catch {
    return `${response.status} ${response.statusText}`;
  }
}

async function send(path, init) {
  const response = await fetch(path, { ...init, headers: { ...headers(), ...init?.headers } }).catch(
    (error) => {
      if (error.name === 'AbortError') throw error;
      throw new Error(`the server does not answer (${error.message})`);
    },
  );
  if (!response.ok) throw new Error(await problemOf(response));
  return response;
}

export const get = (path) => send(path);

export const postForm = (path, form, signal) => send(path, { method: 'POST', body: form, signal });

export const postJson = (path, body, signal) =>
  send(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });

/** A whole answer. An answer that began before its error has status 200 and the error in its body. */
export async function jsonOf(response) {
  let value;
  try {
    value = await response.json();
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new BrokenError();
  }
  if (value?.error) throw new Error(value.error.message ?? 'the server reports an error');
  return value;
}

/** The connection ended before the answer. */
export class BrokenError extends Error {
  constructor() {
    super('the connection broke before the answer ended');
  }
}

/** The events of a stream, as objects. Throws the error that an event reports. */
export async function* eventsOf(response) {
  for await (const data of dataOf(response)) {
    if (data === '[DONE]') continue;
    const event = JSON.parse(data);
    if (event.error) throw new Error(event.error.message ?? 'the server reports an error');
    yield event;
  }
}

/** The data of each event of a stream; comments have none. */
async function* dataOf(response) {
  let rest = '';
  for await (const text of textsOf(response)) {
    const parts = (rest + text).split('\n\n');
    rest = parts.pop();
    for (const part of parts) {
      const line = part.split('\n').find((each) => each.startsWith('data: '));
      if (line) yield line.slice('data: '.length);
    }
  }
}

async function* textsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((error) => {
      throw error.name === 'AbortError' ? error : new BrokenError();
    });
    if (done) return;
    yield value;
  }
}

const problem = document.getElementById('problem');

/** Shows an error above the page; without one, hides the last. */
export function showProblem(error) {
  problem.textContent = error?.message ?? '';
  problem.hidden = !error;
}

/** Runs an act; its error is shown above the page. */
export async function showingProblems(act) {
  showProblem();
  try {
    return await act();
  } catch (error) {
    if (error.name !== 'AbortError') showProblem(error);
    return undefined;
  }
}
