// The program that compiles an addon, with other programs in place of npx and cmake-js.
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildAddon } from '../src/index.js';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'quern-build-')));
const bin = join(folder, 'cache/node_modules/.bin');
const heard = join(folder, 'heard');
const program = join(folder, 'package/bin/build.mjs');
const usual = process.env.PATH;

mkdirSync(bin, { recursive: true });
afterEach(() => {
  process.env.PATH = usual;
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A program on the path that writes down its arguments and NODE_PATH. */
function imitate(name: string, status = 0): void {
  const path = join(bin, name);
  writeFileSync(path, `#!/bin/sh\nprintf '%s\\n' "$@" "at $NODE_PATH" > ${heard}\nexit ${status}\n`);
  chmodSync(path, 0o755);
  process.env.PATH = `${bin}${delimiter}${usual}`;
}

const build = (...args: string[]) =>
  buildAddon({ name: 'quern-backend-x', url: pathToFileURL(program).href }, args);
const words = () => readFileSync(heard, 'utf8').trim().split('\n');

test('build: npx brings the tools and runs the program again', () => {
  imitate('npx');
  expect(build('build', '--debug')).toBe(0);
  expect(words().slice(0, -1)).toEqual([
    '--yes',
    '--package=cmake-js@8',
    '--package=node-addon-api@8',
    '--package=node-api-headers@1',
    '--',
    'node',
    program,
    'build-here',
    '--debug',
  ]);
});

test('build-here: cmake-js compiles the package and finds the headers beside itself', () => {
  imitate('cmake-js');
  expect(build('build-here', '--debug')).toBe(0);
  expect(words()).toEqual(['build', '-d', join(folder, 'package'), '--debug', `at ${dirname(bin)}`]);
});

test('the exit code of a failed build', () => {
  imitate('cmake-js', 3);
  expect(build('build-here')).toBe(3);
});

test.each([[[]], [['install']]])('%j: the usage', (args) => {
  const told: string[] = [];
  const { error } = console;
  console.error = (text: string) => told.push(text);
  expect(build(...args)).toBe(2);
  console.error = error;
  expect(told).toEqual(['usage: quern-backend-x build [cmake-js options]']);
});
