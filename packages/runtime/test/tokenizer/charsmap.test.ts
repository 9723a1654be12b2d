import { runAtOnce } from '@quern/core';
import { Charsmap } from '../../src/tokenizer/charsmap.js';

/** A precompiled_charsmap for these replacements; every trie node has its own 256 entries for children. */
function compile(rules: Record<string, string>): Uint8Array {
  const utf8 = new TextEncoder();
  const nodes: { at: number; children: Map<number, number>; value?: number }[] = [
    { at: 0, children: new Map() },
  ];
  let replacements = '';
  for (const [from, to] of Object.entries(rules)) {
    let node = nodes[0]!;
    for (const byte of utf8.encode(from)) {
      if (!node.children.has(byte)) {
        node.children.set(byte, nodes.length);
        nodes.push({ at: 256 * (nodes.indexOf(node) + 1) + byte, children: new Map() });
      }
      node = nodes[node.children.get(byte)!]!;
    }
    node.value = utf8.encode(replacements).length;
    replacements += `${to}\0`;
  }
  const units = new Uint32Array(256 * (nodes.length + 1));
  for (const [i, { at, value }] of nodes.entries()) {
    const base = 256 * (i + 1);
    const label = i === 0 ? 0 : at & 0xff;
    units[at] = ((at ^ base) << 10) | (value === undefined ? 0 : 1 << 8) | label;
    if (value !== undefined) units[base] = (value | 0x80000000) >>> 0;
  }
  const size = Uint32Array.of(units.byteLength);
  return Buffer.concat([Buffer.from(size.buffer), Buffer.from(units.buffer), utf8.encode(replacements)]);
}

const charsmap = new Charsmap(
  compile({ ﬁ: 'fi', Ａ: 'A', 'e\u0301': 'é', '\n': ' ', '\u0007': '', ａｂ: 'AB', ａ: 'a' }),
);

test.each([
  ['ﬁnd', 'find'],
  ['ＡＡ\nx\u0007y', 'AA xy'],
  ['cafe\u0301 e', 'café e'],
  ['ａｂａ', 'ABa'],
  ['🦙 ä ｂ', '🦙 ä ｂ'],
  ['', ''],
])('%j becomes %j', (text, normal) => {
  expect(runAtOnce(charsmap.normalize(text))).toBe(normal);
});

test('out-of-range table entries change nothing and do not crash', () => {
  const blob = new Uint8Array(8);
  blob.set([4, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f]);
  expect(runAtOnce(new Charsmap(blob).normalize('abc'))).toBe('abc');
});
