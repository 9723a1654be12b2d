// The load generator against a small server of known times.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nextArrival, parseLength, randomOf } from '../src/bench/serve/draw.js';
import { figuresOf } from '../src/bench/serve/figures.js';
import { type LoadOptions, sendLoad } from '../src/bench/serve/load.js';
import { quern } from './cli.js';

interface Body {
  readonly model?: string;
  readonly messages?: readonly { readonly content: string }[];
  readonly prompt?: string;
  readonly max_tokens: unknown;
}

/** Answers with `max_tokens` tokens, one every `gap` ms. */
async function answer(body: Body, response: ServerResponse, gap: number): Promise<void> {
  if (typeof body.max_tokens !== 'number') {
    response.writeHead(400).end('{"error":{}}');
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (data: object | string) =>
    response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  for (let i = 0; i < body.max_tokens && !response.destroyed; i++) {
    await new Promise((resolve) => setTimeout(resolve, gap));
    send({ choices: [{ delta: { content: 'x' } }] });
  }
  const usage = {
    prompt_tokens: 10,
    completion_tokens: body.max_tokens,
    prompt_tokens_details: { cached_tokens: 4 },
  };
  send({ choices: [], usage });
  send('[DONE]');
  response.end();
}

function close(server: Server): void {
  server.closeAllConnections();
  server.close();
}

type Act = (body: Body, response: ServerResponse) => void;

async function serving(act: Act) {
  const server: Server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    act(JSON.parse(text), response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, [Symbol.dispose]: () => close(server) };
}

const four = () => 4;
const usual: LoadOptions = {
  requests: 12,
  rate: undefined,
  clients: 3,
  promptTokens: four,
  outputTokens: four,
  sharedTokens: 0,
  disconnect: 0,
  malformed: 0,
  seed: 1,
};
const none = { firstToken: undefined, betweenTokens: undefined };

async function measure(
  act: Act,
  options: Partial<LoadOptions> = {},
  goals: Parameters<typeof figuresOf>[1] = none,
) {
  using server = await serving(act);
  const target = { url: server.url, model: undefined, key: undefined, chat: true };
  const { signal } = new AbortController();
  return figuresOf(await sendLoad(target, { ...usual, ...options }, () => {}, signal), goals);
}

test('latencies, throughput and usage of a server of known times', async () => {
  const figures = await measure((body, response) => void answer(body, response, 10));
  expect(figures).toMatchObject({
    requests: 12,
    ends: { ok: 12 },
    promptTokens: 120,
    cachedTokens: 48,
    goodput: null,
  });
  expect(figures.betweenTokens!.p50).toBeGreaterThan(8);
  expect(figures.firstToken!.p50).toBeGreaterThan(8);
  expect(figures.total!.p50).toBeGreaterThan(35);
  expect(figures.outputTokensPerSecond).toBeCloseTo(48 / figures.seconds, 5);
});

test('an open loop counts from the planned arrival, also where the server is slow', async () => {
  let free = Promise.resolve();
  const oneByOne: Act = (body, response) => {
    free = free.then(() => answer(body, response, 5));
  };
  const figures = await measure(oneByOne, { rate: 1000, requests: 10 });
  expect(figures.firstToken!.p99).toBeGreaterThan(100); // nine answers of 20 ms before the last one
});

test('shared prefixes are equal; the seed repeats a load', async () => {
  const seen: string[][] = [];
  for (let i = 0; i < 2; i++) {
    const prompts: string[] = [];
    await measure(
      (body, response) => {
        prompts.push(body.messages![0]!.content);
        void answer(body, response, 0);
      },
      { sharedTokens: 5, requests: 6 },
    );
    seen.push(prompts.sort());
  }
  expect(seen[0]).toEqual(seen[1]);
  expect(new Set(seen[0]!.map((prompt) => prompt.split(' ').slice(0, 5).join())).size).toBe(1);
  expect(new Set(seen[0]).size).toBe(6);
});

test('clients that leave, malformed requests, faults of the server', async () => {
  const slow = await measure((body, response) => void answer(body, response, 100), {
    disconnect: 1,
    requests: 4,
    outputTokens: () => 40,
  });
  expect(slow.ends).toEqual({ left: 4 });
  const refused = await measure((body, response) => void answer(body, response, 0), {
    malformed: 1,
    requests: 4,
  });
  expect(refused.ends).toEqual({ refused: 4 });
  const faults: readonly (readonly [Act, RegExp])[] = [
    [(_, response) => response.writeHead(500).end(), /^status 500$/],
    [(_, response) => response.destroy(), /^connection: /],
    [(_, response) => response.end('data: {"choices":[]}\n\n'), /^the stream ended without \[DONE\]$/],
    [(_, response) => response.end('data: {\n\n'), /^an event that is not JSON$/],
    [(_, response) => response.end('data: {"error":{"message":"no room"}}\n\n'), /^error: no room$/],
  ];
  for (const [act, end] of faults) {
    const { ends, firstToken } = await measure(act, { requests: 2 });
    expect(Object.keys(ends)).toEqual([expect.stringMatching(end)]);
    expect(firstToken).toBeNull();
  }
});

test('goodput: the share of requests within the limits', async () => {
  const act: Act = (body, response) => void answer(body, response, 10);
  expect((await measure(act, {}, { firstToken: 10_000, betweenTokens: 10_000 })).goodput).toBe(1);
  expect((await measure(act, {}, { firstToken: 1, betweenTokens: undefined })).goodput).toBe(0);
});

test('lengths and arrivals', () => {
  const draws = (text: string) => {
    const random = randomOf(3);
    return Array.from({ length: 4000 }, () => parseLength(text)!(random));
  };
  expect(new Set(draws('64'))).toEqual(new Set([64]));
  const uniform = draws('8-11');
  expect([Math.min(...uniform), Math.max(...uniform)]).toEqual([8, 11]);
  const skewed = draws('100~0.5').sort((a, b) => a - b);
  expect(skewed[2000]!).toBeGreaterThan(95);
  expect(skewed[2000]!).toBeLessThan(105);
  expect(skewed[3973]! / skewed[2000]!).toBeCloseTo(Math.exp(2.47 * 0.5), 0);
  for (const text of ['', 'x', '0', '5-3', '-4', '1~']) expect(parseLength(text)).toBeUndefined();
  const random = randomOf(4);
  const waits = Array.from({ length: 4000 }, () => nextArrival(20, random));
  expect(waits.reduce((sum, wait) => sum + wait, 0) / 4000).toBeCloseTo(50, -1);
});

describe('quern bench serve', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quern-load-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const few = ['--requests', '2', '--prompt-tokens', '4', '--output-tokens', '2'];

  test('--model, --json, --svg and --seed are its own, though bench has options of these names', async () => {
    const bodies: Body[] = [];
    using server = await serving((body, response) => {
      bodies.push(body);
      void answer(body, response, 0);
    });
    const svg = join(folder, 'load.svg');
    const run = (seed: string) =>
      quern(['bench', 'serve', server.url, ...few, '--model', 'm', '--json', '--svg', svg, '--seed', seed]);
    const { code, stdout } = await run('1');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ requests: 2, ends: { ok: 2 } });
    expect(bodies.map(({ model }) => model)).toEqual(['m', 'm']);
    expect(readFileSync(svg, 'utf8')).toMatch(/^<svg/);
    await run('2');
    const prompts = new Set(bodies.map(({ messages }) => messages![0]!.content));
    expect(prompts.size).toBe(4);
  });

  test('no success: the figures, one message, status 1', async () => {
    using server = await serving((_, response) => response.writeHead(500).end());
    const { code, stdout, stderr } = await quern(['bench', 'serve', server.url, ...few, '--json']);
    expect([code, JSON.parse(stdout).ends]).toEqual([1, { 'status 500': 2 }]);
    expect(stderr).toMatch(/^quern: none of 2 requests succeeded: status 500 \(NO_ANSWER\)$/m);
    using refusing = await serving((body, response) => void answer(body, response, 0));
    expect((await quern(['bench', 'serve', refusing.url, ...few, '--malformed', '1'])).code).toBe(0);
  });

  test.each([
    [['bench', 'serve', 'nosuch'], /argument 'url'.*it must be an http or https URL/],
    [['bench', 'serve', 'file:///x'], /it must be an http or https URL/],
    [['bench', 'serve', 'localhost:8080'], /it must be an http or https URL/],
    [['bench', '--model', 'm', 'serve', 'http://x'], /--model stands before serve/],
    [['bench', 'serve'], /missing required argument 'url'/],
  ])('%j is a usage error', async (args, says) => {
    const { code, stdout, stderr } = await quern(args);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^error: /);
    expect(stderr).toMatch(says);
  });
});
