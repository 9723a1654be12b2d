import { version } from '../own-package.js';
import { showBytes } from '../terminal/bytes.js';
import { count } from '../terminal/count.js';
import type { FoundModel } from './local-models.js';
import type { Surroundings } from './look-around.js';

/** So that all fits on a screen of 24 lines, with the question. */
const [mostDevices, mostModels] = [3, 2];

/** Two columns; the left one as wide as its widest cell. */
function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd());
}

function showDevices({ devices, failed, memory }: Surroundings): string[] {
  const working = devices.slice(0, mostDevices).map(({ backend, device, isa, threads, kind }) => {
    const units = count(threads, kind === 'gpu' ? 'multiprocessor' : 'thread');
    return `  ${backend}: ${device}, ${isa}, ${units}`;
  });
  const limit = memory.limitBytes === undefined ? '' : `, limit ${showBytes(memory.limitBytes)}`;
  const names = [...new Set(failed.map((each) => each.package))];
  const broken = names.length === 0 ? [] : [`  ${names.join(', ')}: quern doctor tells why not`];
  const none =
    devices.length + failed.length === 0 ? ['  none: npm install @quern/backend-cpu brings one'] : [];
  return [
    'Devices',
    ...working,
    ...broken,
    ...none,
    `  memory: ${showBytes(memory.availableBytes)} of ${showBytes(memory.totalBytes)} free${limit}`,
  ];
}

const row = ({ name, bytes }: FoundModel): [string, string] => [name, showBytes(bytes)];

const more = (models: readonly FoundModel[], where: string): [string, string][] =>
  models.length > mostModels ? [[`… and ${models.length - mostModels} more ${where}`, '']] : [];

function showModels({ local, cached }: Surroundings): string[] {
  const rows: [string, string][] = [
    ...local.slice(0, mostModels).map(row),
    ...more(local, 'in this folder'),
    ...cached.slice(0, mostModels).map(row),
    ...more(cached, 'in the cache: quern ls'),
    ['demo', 'included: tells small stories'],
  ];
  return ['Models', ...columns(rows)];
}

/** As a shell takes it: quoted where it must be. */
const quoted = (text: string): string =>
  /^[\w./:@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

function nextCommands({ devices, local, cached }: Surroundings): [string, string][] {
  const help: [string, string] = ['quern --help', 'all commands'];
  if (devices.length === 0) return [['quern doctor', 'what is wrong, and what helps'], help];
  const [model] = [...local, ...cached];
  if (!model)
    return [
      ['quern run demo "Once upon a time"', 'a story by the included model'],
      ['quern chat qwen3:0.6b', 'downloads a small chat model, and chats'],
      ['quern chat ./model.gguf', 'with a file of yours'],
      help,
    ];
  const name = quoted(model.name);
  return [
    [`quern chat ${name}`, 'chat'],
    [`quern run ${name} "Why is the sky blue?"`, 'one answer'],
    [`quern serve ${name}`, "OpenAI's API over HTTP, and a page"],
    help,
  ];
}

/** One screen: what is here, and what to do next. */
export function showHome(found: Surroundings): string {
  const lines = [
    `quern ${version}: language models on your own machine`,
    '',
    ...showDevices(found),
    ...showModels(found),
    'Next',
    ...columns(nextCommands(found)),
  ];
  return `${lines.join('\n')}\n`;
}
