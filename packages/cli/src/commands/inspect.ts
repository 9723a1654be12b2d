import { type DescribedModel, describeFile, type FileDescription } from '@quern/runtime';
import { Command } from 'commander';
import { type Planned, planHere, planLines } from '../inspect/plan.js';
import { type LoadFlags, withPlanning } from '../options.js';
import { count } from '../terminal/count.js';
import { write, writeJson } from '../terminal/write.js';

interface InspectFlags extends LoadFlags {
  readonly json?: boolean;
  readonly tensors?: boolean;
}

const longest = 60;

/** A metadata value in one line; long strings and arrays are shortened and show their length. */
export function show(value: unknown): string {
  if (typeof value === 'string') {
    return value.length <= longest
      ? JSON.stringify(value)
      : `${JSON.stringify(`${value.slice(0, longest)}…`)} (${value.length} characters)`;
  }
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    const items = Array.from(value as ArrayLike<unknown>);
    const head = items.slice(0, 6).map(show).join(', ');
    return items.length <= 6 ? `[${head}]` : `[${head}, …] (${items.length} items)`;
  }
  return String(value);
}

const millions = (parameters: number) => (parameters / 1e6).toFixed(1);

/** With a mixture of experts, a token uses only the active parameters. */
function showModel({ architecture, parameters, activeParameters, bytesPerToken }: DescribedModel): string {
  const isMixture = activeParameters !== undefined && activeParameters < parameters;
  const active = isMixture ? `, ${millions(activeParameters)} active` : '';
  const read = bytesPerToken === undefined ? '' : `; a token reads ${millions(bytesPerToken)} MB`;
  return `${architecture}: ${millions(parameters)} million parameters${active}${read}`;
}

/** A cache of f16. */
function showCache({ perToken, perSequence }: NonNullable<DescribedModel['cacheBytes']>): string {
  const states = perSequence === 0 ? '' : `, and ${(perSequence / 1e6).toFixed(2)} MB of states per sequence`;
  return `the cache takes ${(perToken / 1e3).toFixed(1)} kB per token${states}`;
}

function* modelLines(model: DescribedModel): Generator<string> {
  yield `  ${showModel(model)}`;
  if (model.cacheBytes) yield `  ${showCache(model.cacheBytes)}`;
  const { unread } = model;
  const names = unread.length > 4 ? [...unread.slice(0, 4), '…'] : unread;
  if (unread.length > 0)
    yield `  ${count(unread.length, 'tensor')} ${unread.length === 1 ? 'is' : 'are'} not read: ${names.join(', ')}`;
}

function* lines(file: FileDescription, planned: Planned | undefined, flags: InspectFlags): Generator<string> {
  yield `${file.path}: ${file.kind}, ${count(file.tensors.length, 'tensor')}, ${(file.byteLength / 1e6).toFixed(1)} MB`;
  if (file.model) yield* modelLines(file.model);
  if (file.modelError) yield `  cannot be run: ${file.modelError.message} (${file.modelError.code})`;
  if (planned) for (const line of planLines(planned)) yield `  ${line}`;
  for (const [key, value] of Object.entries(file.metadata)) yield `  ${key} = ${show(value)}`;
  for (const { format, count: tensors, byteLength } of file.formats)
    yield `  ${format}: ${count(tensors, 'tensor')}, ${(byteLength / 1e6).toFixed(1)} MB`;
  if (flags.tensors)
    for (const { name, format, shape } of file.tensors) yield `  ${name} ${format} [${shape.join(', ')}]`;
}

/** JSON has no typed arrays and no 64-bit integers. */
const plain = (_key: string, value: unknown): unknown => {
  if (typeof value === 'bigint') return value.toString();
  return ArrayBuffer.isView(value) ? Array.from(value as Int32Array) : value;
};

async function inspect(path: string, flags: InspectFlags, command: Command): Promise<void> {
  const file = await describeFile(path);
  const planned = await planHere(path, file, flags, command);
  if (flags.json) await writeJson(JSON.parse(JSON.stringify({ ...file, ...planned }, plain)));
  else for (const line of lines(file, planned, flags)) await write(`${line}\n`);
}

export const inspectCommand = (): Command =>
  withPlanning(new Command('inspect'))
    .description("show a model file's content, and the plan of quern run for it, without loading it")
    .argument('<file>')
    .option('--tensors', 'list every tensor')
    .option('--json', 'print one JSON object')
    .action(inspect);
