// Runs every program of examples/ as a reader would, on the demo model, and compares what it prints. Needs a build.
// `node tools/examples.mjs [NAME]` prints faults and a line of counts.
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../examples/', import.meta.url));
const question = { messages: [{ role: 'user', content: 'Tell me a story.' }], max_tokens: 4, temperature: 0 };
const story = /hedgehog.*\n40 tokens\n$/s;

/** A Next application in one line: the route answers a request. */
const callRoute = `
  const { POST } = await import('./next-route.js');
  const body = ${JSON.stringify(JSON.stringify(question))};
  const response = await POST(new Request('http://next/v1/chat/completions', {
    method: 'POST', body, headers: { 'content-type': 'application/json' } }));
  console.log(response.status, (await response.json()).usage.completion_tokens);
  process.exit();`;

/** `args` of node, `input` of the terminal, `prints`: the whole output. */
const programs = {
  chat: {
    input: 'Tell me a story about a hedgehog.\nThank you.\n',
    prints: /^> \S.*\n\(0 of \d+ prompt.*\n> \S.*\n\([1-9]\d* of \d+ prompt tokens were in the cache\)/s,
  },
  structured: { prints: /^(glad|neutral|angry) [1-5]\n$/ },
  tools: { prints: /\ncalled weather\(.*\)\nresult \{"city":"(Linz|Oslo)","sunny":(true|false)\}\n$/s },
  embeddings: { prints: /^1\.000 a mill grinds grain\n(-?\d\.\d{3} .*\n){2}$/ },
  'ai-sdk': { prints: /hedgehog.*\n40 tokens\n(fox|owl) [1-9]\n$/s },
  'next-route': { args: ['--input-type=module', '-e', callRoute], prints: /^200 4\n$/ },
};
const clients = {
  'client-openai': { prints: story },
  'client-anthropic': { prints: story },
  'client-ai-sdk': { prints: story },
  'client-langchain': { prints: story },
};
/** Servers, and the clients that talk to them. */
const servers = { 'serve-hono': Object.keys(clients), 'serve-express': [] };

function start(name, { args = [`${name}.js`], input = '', env = {} } = {}) {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, AI_SDK_LOG_WARNINGS: 'false', ...env },
    timeout: 120_000,
  });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'])
    child[stream].setEncoding('utf8').on('data', (text) => {
      output[stream] += text;
    });
  child.stdin.on('error', () => {}); // a program may end before it has read
  child.stdin.end(input);
  const ended = new Promise((resolve) =>
    child.on('close', (code, signal) => resolve({ ...output, code: code ?? signal })),
  );
  return { child, output, ended };
}

/** '' for a program that ended well and printed what it should. */
async function faultOf(name, { prints, ...program }) {
  const { stdout, stderr, code } = await start(name, program).ended;
  if (code !== 0 || stderr !== '') return `${name}: ended with ${code}\n${stdout}${stderr}`;
  return prints.test(stdout) ? '' : `${name}: printed\n${stdout}which is not like ${prints}`;
}

/** The address that a server prints. */
async function addressOf({ child, output, ended }) {
  const printed = new Promise((resolve) =>
    child.stdout.on('data', () => /^http:\S+(?=\n)/.test(output.stdout) && resolve()),
  );
  await Promise.race([printed, ended]);
  return output.stdout.trim();
}

async function answersOf(url) {
  const hello = await fetch(`${url}/hello`).then((response) => response.text());
  if (hello !== 'a route of your own') return `/hello answered ${hello}`;
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(question),
  });
  const text = await response.text();
  return /"completion_tokens":4\b/.test(text) ? '' : `/v1/chat/completions answered ${text}`;
}

/** Faults of a server and of its clients; the server ends by itself after SIGTERM. */
async function serverFaults(name) {
  const running = start(name, { env: { PORT: '0' } });
  const url = await addressOf(running);
  const faults = [await answersOf(url).catch((error) => `${error.message}\n${running.output.stderr}`)];
  for (const client of servers[name])
    faults.push(await faultOf(client, { ...clients[client], env: { QUERN_URL: url } }));
  running.child.kill('SIGTERM');
  const { code, stderr } = await running.ended;
  faults.push(code === 0 && stderr === '' ? '' : `ended with ${code} after SIGTERM\n${stderr}`);
  return faults.filter((fault) => fault !== '').map((fault) => `${name}: ${fault}`);
}

function unlisted() {
  const names = Object.keys({ ...programs, ...clients, ...servers });
  const files = readdirSync(folder).filter((file) => file.endsWith('.js'));
  return files.filter((file) => !names.includes(file.slice(0, -'.js'.length)));
}

const [wanted] = process.argv.slice(2);
const waiting = [
  ...Object.keys(servers).map((name) => [name, () => serverFaults(name)]),
  ...Object.entries(programs).map(([name, program]) => [name, async () => [await faultOf(name, program)]]),
].filter(([name]) => wanted === undefined || name === wanted);
const faults = unlisted().map((file) => `${file} is not in the list of tools/examples.mjs`);
const lane = async () => {
  for (let next = waiting.shift(); next; next = waiting.shift())
    faults.push(...(await next[1]()).filter((fault) => fault !== ''));
};
const count = waiting.length + waiting.reduce((sum, [name]) => sum + (servers[name]?.length ?? 0), 0);
await Promise.all([lane(), lane()]);
for (const fault of faults) console.error(fault);
console.log(`examples: ${Math.max(0, count - faults.length)} passed, ${faults.length} failed`);
process.exitCode = faults.length > 0 || count === 0 ? 1 : 0;
