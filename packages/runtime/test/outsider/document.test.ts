import { readdirSync, readFileSync } from 'node:fs';
import { type AnyOp, coreOps, fusedOps, type OperandRule, opcodes } from '@quern/core';

const folder = new URL('./', import.meta.url);
const document = readFileSync(new URL('../../../../docs/writing-a-backend.md', import.meta.url), 'utf8');

/** The document's blocks that carry a file name: ```ts driver.ts */
const blocks = new Map(
  [...document.matchAll(/^```ts (\S+)\n(.*?)^```$/gms)].map(([, name, text]) => [name!, text!]),
);

const sources = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));

test('docs/writing-a-backend.md shows every file of the example', () => {
  expect([...blocks.keys()].sort()).toEqual(sources.sort());
});

test.each(sources)('the document shows %s as it is', (name) => {
  expect(blocks.get(name)).toBe(readFileSync(new URL(name, folder), 'utf8'));
});

function showOperand([name, { kind, dtypes, optional, written }]: [string, OperandRule]): string {
  const type = kind === 'tensor' ? dtypes!.join('/') : kind;
  const shown = `${name}: ${type}${written ? ' w!' : ''}`;
  return optional ? `[${shown}]` : shown;
}

function showOp(op: AnyOp): string {
  const operands = Object.entries(op.operands).map(showOperand).join(', ');
  const outputs = op.outputs.length ? ` → ${op.outputs.join(', ')}` : '';
  const attributes = Object.entries(op.attributes).map(([name, type]) => `${name}: ${type}`);
  return `| ${opcodes.get(op.name)} | ${op.name} | ${operands}${outputs} | ${attributes.join(', ')} |`;
}

test('the document lists the ops as core has them', () => {
  const rows = document.match(/^\| \d+ +\| \w+ +\| \w+: .*\|$/gm) ?? [];
  expect(rows.map((row) => row.replace(/ +/g, ' '))).toEqual(
    Object.values({ ...coreOps, ...fusedOps }).map((op) => showOp(op).replace(/ +/g, ' ')),
  );
});
