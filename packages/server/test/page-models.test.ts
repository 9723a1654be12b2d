// The page of a server without a language model: embeddings, and speech from a file and from a microphone.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Embedder,
  loadEmbedder,
  loadSpeechModel,
  makeSyntheticEncoder,
  makeSyntheticSpeechModel,
  type SpeechModel,
} from '@quern/runtime';
import { type Browser, launch, type Page } from 'puppeteer-core';
import { type RunningServer, serve } from '../src/index.js';
import { chromium } from './chromium.js';
import { tone } from './tone.js';

const describeBrowser = chromium ? describe : describe.skip;
/** This file knows no types of browsers. */
interface FileInput {
  uploadFile(path: string): Promise<void>;
}

const folder = mkdtempSync(join(tmpdir(), 'quern-page-'));
afterAll(() => rmSync(folder, { recursive: true }));

describeBrowser('the page of an encoder and a speech model', () => {
  let encoder: Embedder;
  let speech: SpeechModel;
  let server: RunningServer;
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    const [encoderPath, speechPath] = [join(folder, 'encoder.gguf'), join(folder, 'speech.gguf')];
    await makeSyntheticEncoder(encoderPath, { shape: 'tiny', format: 'f32' });
    await makeSyntheticSpeechModel(speechPath, { shape: 'whisper-test', format: 'f32' });
    encoder = await loadEmbedder(encoderPath, { backend: 'cpu', onNotice: () => {} });
    speech = await loadSpeechModel(speechPath, { backend: 'cpu', onNotice: () => {} });
    const transcribe = speech.transcribe.bind(speech); // few tokens, one attempt: the page shows any text
    speech.transcribe = (sound, options) =>
      transcribe(sound, { ...options, temperatures: [0], maxTokens: 8 });
    server = await serve({ models: { encoder, speech }, port: 0 });
    const microphone = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];
    const args = ['--no-sandbox', '--disable-gpu', ...microphone];
    browser = await launch({ executablePath: chromium!, args });
    page = await browser.newPage();
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text());
    });
    await page.goto(server.url);
    await page.waitForSelector('#embedding-model option');
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await server?.close();
    encoder?.dispose();
    speech?.dispose();
  });

  const evaluate = (script: string): Promise<unknown> => page.evaluate(script);
  const shown = () =>
    evaluate("[...document.querySelectorAll('.view')].filter((v) => !v.hidden).map((v) => v.id)");

  test('the first view with a model is shown; arrow keys pass over the others', async () => {
    expect(await shown()).toEqual(['view-embeddings']);
    await page.focus('#tab-embeddings');
    const views: unknown[] = [];
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowLeft'] as const) {
      await page.keyboard.press(key);
      views.push(...((await shown()) as string[]));
    }
    expect(views).toEqual(['view-speech', 'view-server', 'view-embeddings', 'view-server']);
  });

  test('similarities of texts', async () => {
    await page.click('#tab-embeddings');
    await evaluate("document.querySelector('#texts').value = 'a b c\\n\\nj i h g\\na b c'");
    await page.click('#embed button');
    await page.waitForSelector('#similarities td');
    const cells = (await evaluate(
      "[...document.querySelectorAll('#similarities tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))",
    )) as string[][];
    expect(cells.map(([text]) => text)).toEqual(['a b c', 'j i h g', 'a b c']);
    const { values, dimensions: D } = await encoder.embed(['a b c', 'j i h g']);
    const dot = (i: number, j: number) =>
      values.subarray(i * D, (i + 1) * D).reduce((sum, value, d) => sum + value * values[j * D + d]!, 0);
    const cosine = dot(0, 1) / Math.sqrt(dot(0, 0) * dot(1, 1));
    const numbers = cells.map((row) => row.slice(1).map(Number));
    expect(numbers[0]![2]).toBeCloseTo(1, 2);
    expect(numbers[0]![1]).toBeCloseTo(cosine, 2);
    expect(numbers[1]![0]).toBeCloseTo(cosine, 2);
  });

  test('a sound file is transcribed', async () => {
    const path = join(folder, 'sound.wav');
    writeFileSync(path, tone());
    await page.click('#tab-speech');
    const input = (await page.$('#sound')) as unknown as FileInput;
    await input.uploadFile(path);
    const states = "['transcribe', 'record', 'cancel'].map((id) => document.getElementById(id).disabled)";
    const begin = "document.querySelector('#transcribe').click()";
    expect(await evaluate(`${begin}; ${states}`)).toEqual([true, true, false]);
    expect(await evaluate("document.querySelector('#hearing-text').textContent")).toMatch(
      /^Transcribing for 0:\d\d/,
    );
    const { text } = await speech.transcribe(path).result;
    await page.waitForSelector('#transcribe:not(:disabled)', { timeout: 100_000 });
    const shown = (await evaluate("document.querySelector('#transcript .segments').textContent")) as string;
    expect(shown.trim()).toBe(text.trim());
    expect(text.trim()).not.toBe('');
    expect(await evaluate("document.querySelector('#heard').max")).toBe(1); // the sound's duration, in seconds
    expect(await evaluate("document.querySelector('#hearing-text').textContent")).toMatch(
      /^Transcribed: 0:01 of sound in \d+:\d\d\.$/,
    );
  }, 120_000);

  test('a transcription is stopped', async () => {
    await evaluate(
      "document.querySelector('#transcribe').click(); document.querySelector('#cancel').click()",
    );
    await page.waitForFunction("/^Stopped/.test(document.querySelector('#hearing-text').textContent)");
    await page.waitForSelector('#transcribe:not(:disabled)');
    expect(await evaluate("document.querySelector('#problem').hidden")).toBe(true);
  }, 120_000);

  test('the microphone is recorded and transcribed', async () => {
    await page.click('#record');
    await page.waitForSelector('#record[aria-pressed=true]', { timeout: 100_000 });
    await new Promise((resolve) => setTimeout(resolve, 1200));
    await page.click('#record');
    await page.waitForSelector('#record[aria-pressed=false]');
    await page.waitForSelector('#transcript .segments', { timeout: 100_000 });
    await page.waitForSelector('#transcribe:not(:disabled)');
  }, 120_000);

  test('without a file: what to do', async () => {
    await evaluate("document.querySelector('#sound').value = ''");
    await page.click('#speech button[type=submit]');
    await page.waitForFunction("/choose a file/.test(document.querySelector('#problem').textContent)");
  });

  test('nothing failed, and the policy of the page was kept', () => {
    expect(faults).toEqual([]);
  });
});
