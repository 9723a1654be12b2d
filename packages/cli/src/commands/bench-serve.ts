import { Command, InvalidArgumentError, Option } from 'commander';
import { BenchError } from '../bench/error.js';
import { type Length, parseLength } from '../bench/serve/draw.js';
import { figuresOf, type LoadFigures } from '../bench/serve/figures.js';
import { sendLoad } from '../bench/serve/load.js';
import { loadChart, showLoad } from '../bench/serve/show.js';
import { parserOf } from '../options.js';
import { needFolder, writeText } from '../output-path.js';
import { wholeOption } from '../serve/whole-option.js';
import { count } from '../terminal/count.js';
import { interruptible } from '../terminal/interrupt.js';
import { notice } from '../terminal/report.js';
import { write, writeJson } from '../terminal/write.js';

interface LoadFlags {
  readonly model?: string;
  readonly apiKey?: string;
  readonly completions?: boolean;
  readonly requests: number;
  readonly rate?: number;
  readonly clients: number;
  readonly promptTokens: Length;
  readonly outputTokens: Length;
  readonly sharedPrefix: number;
  readonly disconnect: number;
  readonly malformed: number;
  readonly seed: number;
  readonly sloTtft?: number;
  readonly sloItl?: number;
  readonly json?: boolean;
  readonly svg?: string;
}

function length(text: string): Length {
  const parsed = parseLength(text);
  if (parsed) return parsed;
  throw new InvalidArgumentError(
    'it must be a number (64), a range (64-512), or median~deviation (128~0.6).',
  );
}

const numberFrom = (least: number, most = Number.POSITIVE_INFINITY) =>
  parserOf({
    must: `a number from ${least}${most < Number.POSITIVE_INFINITY ? ` to ${most}` : ''}`,
    holds: (value: unknown): value is number => typeof value === 'number' && value >= least && value <= most,
  });

function address(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError('it must be an http or https URL, as http://127.0.0.1:8080.');
}

/** In `quern bench --model m serve URL` the model would be without effect. */
function needOptionsHere(command: Command): void {
  const { parent } = command;
  const stray = parent?.options.find((each) => parent.getOptionValueSource(each.attributeName()) === 'cli');
  if (stray)
    command.error(`error: ${stray.long} stands before serve: the options of bench serve stand after it`);
}

/** The address with '/v1' at its end. */
const apiOf = (url: string): string => `${url.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;

async function load(url: string, flags: LoadFlags, command: Command): Promise<void> {
  needOptionsHere(command);
  if (flags.svg !== undefined) needFolder(flags.svg, command);
  const { model, apiKey: key, completions = false, sharedPrefix: sharedTokens, rate, ...rest } = flags;
  const target = { url: apiOf(url), model, key, chat: !completions };
  await interruptible(async (signal) => {
    const tell = (done: number) => done % 50 === 0 && notice(`${done} of ${flags.requests} requests`);
    const result = await sendLoad(target, { ...rest, rate, sharedTokens }, tell, signal);
    const figures = figuresOf(result, { firstToken: flags.sloTtft, betweenTokens: flags.sloItl });
    if (flags.json) await writeJson(figures);
    else await write(showLoad(figures));
    if (flags.svg !== undefined) writeText(flags.svg, loadChart(figures));
    signal.throwIfAborted();
    needSuccess(figures);
  });
}

/** Malformed requests that were refused, and clients that left, ended as planned. @throws BenchError NO_ANSWER */
function needSuccess({ ends, requests }: LoadFigures): void {
  if (['ok', 'refused', 'left'].some((end) => end in ends)) return;
  const [first] = Object.keys(ends);
  throw new BenchError('NO_ANSWER', `none of ${count(requests, 'request')} succeeded: ${first}`);
}

const option = (flags: string, about: string, parse: (text: string) => unknown): Option =>
  new Option(flags, about).argParser(parse);

export const benchServeCommand = (): Command =>
  new Command('serve')
    .description('send a load to a server with OpenAI’s API, and measure its latencies')
    .argument('<url>', 'http://127.0.0.1:8080', address)
    .option('--model <name>', 'the model’s name; default: the server’s only one')
    .option('--api-key <key>')
    .option('--completions', 'ask /v1/completions instead of /v1/chat/completions')
    .addOption(wholeOption('--requests <n>', 'number of requests', 1).default(100))
    .addOption(
      option(
        '--rate <r>',
        'arrivals per second, as a Poisson process; default: --clients',
        numberFrom(0.001),
      ),
    )
    .addOption(wholeOption('--clients <n>', 'clients that ask again at once', 1).default(8))
    .addOption(
      option('--prompt-tokens <n>', 'tokens of a prompt: 64, 64-512 or 128~0.6', length).default(
        length('64'),
        '64',
      ),
    )
    .addOption(
      option('--output-tokens <n>', 'tokens of an answer, likewise', length).default(length('64'), '64'),
    )
    .addOption(
      wholeOption('--shared-prefix <n>', 'tokens at the beginning that all prompts share', 0).default(0),
    )
    .addOption(option('--disconnect <p>', 'share of clients that leave', numberFrom(0, 1)).default(0))
    .addOption(option('--malformed <p>', 'share of malformed requests', numberFrom(0, 1)).default(0))
    .addOption(wholeOption('--seed <n>', 'the same seed sends the same load', 0).default(1))
    .addOption(option('--slo-ttft <ms>', 'limit of a good first token', numberFrom(0)))
    .addOption(option('--slo-itl <ms>', 'limit between the tokens of a good answer', numberFrom(0)))
    .option('--json', 'print one JSON object')
    .option('--svg <file>', 'draw the latencies')
    .action(load);
