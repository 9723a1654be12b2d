// Rates measured in a child process, with an addon of JavaScript in the place of a GPU's.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import type { Addon, NativeBackend } from '../src/addon.js';
import { measureRates, measureWhenIdle } from '../src/measure-rates.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-measure-'));
afterAll(() => rmSync(folder, { recursive: true }));

const log = join(folder, 'log');
const rates = join(folder, 'cache', 'rates', 'gpu');
const lock = `${rates}.lock`;
beforeEach(() => {
  rmSync(join(folder, 'cache'), { recursive: true, force: true });
  writeFileSync(log, '');
});

/** An addon whose `ceilings` runs `script`, and then writes a line in the log. */
function addonOf(name: string, script = ''): Addon {
  const file = join(folder, `${name}.cjs`);
  writeFileSync(
    file,
    `const { appendFileSync } = require('node:fs');
    exports.NativeBackend = class {
      constructor(options, makeError) { Object.assign(this, { options, makeError }); }
      async ceilings() {
        ${script}
        appendFileSync(${JSON.stringify(log)}, JSON.stringify(this.options) + '\\n');
        return { readBandwidth: 7, rates: { f32: 5 } };
      }
      dispose() {}
    };`,
  );
  return module.createRequire(file)(file);
}

const lines = () => readFileSync(log, 'utf8').split('\n').slice(0, -1);

/** A device with these answers, and how often it was asked; the last answer stays. */
function device(...answers: string[]) {
  const asked = { times: 0 };
  const unmeasuredRates = () => answers[Math.min(asked.times++, answers.length - 1)]!;
  return { asked, native: { unmeasuredRates } as NativeBackend };
}

/** It has run and rests, and there is a file for its rates. */
const resting = device(rates).native;

async function until(reached: () => boolean): Promise<void> {
  for (let i = 0; i < 1000 && !reached(); i++) await after(20);
}

test('the ceilings of another process, with the options of this one', async () => {
  const measured = await measureRates(addonOf('good'), { device: 1, library: 'libx.so' });
  expect(measured).toEqual({ readBandwidth: 7, rates: { f32: 5 } });
  expect(lines()).toEqual(['{"device":1,"library":"libx.so","rates":"measure"}']);
});

test.each([
  ['a crash', 'process.abort();', 'DEVICE_FAILED', /^the rates could not be measured.*ended by SIGABRT/],
  ['an exit', 'process.exit(3);', 'DEVICE_FAILED', /the process that measured ended with 3; estimates stay/],
  [
    'a refusal',
    "throw this.makeError('OUT_OF_MEMORY', 'there is no room');",
    'OUT_OF_MEMORY',
    /^the rates could not be measured: there is no room$/,
  ],
])('%s in the child leaves this process alone', async (name, script, code, message) => {
  const measured = measureRates(addonOf(name, script), {});
  await expect(measured).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});

test('nothing is started in a program that is not Node', async () => {
  const { execPath } = process;
  try {
    process.execPath = join(folder, 'application');
    expect(await measureRates(addonOf('elsewhere'), {})).toBeUndefined();
  } finally {
    process.execPath = execPath;
  }
  expect(lines()).toEqual([]);
});

test('two backends that rest: one measurement', async () => {
  const addon = addonOf('resting');
  measureWhenIdle(addon, resting, { device: 0 });
  measureWhenIdle(addon, resting, { device: 0 });
  await until(() => existsSync(lock));
  await until(() => !existsSync(lock));
  expect(lines()).toEqual(['{"device":0,"rates":"measure"}']);
});

test('a measurement that failed is not repeated within a day', async () => {
  measureWhenIdle(
    addonOf('failing', "require('node:fs').writeFileSync(process.argv[3], 'x'); process.abort();"),
    resting,
    {},
  );
  await until(() => existsSync(lock) && readFileSync(lock, 'utf8') === 'x');
  const { asked, native } = device(rates);
  const addon = addonOf('again');
  measureWhenIdle(addon, native, {});
  await until(() => asked.times > 0);
  await after(1100); // nothing starts
  expect(readFileSync(lock, 'utf8')).toBe('x');
  const old = new Date(Date.now() - 25 * 3_600_000);
  utimesSync(lock, old, old);
  measureWhenIdle(addon, resting, {});
  await until(() => lines().length > 0);
  expect(lines()).toHaveLength(1);
});

test('a device that works is asked again; the end of its backend ends that', async () => {
  const { asked, native } = device('');
  const stop = measureWhenIdle(addonOf('working'), native, {});
  await until(() => asked.times === 2);
  stop();
  await after(1100);
  expect(asked.times).toBe(2);
  expect(lines()).toEqual([]);
});

test('waiting does not keep the process', () => {
  const kept = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = kept();
  const stop = measureWhenIdle(addonOf('waiting'), resting, {});
  expect(kept()).toBe(before);
  stop();
});

test('a folder that cannot be made: nothing is started', async () => {
  mkdirSync(join(folder, 'cache'));
  writeFileSync(join(folder, 'cache', 'rates'), 'a file');
  const { asked, native } = device(rates);
  measureWhenIdle(addonOf('nowhere'), native, {});
  await until(() => asked.times > 0);
  await after(1100);
  expect(asked.times).toBe(1);
  expect(lines()).toEqual([]);
});
