// Random clients against a server: some leave, some send nonsense. Counts what became of them.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestOf } from './soak-requests.mjs';

/** Whether request `index` is of the `share`: evenly spread, so that few requests hold some of each kind too. */
const isOf = (share, index) => Math.floor((index + 1) * share) > Math.floor(index * share);

const headersOf = ({ headers, origin }) => ({
  'content-type': 'application/json',
  ...headers,
  ...(origin && { origin }),
});

/** Sends half of the body, and waits; resolves with the answer. */
function sendHalf(url, { path, body, refusal }) {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    const socket = connect(port, hostname);
    const head = `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    let answer = '';
    socket.on('data', (data) => {
      answer += data;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      const isRight = answer.startsWith(`HTTP/1.1 ${refusal} `);
      resolve(isRight ? 'refused' : `half a body: ${answer.slice(0, 200)}`);
    });
    socket.write(head + body.slice(0, body.length / 2));
  });
}

/** What became of a response. */
async function finish(response, { refusal, maybe = [], isRight, onEnd }) {
  const text = await response.text();
  const { status } = response;
  if (status === 429) return 'busy';
  if (status === refusal || maybe.includes(status))
    return text.includes('"') ? 'refused' : `no message: ${text}`;
  if (!response.ok || refusal) return `status ${status}: ${text.slice(0, 300)}`;
  if (!isRight(text, response.headers.get('content-type'))) return `cut: ${text.slice(-200)}`;
  onEnd?.(text);
  return 'ok';
}

/** Reads until the first piece of a response has come, and leaves. */
async function readFirst(response) {
  const reader = response.body.getReader();
  await reader.read();
  await reader.cancel();
  return 'left';
}

/** One request; returns its kind, and 'ok', 'left', 'refused', 'busy', or what went wrong. */
async function request(url, index, { disconnect, malformed }) {
  const isMalformed = isOf(malformed, index);
  const made = requestOf(index, isMalformed);
  const { kind, path, method, body, isHalf } = made;
  if (isHalf) return [kind, await sendHalf(url, made)];
  const leaves = !isMalformed && isOf(disconnect, index + 1); // + 1: the two kinds fall on different requests
  const leavesLate = leaves && Math.random() < 0.5;
  const abort = new AbortController();
  const timer = leaves && !leavesLate && setTimeout(() => abort.abort(), 60 * Math.random());
  try {
    const init = { method, headers: headersOf(made), body, signal: abort.signal };
    const response = await fetch(url + path, init);
    return [kind, await (leavesLate && response.ok ? readFirst(response) : finish(response, made))];
  } catch (error) {
    const what = `connection: ${error.cause?.code ?? error.message}`;
    return [kind, abort.signal.aborted ? 'left' : what];
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Keeps `clients` clients busy for `ms` milliseconds, and with at least `least` requests. `onTurn` is called every `every` ms with the counts so far. Returns
 * the counts by end, those of each kind of request, and the requests that did not end within `patience` ms after the last one began.
 */
export async function soak(
  url,
  {
    ms,
    least = 0,
    clients = 16,
    disconnect = 0.2,
    malformed = 0.05,
    every = 60_000,
    patience = 30_000,
    onTurn,
  },
) {
  const ends = {};
  const kinds = {};
  let requests = 0;
  let hanging = 0;
  const end = performance.now() + ms;
  let lastBegan = 0;
  const client = async () => {
    while (performance.now() < end || requests < least) {
      lastBegan = performance.now();
      hanging++;
      const [kind, what] = await request(url, requests++, { disconnect, malformed });
      hanging--;
      ends[what] = (ends[what] ?? 0) + 1;
      kinds[kind] ??= {};
      kinds[kind][what] = (kinds[kind][what] ?? 0) + 1;
    }
  };
  const watch = setInterval(() => onTurn?.(ends), every);
  let isOver = false;
  void Promise.all(Array.from({ length: clients }, client)).then(() => {
    isOver = true;
  });
  while (!isOver && performance.now() < Math.max(end, lastBegan + patience)) await sleep(50);
  clearInterval(watch);
  return { ends, kinds, hanging };
}
