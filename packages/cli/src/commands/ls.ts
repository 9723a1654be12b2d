import type { CachedModel } from '@quern/hub';
import { Command } from 'commander';
import { showBytes } from '../terminal/bytes.js';
import { say } from '../terminal/report.js';
import { write, writeJson } from '../terminal/write.js';

const heads = ['NAME', 'QUANTISATION', 'SIZE', 'LAST USED', 'PATH'] as const;

const cellsOf = ({ name, quantisation = '', bytes, lastUsed, path }: CachedModel): string[] => [
  name,
  quantisation,
  showBytes(bytes),
  lastUsed.toISOString().slice(0, 16).replace('T', ' '),
  path,
];

/** Columns as wide as their widest cell; the last one has no padding. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = heads.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  return rows
    .map((row) => row.map((cell, i) => (i < row.length - 1 ? cell.padEnd(widths[i]!) : cell)).join('  '))
    .join('\n');
}

async function ls({ json }: { readonly json?: boolean }): Promise<void> {
  const { list } = await import('@quern/hub');
  const models = await list();
  if (json) return writeJson({ models });
  if (models.length === 0) return say('no models are in the cache; quern pull qwen3:0.6b brings one');
  await write(`${table([heads, ...models.map(cellsOf)])}\n`);
}

export const lsCommand = (): Command =>
  new Command('ls')
    .description("list the models in the cache of Hugging Face's tools; times are UTC")
    .option('--json', 'print {"models": [{"name", "quantisation", "bytes", "lastUsed", "path", …}]}')
    .action(ls);
