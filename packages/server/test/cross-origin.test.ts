// Pages of other origins in headless Chromium: one on another port, and one whose name was rebound to this machine.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Model } from '@quern/runtime';
import { type Browser, launch, type Page } from 'puppeteer-core';
import type { RunningServer } from '../src/index.js';
import { chromium } from './chromium.js';
import { loadDemo, serving, until } from './serving.js';

const describeBrowser = chromium ? describe : describe.skip;

/** An origin that holds a page without content. */
async function elsewhere(): Promise<Server> {
  const site = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<p>elsewhere'),
  );
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  return site;
}

describeBrowser('pages of other origins', () => {
  let model: Model;
  let server: RunningServer;
  let allowing: RunningServer;
  let site: Server;
  let browser: Browser;
  /** Status by method and path of all requests that reached a server. */
  const lines: { readonly method: string; readonly path: string; readonly status: number }[] = [];

  const portOf = ({ url }: RunningServer): string => new URL(url).port;

  beforeAll(async () => {
    model = await loadDemo(2);
    site = await elsewhere();
    const log = (entry: object) => lines.push(entry as (typeof lines)[number]);
    server = await serving(model, { adapterFolder: '/', log });
    allowing = await serving(model, { cors: pageUrl(), log });
    const rebound = '--host-resolver-rules=MAP attacker.example 127.0.0.1';
    browser = await launch({ executablePath: chromium!, args: ['--no-sandbox', '--disable-gpu', rebound] });
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await allowing?.close();
    site?.close();
    model?.dispose();
  });

  const pageUrl = (): string => `http://127.0.0.1:${(site.address() as AddressInfo).port}`;

  async function opened(url: string): Promise<Page> {
    const page = await browser.newPage();
    await page.goto(url);
    return page;
  }

  // Scripts of the page are texts: this file knows no types of browsers.
  const evaluate = (page: Page, script: string): Promise<unknown> => page.evaluate(script);

  /** What a page reads of an answer; undefined: nothing. */
  const reads = (page: Page, url: string, init: object): Promise<unknown> =>
    evaluate(
      page,
      `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then(
        async (response) => (response.type === 'opaque' ? undefined : [response.status, await response.text()]),
        () => undefined)`,
    );

  const ask = JSON.stringify({ model: 'demo', prompt: 'Once', max_tokens: 1 });
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: ask };
  const typed = (type: string) => ({
    method: 'POST',
    mode: 'no-cors',
    headers: { 'content-type': type },
    body: ask,
  });

  /** All that a page can try: none of it is read, none has an effect. */
  async function needUnread(page: Page, to: string): Promise<void> {
    const before = lines.length;
    const requests: readonly (readonly [string, object])[] = [
      ['/v1/completions', json],
      ['/v1/completions', typed('text/plain')],
      ['/v1/completions', typed('text/plain;application/json')],
      ['/v1/completions', typed('application/x-www-form-urlencoded')],
      ['/v1/completions', { method: 'POST', mode: 'no-cors', body: ask }],
      ['/v1/completions', { ...typed('text/plain'), referrerPolicy: 'no-referrer' }],
      ['/v1/unload_lora_adapter', typed('text/plain')],
      ['/v1/load_lora_adapter', typed('text/plain')],
      ['/v1/models', {}],
      ['/v1/models', { mode: 'no-cors' }],
      ['/metrics', {}],
      ['/health', {}],
      ['/', {}],
    ];
    for (const [path, init] of requests)
      expect([path, init, await reads(page, to + path, init)]).toEqual([path, init, undefined]);
    expect(await postedForm(page, to)).toBe(undefined);
    expect(await eventsOf(page, to)).toBe('error');
    const effects = lines.slice(before).filter(({ method, status }) => method === 'POST' && status !== 403);
    expect(effects).toEqual([]);
  }

  const postedForm = (page: Page, to: string, mode = 'no-cors'): Promise<unknown> =>
    evaluate(
      page,
      `(() => {
        const body = new FormData();
        body.set('file', new Blob(['RIFF']), 'a.wav');
        return fetch('${to}/v1/audio/transcriptions', { method: 'POST', mode: '${mode}', body }).then(
          (response) => (response.type === 'opaque' ? undefined : response.status),
          () => undefined);
      })()`,
    );

  const eventsOf = (page: Page, to: string): Promise<unknown> =>
    evaluate(
      page,
      `new Promise((resolve) => {
        const events = new EventSource('${to}/v1/models');
        events.onopen = events.onmessage = () => resolve('open');
        events.onerror = () => { events.close(); resolve('error'); };
      })`,
    );

  /** A form that the page submits: the browser goes to the answer. */
  async function submits(page: Page, to: string, enctype: string): Promise<unknown> {
    const going = page.waitForNavigation();
    await evaluate(
      page,
      `document.body.innerHTML = '<form method="post"><input name=\\'{"prompt":"Once","x":"\\' value=\\'"}\\'></form>';
       Object.assign(document.forms[0], { action: '${to}', enctype: '${enctype}' }).submit()`,
    );
    return (await going)?.status();
  }

  test('another port: nothing is read or done', async () => {
    const page = await opened(pageUrl());
    for (const name of ['127.0.0.1', 'localhost']) await needUnread(page, `http://${name}:${portOf(server)}`);
    await page.close();
  }, 120_000);

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
    'a form of another port, submitted as %s: 403',
    async (enctype) => {
      for (const path of ['/v1/completions', '/v1/audio/transcriptions', '/v1/unload_lora_adapter']) {
        const page = await opened(pageUrl());
        expect(await submits(page, server.url + path, enctype)).toBe(403);
        await page.close();
      }
    },
    120_000,
  );

  test('a sandboxed frame has no origin: nothing is read or done', async () => {
    const page = await opened(pageUrl());
    await evaluate(
      page,
      `new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.sandbox = 'allow-scripts';
        frame.srcdoc = '<p>sandboxed';
        frame.onload = resolve;
        document.body.append(frame);
      })`,
    );
    const frame = page.frames().find((each) => each !== page.mainFrame())!;
    expect(await frame.evaluate('origin')).toBe('null');
    await needUnread(frame as unknown as Page, server.url);
    await page.close();
  }, 120_000);

  test('a rebound name: its page has the origin of the server, and gets nothing', async () => {
    const to = `http://attacker.example:${portOf(server)}`;
    const page = await browser.newPage();
    const first = await page.goto(to);
    expect([first?.status(), await first?.text()]).toEqual([
      403,
      expect.stringContaining('--allowed-hosts attacker.example'),
    ]);
    expect(await evaluate(page, 'origin')).toBe(to);
    const refused = [403, expect.stringContaining('host_not_allowed')];
    for (const [path, init] of [
      ['/v1/models', {}],
      ['/metrics', {}],
      ['/v1/completions', json],
      ['/v1/completions', { ...typed('text/plain'), mode: 'cors' }],
    ] as const)
      expect([path, await reads(page, to + path, init)]).toEqual([path, refused]);
    expect(await postedForm(page, to, 'cors')).toBe(403);
    await needUnread(page, server.url); // by its address too
    await page.close();
  }, 120_000);

  test('an allowed origin reads and asks; another origin does not', async () => {
    const page = await opened(pageUrl());
    expect(await reads(page, `${allowing.url}/v1/completions`, json)).toEqual([
      200,
      expect.stringContaining('"text_completion"'),
    ]);
    expect(await reads(page, `${allowing.url}/v1/models`, {})).toEqual([
      200,
      expect.stringContaining('"demo"'),
    ]);
    expect(await postedForm(page, allowing.url, 'cors')).toBe(400); // it is no sound, and no model for speech
    await page.close();
    const other = await opened(pageUrl().replace('127.0.0.1', 'localhost'));
    await needUnread(other, allowing.url);
    await other.close();
  }, 120_000);

  test.each(['127.0.0.1', 'localhost'])(
    'the page of the server by the name %s chats',
    async (name) => {
      const page = await opened(`http://${name}:${portOf(server)}`);
      await page.waitForSelector('#model option');
      await evaluate(page, "document.querySelector('[name=max_tokens]').value = '4'");
      await page.type('#prompt', 'Tell me a story.');
      await page.click('#send');
      await page.waitForFunction("/^4 tokens/.test(document.querySelector('#speed')?.textContent ?? '')", {
        timeout: 100_000, // busy machines are slow
      });
      expect(await postedForm(page, `http://${name}:${portOf(server)}`, 'cors')).toBe(400);
      await page.close();
    },
    120_000,
  );

  test('nothing is left running', async () => {
    await until(() => server.running === 0 && allowing.running === 0);
    expect([server.running, allowing.running]).toEqual([0, 0]);
  });
});
