// Whether the text of the kernels is Metal's language, as far as clang and the rules below can tell: Apple's compiler is not here.
//   node check.mjs             the kernels
//   node check.mjs FILE        another text, with the same rules
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const clang = process.env.CLANG ?? 'clang++';

/** Whether a parameter `T& name` lacks the word for its address space. */
function barePlace(line) {
  for (const { index } of line.matchAll(/[\w>]& \w/g)) {
    let depth = 0;
    let start = index;
    for (; start >= 0 && !(depth === 0 && '(,'.includes(line[start])); start--)
      depth += line[start] === '>' ? 1 : line[start] === '<' ? -1 : 0;
    if (!/^\s*(thread|constant|device|threadgroup|THREAD|ARGUMENTS)\b/.test(line.slice(start + 1)))
      return true;
  }
  return false;
}

/** [rule, what breaks it, in code without comments] */
const rules = [
  ['references have an address space', { test: barePlace }],
  [
    'pointers have an address space',
    /(?<=[(,;{]\s*)(?:const )?(?:bool|char|short|int|long|unsigned|u?int64_t|float|half|[A-Z]\w+)\*/,
  ],
  ['no pointers to functions', /\(\s*\*\s*\w*\s*\)\s*\(/],
  ['no lambdas', /\[[&=]?\]\s*(?:\(|\{)/],
  ['no exceptions', /\b(?:throw|try|catch)\b/],
  ['no virtual functions', /\b(?:virtual|dynamic_cast|typeid)\b/],
  ['no new and delete', /\b(?:new|delete)\b/],
  ['no goto', /\bgoto\b/],
  ['no double', /\bdouble\b/],
  ['no variables that outlive a call', /\bthread_local\b|^\s*static\s+(?!inline\b|FUNCTION\b|constant\b)/],
  ['variables of the program are constant', /^(?:const|constexpr|int|float|unsigned)\s[^(){}]*=[^(){}]*;/],
];

const withoutComments = (text) =>
  text.replace(/\/\/.*|\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '));

/** "line: rule: the line's text" for each. */
function broken(text) {
  const lines = withoutComments(text).split('\n');
  return rules.flatMap(([rule, pattern]) =>
    lines.flatMap((line, i) => (pattern.test(line) ? [`${i + 1}: ${rule}: ${line.trim()}`] : [])),
  );
}

/** The text from an opening brace to its end. */
function bodyAt(code, open) {
  let depth = 0;
  for (let i = open; i < code.length; i++) {
    if (code[i] === '{') depth++;
    else if (code[i] === '}' && --depth === 0) return code.slice(open, i + 1);
  }
  return code.slice(open);
}

/** Functions that may call themselves, directly or not: overloads of a name count as one. */
function recursive(text) {
  const code = withoutComments(text);
  const calls = new Map();
  for (const found of code.matchAll(/^FUNCTION\s[^;{}]*?\b(\w+)\([^;{}]*\)\s*\{/gm)) {
    const body = bodyAt(code, found.index + found[0].length - 1);
    const called = [...body.matchAll(/(?<![.\w:])(\w+)(?:<[^;(){}]*>)?\(/g)].map(([, callee]) => callee);
    calls.set(found[1], [...(calls.get(found[1]) ?? []), ...called]);
  }
  const reaches = (from, to, seen) =>
    (calls.get(from) ?? []).some(
      (next) => next === to || (calls.has(next) && !seen.has(next) && reaches(next, to, seen.add(next))),
    );
  return [...calls.keys()].filter((name) => reaches(name, name, new Set()));
}

const options = [
  '-Xclang',
  '-fallow-half-arguments-and-returns',
  '-std=c++14',
  '-x',
  'c++',
  '-nostdinc',
  '-nostdinc++',
  `-I${here}`,
];
const warnings = [
  '-Wall',
  '-Wextra',
  '-Werror',
  '-Wno-unknown-attributes',
  '-Wno-duplicate-decl-specifier',
  '-Wno-unknown-pragmas',
  '-Wno-ignored-attributes',
  '-Wno-unused-function',
  '-Wno-unused-parameter',
  '-Wno-unused-const-variable',
  '-Wno-undefined-inline',
  '-Wno-undefined-internal',
];

/** clang knows arrays in an address space as static ones alone. */
const parsable = (text) => text.replace('threadgroup T name[count]', 'static threadgroup T name[count]');

/** The kernels' names, from the preprocessed text. */
function kernelNames(file) {
  const out = execFileSync(clang, [...options, '-E', '-P', file], { encoding: 'utf8', maxBuffer: 1 << 28 });
  return [...out.matchAll(/\[\[kernel[^\]]*\]\] void (\w+)\(/g)].map(([, name]) => name);
}

const folder = mkdtempSync(join(tmpdir(), 'quern-metal-'));
try {
  const given = process.argv[2];
  const text = given
    ? readFileSync(given, 'utf8')
    : execFileSync(process.execPath, [join(here, '../../metal-source.mjs')], {
        encoding: 'utf8',
        maxBuffer: 1 << 28,
      });
  const plain = join(folder, 'kernels.metal');
  writeFileSync(plain, parsable(text));
  const names = kernelNames(plain);
  const all = join(folder, 'all.metal');
  writeFileSync(all, names.map((name) => `#define WANTS_${name} 0, MADE_\n`).join('') + parsable(text));
  const faults = [...broken(text), ...recursive(text).map((name) => `no recursion: ${name} may call itself`)];
  const parsed = spawnSync(clang, [...options, ...warnings, '-ferror-limit=0', '-fsyntax-only', all], {
    encoding: 'utf8',
  });
  if (parsed.status !== 0) faults.push(parsed.stderr);
  const made = kernelNames(all);
  if (new Set(made).size !== names.length) faults.push(`${made.length} kernels are made of ${names.length}`);
  for (const fault of faults) console.error(fault);
  if (faults.length === 0) console.log(`PASS ${names.length} kernels keep Metal's rules`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
