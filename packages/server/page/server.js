import { get } from './api.js';
import { element } from './elements.js';

const now = document.getElementById('now');
const rate = document.getElementById('rate');
const label = document.getElementById('rate-label');
const view = document.getElementById('view-server');

/** Seconds between two looks, and looks that are drawn. */
const [everySeconds, looks] = [1, 120];

const figures = [
  ['running requests', (m) => m('num_requests_running')],
  ['waiting requests', (m) => m('num_requests_waiting')],
  ['cache in use', (m) => `${(100 * m('kv_cache_usage_perc')).toFixed(0)} %`],
  ['prompt tokens', (m) => m('prompt_tokens_total')],
  ['of these from the cache', (m) => m('prefix_cache_hits_total')],
  ['generated tokens', (m) => m('generation_tokens_total')],
  ['preemptions', (m) => m('num_preemptions_total')],
];

/** Sums of all models, by the name of the metric. */
function read(text) {
  const sums = new Map();
  for (const line of text.split('\n')) {
    const [, name, value] = /^quern:(\w+)(?:\{[^}]*\})? (\S+)$/.exec(line) ?? [];
    if (name) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return (name) => sums.get(name) ?? 0;
}

const rates = [];
let last;

function draw(tokens) {
  const time = performance.now();
  if (last) rates.push(Math.max(0, (1000 * (tokens - last.tokens)) / (time - last.time)));
  last = { tokens, time };
  while (rates.length > looks) rates.shift();
  const most = Math.max(10, ...rates);
  const points = rates.map((value, i) => `${(600 * i) / (looks - 1)},${115 - (105 * value) / most}`);
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'polyline');
  line.setAttribute('points', points.join(' '));
  label.textContent = `now ${(rates.at(-1) ?? 0).toFixed(0)}, top of the scale ${most.toFixed(0)}`;
  rate.replaceChildren(line);
}

async function look() {
  const metric = read(await (await get('metrics')).text());
  const shown = figures.map(([name, of]) =>
    element(
      'div',
      {},
      element('dt', { textContent: name }),
      element('dd', { textContent: String(of(metric)) }),
    ),
  );
  now.replaceChildren(...shown);
  draw(metric('generation_tokens_total'));
}

setInterval(() => {
  if (!view.hidden && document.visibilityState === 'visible') look().catch(() => {}); // the next look tries again
}, 1000 * everySeconds);
