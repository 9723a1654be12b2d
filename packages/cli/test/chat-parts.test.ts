// The parts of `quern chat`: keys and pastes, entries of several lines, commands, files, lines of the terminal.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Entry } from '../src/chat/entry.js';
import { History } from '../src/chat/history.js';
import { historyPath } from '../src/chat/history-path.js';
import { readLine } from '../src/chat/line.js';
import { load, save } from '../src/chat/saved.js';
import { PasteFilter } from '../src/terminal/paste-filter.js';
import { WordWrap } from '../src/terminal/word-wrap.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-chat-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('pasted text', () => {
  const [start, end] = ['\x1b[200~', '\x1b[201~'];

  test('its lines become one line, however the bytes are cut', () => {
    const input = `a${start}one\r\ntwo\rthree\n${end}b\r`;
    for (let cut = 0; cut <= input.length; cut++) {
      const filter = new PasteFilter();
      const out = filter.push(input.slice(0, cut)) + filter.push(input.slice(cut)) + filter.flush();
      expect(out).toBe('aone↵two↵threeb\r');
      expect(filter.expand(out)).toBe('aone\ntwo\nthreeb\r');
    }
  });

  test('byte by byte; two pastes; keys in a paste are left out', () => {
    const filter = new PasteFilter();
    const input = `${start}x\x03\x1b[A\ny${end}-${start}z${end}`;
    expect([...input].map((each) => filter.push(each)).join('')).toBe('x[A↵y-z');
  });

  test('long text, and text with tabs, stands as a label', () => {
    const filter = new PasteFilter();
    const long = Array.from({ length: 99 }, (_, i) => `line ${i} $& $1`).join('\n');
    const line = filter.push(`see ${start}${long}${end} and ${start}a\tb${end}`);
    expect(line).toBe('see [paste 1: 99 lines] and [paste 2: 1 line]');
    expect(filter.expand(line)).toBe(`see ${long} and a\tb`);
    expect([filter.isPlain(line), filter.isPlain('see [paste 9: 1 line]')]).toEqual([false, true]);
  });

  test('keys pass; Alt+Enter is a line break; a lone Escape comes after a while', () => {
    const filter = new PasteFilter();
    expect(filter.push('a\x1b[A\x1b[3~\r')).toBe('a\x1b[A\x1b[3~\r');
    expect(filter.push('a\x1b\rb')).toBe('a↵b');
    expect([filter.push('\x1b'), filter.waits, filter.flush(), filter.waits]).toEqual([
      '',
      true,
      '\x1b',
      false,
    ]);
  });
});

describe('entries', () => {
  const entries = (...lines: string[]) => {
    const entry = new Entry();
    return [...lines.map((line) => entry.add(line)), entry.end()].filter((each) => each !== undefined);
  };

  test.each([
    [
      ['a', ' b '],
      ['a', 'b'],
    ],
    [
      ['a\\', 'b\\', 'c', 'd'],
      ['a\nb\nc', 'd'],
    ],
    [
      ['C:\\\\', 'b'],
      ['C:\\\\', 'b'],
    ],
    [
      ['"""', '  a', '', 'b', '"""', 'c'],
      ['a\n\nb', 'c'],
    ],
    [
      ['"""a b"""', 'c'],
      ['a b', 'c'],
    ],
    [['"""a', 'b"""'], ['a\nb']],
    [['"""', '/reset', '\\', '"""'], ['/reset\n\\']],
    [['"""a', 'end of input'], ['a\nend of input']],
    [['a\\'], ['a']],
  ])('%j', (lines, expected) => expect(entries(...lines)).toEqual(expected));
});

test.each([
  ['/system Be brief.\nBe kind.', { kind: 'system', argument: 'Be brief.\nBe kind.' }],
  ['/system', { kind: 'system', argument: '' }],
  ['/save my chat.json', { kind: 'save', argument: 'my chat.json' }],
  ['/load x', { kind: 'load', argument: 'x' }],
  ['/clear', { kind: 'reset' }],
  ['/bye', { kind: 'exit' }],
  ['/resetall', { kind: 'unknown', command: '/resetall' }],
  ['/toString', { kind: 'unknown', command: '/toString' }],
  ['//save x', { kind: 'message', text: '/save x' }],
])('%j', (line, expected) => expect(readLine(line)).toEqual(expected));

describe('words at the edge', () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what the terminal gets
  const token = /\u001b\[(\d+)D\u001b\[K|[\s\S]/gu;

  /** What a terminal of this width shows. */
  function shown(written: string, width: number): string[] {
    const rows = [''];
    for (const [sign, back] of written.matchAll(token)) {
      if (back) rows.push(rows.pop()!.slice(0, -Number(back)));
      else if (sign === '\n') rows.push('');
      else if (rows.at(-1)!.length === width) rows.push(sign);
      else rows.push(rows.pop()! + sign);
    }
    return rows.map((row) => row.trimEnd());
  }

  test('words are whole, however the text is cut', () => {
    const text = 'The quick brown fox jumps over the lazy dog.\n\nA second paragraph here';
    const expected = ['The quick brown', 'fox jumps over', 'the lazy dog.', '', 'A second', 'paragraph here'];
    for (const size of [1, 2, 3, 5, 100]) {
      const wrap = new WordWrap(() => 17);
      const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g'))!;
      expect(shown(pieces.map((piece) => wrap.push(piece)).join(''), 17)).toEqual(expected);
    }
  });

  test('a word longer than a line, code, and an unknown width stay as they are', () => {
    const long = `a ${'x'.repeat(50)} b`;
    expect(new WordWrap(() => 20).push(long).replaceAll('\n', '')).toBe(long);
    const code = '```\nconst a = 1; // a long comment of code\n```\n';
    expect(new WordWrap(() => 20).push(code)).toBe(code);
    expect(new WordWrap(() => undefined).push('many words of a text')).toBe('many words of a text');
  });

  test('wide characters count twice', () => {
    expect(new WordWrap(() => 10).push('ab 水水 水水')).toBe('ab 水水 \n水水');
  });
});

describe('the history', () => {
  const path = join(folder, 'state', 'history');
  const open = () =>
    History.open(path, (error) => {
      throw error;
    });

  test('lines stay for the next chat; only the user may read them; the oldest and the longest go', async () => {
    const first = await open();
    await first.add('one');
    await first.add('x'.repeat(5000));
    expect((await open()).lines).toEqual(['one']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    writeFileSync(path, Array.from({ length: 1200 }, (_, i) => `${i}\n`).join(''));
    const { lines } = await open();
    expect([lines.length, lines[0], lines.at(-1)]).toEqual([1000, '200', '1199']);
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(1001);
  });

  test('without a file nothing is kept; a file that cannot be written is told once', async () => {
    await (await History.open('', () => {})).add('one');
    const faults: string[] = [];
    const history = await History.open(join(path, 'below a file'), ({ message }) => faults.push(message));
    await history.add('one');
    await history.add('two');
    expect(faults).toHaveLength(1);
  });

  test('where it is', () => {
    expect(historyPath({ QUERN_CHAT_HISTORY: '' })).toBe('');
    expect(historyPath({ QUERN_CHAT_HISTORY: '/x' })).toBe('/x');
    if (process.platform !== 'win32')
      expect(historyPath({ XDG_STATE_HOME: '/s' })).toBe('/s/quern/chat-history');
  });
});

describe('saved conversations', () => {
  const path = join(folder, 'chat.json');
  const turn = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello!' },
  ];

  test('written and read again; another file is not overwritten unasked', async () => {
    await save(path, [{ role: 'system', content: 'Be brief.' }, ...turn], false);
    expect(await load(path)).toEqual({ system: 'Be brief.', turns: [turn] });
    await expect(save(path, turn, false)).rejects.toMatchObject({ code: 'FILE_EXISTS' });
    await save(path, turn, true);
    expect(await load(path)).toEqual({ system: undefined, turns: [turn] });
    const away = join(folder, 'no', 'x');
    await expect(save(away, turn, false)).rejects.toMatchObject({
      code: 'SAVE_FAILED',
      message: `the conversation is not saved: ${away}: no such file or directory (ENOENT): give a file in a folder that exists and may be written`,
    });
  });

  test.each(['', '{}', '{"messages": [1]}', JSON.stringify([turn[0]]), JSON.stringify([turn[1], turn[0]])])(
    '%j is no conversation',
    async (text) => {
      const wrong = join(folder, 'wrong.json');
      writeFileSync(wrong, text);
      await expect(load(wrong)).rejects.toMatchObject({ code: 'NO_CONVERSATION' });
      const none = join(folder, 'none');
      await expect(load(none)).rejects.toMatchObject({
        code: 'LOAD_FAILED',
        message: `no conversation is loaded: ${none}: there is no such file: /load takes a file that /save wrote`,
      });
    },
  );
});
