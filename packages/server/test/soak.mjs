// Random clients against a server: some leave, some send nonsense. Counts what became of them.
import { setTimeout as sleep } from 'node:timers/promises';

const pick = (values) => values[Math.floor(Math.random() * values.length)];
const upTo = (most) => 1 + Math.floor(Math.random() * most);
/** Whether request `index` is of the `share`: evenly spread, so that few requests hold some of each kind too. */
const isOf = (share, index) => Math.floor((index + 1) * share) > Math.floor(index * share);

/** Bodies that no server should accept. */
const nonsense = [
  '{',
  '[]',
  '{"messages": 5}',
  '{"messages": [{"role": "user"}]}',
  '{"messages": [{"role": "user", "content": "x"}], "max_tokens": -1}',
  '{"messages": [{"role": "user", "content": "x"}], "temperature": "hot"}',
  '{"messages": [{"role": "user", "content": "x"}], "n": 0}',
];

/** The second one's keys are not chosen but forced. */
const schemas = [
  { enum: [1, 2] },
  {
    type: 'object',
    properties: { name: { enum: ['fox', 'mouse'] }, age: { type: 'integer', minimum: 0, maximum: 9 } },
    required: ['name', 'age'],
    additionalProperties: false,
  },
];

const words = 'the fox went out on a cold night and asked the mouse for a cup of tea'.split(' ');

function bodyOf() {
  const content = Array.from({ length: upTo(60) }, () => pick(words)).join(' ');
  return JSON.stringify({
    messages: [{ role: 'user', content }],
    max_tokens: upTo(40),
    stream: Math.random() < 0.7,
    temperature: pick([0, 0.8, 1.5]),
    ...(Math.random() < 0.2 && { presence_penalty: 1 }),
    ...(Math.random() < 0.2 && {
      response_format: { type: 'json_schema', json_schema: { schema: pick(schemas) } },
    }),
    ...(Math.random() < 0.1 && { logprobs: true }),
    ...(Math.random() < 0.05 && { n: 3 }),
  });
}

async function finish(response) {
  const text = await response.text();
  if (response.status === 429) return 'busy';
  if (!response.ok) return `status ${response.status}: ${text}`;
  if (response.headers.get('content-type').startsWith('application/json'))
    return JSON.parse(text).usage ? 'ok' : text;
  return text.endsWith('data: [DONE]\n\n') ? 'ok' : `cut: ${text.slice(-200)}`;
}

/** One request; returns 'ok', 'left', 'refused', 'busy', or what went wrong. */
async function request(url, index, { disconnect, malformed }) {
  const isMalformed = isOf(malformed, index);
  const leaves = !isMalformed && isOf(disconnect, index + 1); // + 1: the two kinds fall on different requests
  const abort = new AbortController();
  const timer = leaves && setTimeout(() => abort.abort(), 60 * Math.random());
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: isMalformed ? pick(nonsense) : bodyOf(),
      signal: abort.signal,
    });
    if (!isMalformed) return await finish(response);
    await response.text();
    return response.status === 400 ? 'refused' : `malformed: status ${response.status}`;
  } catch (error) {
    return abort.signal.aborted ? 'left' : `connection: ${error.cause?.code ?? error.message}`;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Keeps `clients` clients busy for `ms` milliseconds. `onTurn` is called every `every` ms with the counts so far. Returns
 * the counts by end, and the requests that did not end within 30 s after the last one began.
 */
export async function soak(
  url,
  { ms, clients = 16, disconnect = 0.2, malformed = 0.05, every = 60_000, onTurn },
) {
  const ends = {};
  let requests = 0;
  let hanging = 0;
  const end = performance.now() + ms;
  const client = async () => {
    while (performance.now() < end) {
      hanging++;
      const what = await request(url, requests++, { disconnect, malformed });
      hanging--;
      ends[what] = (ends[what] ?? 0) + 1;
    }
  };
  const watch = setInterval(() => onTurn?.(ends), every);
  const all = Promise.all(Array.from({ length: clients }, client));
  await Promise.race([all, sleep(ms + 30_000, undefined, { ref: false })]);
  clearInterval(watch);
  return { ends, hanging };
}
