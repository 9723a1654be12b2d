// The page in headless Chromium. Debian's package `chromium`; without a browser the tests are skipped.
import type { Model } from '@quern/runtime';
import { type Browser, launch, type Page } from 'puppeteer-core';
import type { RunningServer } from '../src/index.js';
import { chromium } from './chromium.js';
import { hermesTemplate } from './hermes-template.mjs';
import { loadDemo, serving, until } from './serving.js';

const describeBrowser = chromium ? describe : describe.skip;

describeBrowser('the page', () => {
  let model: Model;
  let server: RunningServer;
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    model = await loadDemo(4, { chatTemplate: hermesTemplate, context: 1024 });
    server = await serving(model);
    browser = await launch({ executablePath: chromium!, args: ['--no-sandbox', '--disable-gpu'] });
    page = await browser.newPage();
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text());
    });
    await page.setViewport({ width: 1280, height: 800 });
    await page.goto(server.url);
    await page.waitForSelector('#model option');
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await server?.close();
    model?.dispose();
  });

  const text = (selector: string) => page.$eval(selector, (element) => element.textContent ?? '');
  // Scripts of the page are texts: this file knows no types of browsers.
  const evaluate = (script: string): Promise<unknown> => page.evaluate(script);
  const has = (selector: string, wanted: RegExp) =>
    page.waitForFunction(`${wanted}.test(document.querySelector('${selector}')?.textContent ?? '')`, {
      timeout: 100_000, // busy machines are slow
    });
  const set = (selector: string, value: string) =>
    evaluate(`document.querySelector('${selector}').value = ${JSON.stringify(value)}`);

  test('a chat, by the keyboard alone', async () => {
    await set('[name=max_tokens]', '12');
    await set('[name=temperature]', '0');
    await page.focus('#prompt');
    await page.keyboard.type('Tell me a story.');
    await page.keyboard.press('Enter');
    await has('#speed', /^12 tokens/);
    const options = { temperature: 0, topK: 0, topP: 0.95, minP: 0, maxTokens: 12 };
    const expected = await model.chat([{ role: 'user', content: 'Tell me a story.' }], options).result;
    expect(await text('#messages li.assistant .body')).toBe(expected.text);
    expect(await evaluate('document.activeElement?.id')).toBe('prompt');
  });

  test('stop ends an answer; its room is free', async () => {
    await set('[name=max_tokens]', '200');
    await set('[name=temperature]', '1.5');
    await page.type('#prompt', 'A long one.');
    await evaluate("document.querySelector('#send').click(); document.querySelector('#stop').click()");
    await has('#messages li:last-child .cut', /^Stopped/);
    await until(() => model.freeBlocks === model.stats().blocks);
    expect(model.freeBlocks).toBe(model.stats().blocks);
  });

  test('structured output, and what is wrong with a schema', async () => {
    await page.click('#clear');
    await set('[name=max_tokens]', '40');
    await set('[name=schema]', '{"type": "array", "items": {"type": "boolean"}, "maxItems": 2}');
    await page.type('#prompt', 'Yes?');
    await page.click('#send');
    await has('#messages li.assistant', /\]/);
    await page.waitForSelector('#send:not(:disabled)');
    expect(JSON.parse(await text('#messages li.assistant .code code'))).toEqual(expect.any(Array));
    await set('[name=schema]', '{');
    await page.type('#prompt', 'Again');
    await page.click('#send');
    await has('#problem', /the schema is not JSON/);
    await set('[name=schema]', '');
  });

  test('a call of a tool, its result, and the answer to it', async () => {
    await page.click('#clear');
    const properties = { city: { enum: ['Rome'] } };
    const parameters = { type: 'object', properties, required: ['city'], additionalProperties: false };
    const tools = [{ type: 'function', function: { name: 'weather', parameters } }];
    await set('[name=tools]', JSON.stringify(tools));
    await set('[name=tool_choice]', 'required');
    await set('[name=temperature]', '0');
    await set('[name=max_tokens]', '100');
    await page.type('#prompt', 'The weather?');
    await page.click('#send');
    await has('#messages .call-0', /^weather\(\{\s*"city":\s*"Rome"\s*\}\)$/);
    await page.waitForSelector('.results textarea');
    expect(await evaluate('document.activeElement?.ariaLabel')).toBe('weather');
    await set('[name=tool_choice]', 'none');
    await set('[name=max_tokens]', '8');
    await page.keyboard.type('Sunny');
    await page.click('.results button');
    await has('#messages li.tool', /Sunny/);
    await has('#speed', /^8 tokens/);
    expect(await evaluate("document.querySelector('.results')")).toBe(null);
    await set('[name=tools]', '');
  });

  test('arrow keys move between views; the server’s plan and figures', async () => {
    expect(await evaluate("document.querySelector('#tab-embeddings').disabled")).toBe(true);
    await page.focus('#tab-chat');
    await page.keyboard.press('ArrowLeft');
    expect(await evaluate("document.querySelector('#view-server').hidden")).toBe(false);
    await has('#models', /demo.*layers 0 to 4 on cpu/);
    await has('#now', /generated tokens\d+/);
  });

  test('nothing failed, and the policy of the page was kept', () => {
    expect(faults).toEqual([]);
  });
});
