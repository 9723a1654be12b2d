// Times of compiling and of masks over MaskBench's schemas, with Qwen2's vocabulary: 151,936 tokens. Needs ../shared/data and a build.
//   node packages/grammar/bench/masks.mjs
import { readFileSync } from 'node:fs';
import { compileSchema, Vocabulary } from '../dist/index.js';

const data = new URL('../../../../shared/data/', import.meta.url);
const SIZE = 151_936;
const REPEATS = 3;

/** GPT-2's spelling of bytes as characters: printable ones stand for themselves, others follow from U+0100. */
function byteOf() {
  const printable = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  const bytes = new Map();
  let next = 256;
  for (let byte = 0; byte < 256; byte++)
    bytes.set(String.fromCodePoint(printable(byte) ? byte : next++), byte);
  return bytes;
}

function readVocabulary() {
  const ids = JSON.parse(readFileSync(new URL('tokenizers/qwen2-internvl2/vocab.json', data), 'utf8'));
  const bytes = byteOf();
  const tokens = Array.from({ length: SIZE }, () => new Uint8Array(0));
  for (const [text, id] of Object.entries(ids))
    tokens[id] = Uint8Array.from([...text].map((char) => bytes.get(char)));
  return new Vocabulary(tokens, { endOfText: [151_643, 151_645] });
}

const vocabulary = readVocabulary();
const mask = new Uint32Array(vocabulary.words);
const clock = (run) => {
  const start = performance.now();
  run();
  return performance.now() - start;
};

/** Milliseconds of compiling, first mask included. */
function timeCompile(schema) {
  let grammar;
  const ms = clock(() => {
    try {
      grammar = compileSchema(schema, { keyOrder: 'any' });
      grammar.matcher(vocabulary).mask(mask);
    } catch (error) {
      if (error?.name !== 'GrammarError') throw error;
      grammar = undefined;
    }
  });
  return { grammar, ms };
}

/** Milliseconds of each mask while the longest tokens of a valid instance are accepted. */
function timeMasks(grammar, instance) {
  const bytes = new TextEncoder().encode(JSON.stringify(instance));
  const matcher = grammar.matcher(vocabulary);
  const times = [];
  for (let at = 0; at < bytes.length; ) {
    const { token, length } = vocabulary.longestMatch(bytes, at);
    times.push(clock(() => matcher.mask(mask)));
    matcher.accept(token);
    at += length;
  }
  return times;
}

const show = (name, times) => {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share) => `${(sorted[Math.floor((sorted.length - 1) * share)] * 1000).toFixed(0)} µs`;
  console.log(
    `${name}: ${sorted.length} · p50 ${at(0.5)} · p90 ${at(0.9)} · p99 ${at(0.99)} · most ${at(1)}`,
  );
};

const lines = readFileSync(new URL('json-schema/maskbench.jsonl', data), 'utf8').trim().split('\n');
const cases = lines.map((line) => JSON.parse(line));
const compiles = cases.map(() => Infinity);
const masks = cases.map(() => []);
let supported = 0;
for (let repeat = 0; repeat < REPEATS; repeat++)
  cases.forEach(({ schema, tests }, i) => {
    const { grammar, ms } = timeCompile(schema);
    compiles[i] = Math.min(compiles[i], ms);
    if (!grammar) return;
    if (repeat === 0) supported++;
    const times = tests.flatMap(({ valid, data }) => (valid ? timeMasks(grammar, data) : []));
    masks[i] = times.map((time, k) => Math.min(time, masks[i][k] ?? Infinity));
  });
console.log(`${supported} of ${cases.length} schemas supported`);
show(`compile with first mask, best of ${REPEATS}`, compiles);
show(`masks, best of ${REPEATS} with grammars of their own`, masks.flat());
