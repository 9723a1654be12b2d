// check.mjs names each rule that a text breaks.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const head = '#include <metal_stdlib>\n#define FUNCTION inline\n';

/** [what check.mjs says, a text] */
const cases = [
  ['references have an address space', 'FUNCTION int f(const float4& x) { return int(x[0]); }'],
  ['pointers have an address space', 'FUNCTION int f(float* x) { return int(x[0]); }'],
  ['no pointers to functions', 'FUNCTION int f(int (*g)(int)) { return g(1); }'],
  ['no lambdas', 'FUNCTION int f(int x) { return [&]() { return x; }(); }'],
  ['no exceptions', 'FUNCTION void f() { throw 1; }'],
  ['no virtual functions', 'struct A { virtual int f(); };'],
  ['no new and delete', 'FUNCTION void f() { delete new int; }'],
  ['no goto', 'FUNCTION void f() { again: goto again; }'],
  ['cannot combine', 'FUNCTION int f(int half) { return half; }'],
  ['no double', 'FUNCTION float f(double x) { return float(x); }'],
  ['no variables that outlive a call', 'FUNCTION int f() {\n  static int calls = 0;\n  return ++calls;\n}'],
  ['variables of the program are constant', 'const int ten = 10;'],
  [
    'no recursion: g',
    'FUNCTION int f(int x);\nFUNCTION int g(int x) { return f(x); }\nFUNCTION int f(int x) { return g(x); }',
  ],
  ['cannot initialize', 'FUNCTION threadgroup float* g(device float* x) { return x; }'],
];

let failed = 0;
const folder = mkdtempSync(join(tmpdir(), 'quern-rules-'));
for (const [rule, text] of cases) {
  const file = join(folder, 'planted.metal');
  writeFileSync(file, head + text);
  const { stderr } = spawnSync(process.execPath, [join(here, 'check.mjs'), file], { encoding: 'utf8' });
  if (stderr.includes(rule)) continue;
  failed++;
  console.error(`FAIL '${rule}' is not named: ${stderr}`);
}
rmSync(folder, { recursive: true });
if (failed === 0) console.log(`PASS ${cases.length} broken rules of Metal are named`);
process.exitCode = failed === 0 ? 0 : 1;
