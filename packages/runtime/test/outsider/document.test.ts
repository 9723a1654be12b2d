import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type AnyOp, coreOps, fusedOps, type OperandRule, opcodes } from '@quern/core';

const docs = new URL('../../../../docs/', import.meta.url);
const document = readFileSync(new URL('writing-a-backend.md', docs), 'utf8');

const example = readdirSync(new URL('examples/backend/', docs));

test('docs/writing-a-backend.md links every file of the example; no broken links', () => {
  const links = [...document.matchAll(/\]\(([^)#]+)\)/g)].map(([, link]) => link!);
  const shown = links.flatMap((link) => /^examples\/backend\/(.+)/.exec(link)?.[1] ?? []);
  expect([...new Set(shown)].sort()).toEqual(example.sort());
  expect(links.filter((link) => !existsSync(new URL(link, docs)))).toEqual([]);
});

test('the document shows the example’s package.json', () => {
  const {
    version,
    private: _,
    ...printed
  } = JSON.parse(readFileSync(new URL('examples/backend/package.json', docs), 'utf8'));
  const blocks = [...document.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text]) => JSON.parse(text!));
  expect(blocks).toContainEqual(printed);
  expect(version).toBeDefined();
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

test('the document lists core’s ops', () => {
  const rows = document.match(/^\| \d+ +\| \w+ +\| \w+: .*\|$/gm) ?? [];
  expect(rows.map((row) => row.replace(/ +/g, ' '))).toEqual(
    Object.values({ ...coreOps, ...fusedOps }).map((op) => showOp(op).replace(/ +/g, ' ')),
  );
});
