import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { completeLine } from '../src/chat/complete-line.js';
import { commandNames, readLine } from '../src/chat/line.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-complete-'));
afterAll(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, 'chats'));
for (const name of ['chat.json', 'chats/one.json']) writeFileSync(join(folder, name), '');

test('commands: all of them, by their first letters, and no other lines', () => {
  expect(completeLine('/')).toEqual([commandNames, '/']);
  expect(completeLine('/s')).toEqual([['/system', '/save'], '/s']);
  for (const line of ['', 'hello', '/save', '//x', 'a /s'])
    expect(completeLine(line)[0]).toEqual(line === '/save' ? ['/save'] : []);
  for (const name of commandNames) expect(readLine(name).kind).not.toBe('unknown');
});

test('files of /save and /load; folders end with a slash', () => {
  const start = join(folder, 'cha');
  const found = [join(folder, 'chat.json'), join(folder, 'chats/')];
  for (const command of ['/save ', '/load ', '/save --force ']) {
    const [offers, typed] = completeLine(command + start);
    expect([offers.sort(), typed]).toEqual([found, start]);
  }
  expect(completeLine(`/load ${join(folder, 'chats/')}`)[0]).toEqual([join(folder, 'chats/one.json')]);
  expect(completeLine('/load /no/such/folder/x')[0]).toEqual([]);
  expect(completeLine('/system cha')[0]).toEqual([]);
});
