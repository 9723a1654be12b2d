import type { SpeculateOptions } from '@quern/runtime';
import type { ModelPool, PoolError, RunningServer, ServeOptions } from '@quern/server';
import { Command, Option } from 'commander';
import { type AdapterFlags, adapterPaths, withNamedAdapters } from '../adapters.js';
import { resolveTemplate, type TemplateFlags, withChatTemplate } from '../chat/template.js';
import { list, withLoading, withStoredCache } from '../options.js';
import { namedAliases } from '../serve/aliases.js';
import { keysIn } from '../serve/key-file.js';
import { folderModels } from '../serve/model-folder.js';
import { type NamedPath, namedPaths } from '../serve/model-name.js';
import { isOnDemand, type PoolFlags, type ServedPaths, servedPool } from '../serve/pool.js';
import { bytesOf, durationOf } from '../serve/quantities.js';
import { wholeOption } from '../serve/whole-option.js';
import {
  needSpeculationFlags,
  type SpeculationFlags,
  withSpeculation,
  withSpeculator,
} from '../speculation.js';
import { isFolder } from '../stat-of.js';
import { count } from '../terminal/count.js';
import { interruptible } from '../terminal/interrupt.js';
import { notice } from '../terminal/report.js';

interface ServeFlags extends PoolFlags, TemplateFlags, AdapterFlags, SpeculationFlags {
  readonly host?: readonly string[];
  readonly port: number;
  readonly alias?: readonly string[];
  readonly anyModel?: boolean;
  readonly apiKey?: readonly string[];
  readonly apiKeyFile?: string;
  readonly cors?: readonly string[];
  readonly allowedHosts?: readonly string[];
  readonly requestTimeout?: number;
  readonly bodyTimeout?: number;
  readonly pingInterval?: number;
  readonly adapterFolder?: string;
  readonly textsPerRequest?: number;
  readonly storedAnswers?: number;
  readonly storedAnswerBytes?: number;
  readonly strict?: boolean;
  readonly page: boolean;
  readonly metricsPrefix?: string;
  readonly log: boolean;
}

async function serve(named: string[], given: ServeFlags, command: Command): Promise<void> {
  needSpeculationFlags(given, command);
  await needServerFlags(given, command);
  const flags = await resolveTemplate({ ...given, ...keysOf(given, command) }, command);
  const served = servedPaths(named, command);
  assertPoolFlags(served, flags, command);
  const aliases = aliasesOf(flags, served.paths, command);
  await interruptible(async (signal) => {
    const pool = await servedPool(served, flags);
    try {
      await pool.start({ signal }).catch(rethrowCause);
      const listening = async (speculate: SpeculateOptions | undefined) => {
        const server = await listen(pool, { ...flags, aliases }, speculate, command);
        notice(`${pool.models.map(({ name }) => name).join(', ')}: listening on ${server.urls.join(', ')}`);
        await untilStopped(server, signal);
      };
      await withSpeculator(flags, signal, listening, { sequences: flags.sequences });
    } finally {
      await pool.dispose();
    }
  });
}

/** The error of a model that is loaded at the start, as `quern run` shows it. */
function rethrowCause(error: PoolError): never {
  throw error.code === 'LOAD_FAILED' && error.cause instanceof Error ? error.cause : error;
}

/** The models of the arguments. A folder of models stands for all of them. */
function servedPaths(given: readonly string[], command: Command): ServedPaths {
  const found = new Set<string>();
  const expanded = given.flatMap((text) => {
    const models = folderModels(text);
    for (const path of models ?? []) found.add(path);
    return models ?? [text];
  });
  const paths = namedPaths(expanded, (message) => command.error(`error: ${message}`));
  return { paths, found };
}

/** Flags that do not fit the models. */
function assertPoolFlags(served: ServedPaths, flags: ServeFlags, command: Command): void {
  const { paths } = served;
  if (flags.adapter && paths.length > 1)
    command.error('error: --adapter needs one model: adapters belong to the model they were trained on');
  const { pin = [] } = flags;
  const names = paths.map(({ name }) => name);
  const strange = pin.find((name) => name !== '*' && !names.includes(name));
  if (strange !== undefined)
    command.error(`error: --pin is '${strange}'; it must be one of these models, or *: ${names.join(', ')}`);
  if (flags.draft !== undefined && isOnDemand(served, flags) && !pin.includes('*'))
    command.error("error: --draft needs models that stay loaded: serve one model, or add --pin '*'");
}

const aliasesOf = (flags: ServeFlags, paths: readonly NamedPath[], command: Command) =>
  namedAliases(
    flags.alias ?? [],
    paths.map(({ name }) => name),
    Object.keys(adapterPaths(flags)),
    (message) => command.error(`error: ${message}`),
  );

/** Before models load, which may take long. */
async function needServerFlags(
  { apiKey, cors = [], allowedHosts = [], adapterFolder, metricsPrefix }: ServeFlags,
  command: Command,
): Promise<void> {
  const { serveSchema } = await import('@quern/server'); // other commands start without it
  if (apiKey && !serveSchema.apiKeys.holds(apiKey))
    command.error(`error: ${keyFlag(command)} must be a key, not empty and without spaces around it`);
  for (const origin of cors)
    if (!serveSchema.cors.holds(origin))
      command.error(`error: --cors is ${origin}; it must be ${serveSchema.cors.must}`);
  for (const host of allowedHosts)
    if (!serveSchema.allowedHosts.holds(host))
      command.error(`error: --allowed-hosts is ${host}; it must be ${serveSchema.allowedHosts.must}`);
  if (metricsPrefix !== undefined && !serveSchema.metricsPrefix.holds(metricsPrefix))
    command.error(
      `error: --metrics-prefix is ${metricsPrefix}; it must be ${serveSchema.metricsPrefix.must}`,
    );
  if (adapterFolder !== undefined && !isFolder(adapterFolder))
    command.error(`error: --adapter-folder: there is no folder ${adapterFolder}`);
}

/** Where the keys came from. */
const keyFlag = (command: Command): string =>
  command.getOptionValueSource('apiKey') === 'env' ? keyVariable : '--api-key';

/** Keys of the flags and of the file. Messages never have a line of the file. */
function keysOf(
  { apiKey = [], apiKeyFile }: ServeFlags,
  command: Command,
): Partial<Pick<ServeFlags, 'apiKey'>> {
  if (apiKeyFile === undefined) return apiKey.length > 0 ? { apiKey } : {};
  const keys = keysIn(apiKeyFile, (fault) => command.error(`error: --api-key-file ${apiKeyFile}: ${fault}`));
  return { apiKey: [...apiKey, ...keys] };
}

interface ListenFlags extends ServeFlags {
  readonly aliases: Readonly<Record<string, string>>;
}

async function listen(
  models: ModelPool,
  flags: ListenFlags,
  speculate: SpeculateOptions | undefined,
  command: Command,
): Promise<RunningServer> {
  const { serve: begin } = await import('@quern/server');
  try {
    return await begin({ ...serverOptions(models, flags), ...(speculate && { speculate }) });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const { host: hosts = [usualHost], port } = flags;
    const host = (error as { address?: string }).address ?? hosts.join(', ');
    if (code === 'EADDRINUSE')
      command.error(`error: port ${port} of ${host} is taken: choose another one with --port, or 0 for any`);
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      command.error(`error: this machine has no address ${host}: --host 127.0.0.1 or 0.0.0.0`);
    if (code === 'EACCES') command.error(`error: port ${port} may not be opened: choose one from 1024 on`);
    throw error;
  }
}

const serverOptions = (models: ModelPool, flags: ListenFlags): ServeOptions => ({
  models,
  ...(flags.host && { host: flags.host }),
  port: flags.port,
  aliases: flags.aliases,
  ...(flags.anyModel && { anyModel: true }),
  ...(flags.apiKey && { apiKeys: flags.apiKey }),
  ...(flags.cors && { cors: flags.cors }),
  ...(flags.allowedHosts && { allowedHosts: flags.allowedHosts }),
  ...(flags.requestTimeout !== undefined && { requestMs: 1000 * flags.requestTimeout }),
  ...(flags.bodyTimeout !== undefined && { bodyMs: 1000 * flags.bodyTimeout }),
  ...(flags.pingInterval !== undefined && { keepAliveMs: 1000 * flags.pingInterval }),
  ...(flags.adapterFolder !== undefined && { adapterFolder: flags.adapterFolder }),
  ...(flags.textsPerRequest !== undefined && { textsPerRequest: flags.textsPerRequest }),
  ...(flags.storedAnswers !== undefined && { storedAnswers: flags.storedAnswers }),
  ...(flags.storedAnswerBytes !== undefined && { storedAnswerBytes: flags.storedAnswerBytes }),
  ...(flags.strict && { strict: true }),
  ...(!flags.page && { page: false }),
  ...(flags.metricsPrefix !== undefined && { metricsPrefix: flags.metricsPrefix }),
  ...(flags.log && { log: (entry) => process.stderr.write(`${JSON.stringify(entry)}\n`) }),
});

/** SIGINT and SIGTERM end the server: running requests go on, up to a time. */
async function untilStopped(server: RunningServer, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  if (server.running > 0) notice(`waiting for ${count(server.running, 'running request')}`);
  await server.close();
}

/** Also `a.example,b.example`: no host has a comma. */
const hostList = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ...text.split(',').map((host) => host.trim()),
];

const usualHost = '127.0.0.1';
const keyVariable = 'QUERN_API_KEY';
const mostPort = 65_535;
/** Of timers: 2^31 − 1 ms. */
const mostSeconds = 2_147_483;

export const serveCommand = (): Command =>
  withNamedAdapters(withSpeculation(withChatTemplate(withStoredCache(withLoading(new Command('serve'))))))
    .description('serve models over HTTP, compatible with OpenAI’s API')
    .argument('<model...>', 'path, name=path (the name that clients use), or a folder of models')
    .option(
      '--host <address>',
      `address to listen on; 0.0.0.0: all; localhost: 127.0.0.1 and ::1; may be repeated (default: ${usualHost})`,
      list,
    )
    .addOption(wholeOption('--port <n>', 'port to listen on; 0: any free one', 0, mostPort).default(8080))
    .option(
      '--alias <name=model>',
      'further name of a model; NAME alone: of the only one; may be repeated',
      list,
    )
    .option('--any-model', 'unknown names of models mean the first model')
    .addOption(
      new Option('--api-key <key>', 'key that clients must send; may be repeated')
        .argParser(list)
        .env(keyVariable),
    )
    .option('--api-key-file <path>', 'file of keys, one per line; lines that begin with # are comments')
    .option(
      '--cors-origin, --cors <origin>',
      'origin whose pages may call; *: all; may be repeated (default: pages of this server alone)',
      list,
    )
    .option(
      '--allowed-hosts <names>',
      'names by which browsers may reach the server, as quern.example; *: any; may be repeated (default: those of this machine)',
      hostList,
    )
    .addOption(
      wholeOption('--sequences <n>', 'room in the cache, in contexts, as far as memory allows', 1).default(8),
    )
    .addOption(
      new Option(
        '--keep-alive <time>',
        'unload a model after this time without a request: 30s, 5m, 1h, 0, never (default: 5m; one model alone stays)',
      ).argParser(durationOf),
    )
    .addOption(
      new Option(
        '--memory <bytes>',
        'most memory of all loaded models, as 24GB (default: what is free at the start)',
      ).argParser(bytesOf),
    )
    .addOption(wholeOption('--max-models <n>', 'most models loaded at a time', 1))
    .option(
      '--pin <name>',
      'model to load at the start and keep; *: all; may be repeated (default: the only one)',
      list,
    )
    .addOption(wholeOption('--max-queue <n>', 'most requests that wait for room; more get status 429', 0))
    .addOption(
      wholeOption(
        '--itl-target <ms>',
        'longest time between two tokens while prompts are computed (default: twice a quiet step, at least 50)',
        1,
      ),
    )
    .addOption(
      wholeOption(
        '--ttft-target <ms>',
        'longest time to a first token while others decode (default: none)',
        1,
      ),
    )
    .addOption(wholeOption('--request-timeout <s>', 'most seconds of a request', 1, mostSeconds))
    .addOption(
      wholeOption(
        '--body-timeout <s>',
        'seconds of a request’s body, and 1 more per 16 KiB; also most without any of it (default: 30)',
        1,
        mostSeconds,
      ),
    )
    .addOption(
      wholeOption(
        '--ping-interval <s>',
        'seconds between signs of life while nothing is generated; 0: none (default: 10)',
        0,
        mostSeconds,
      ),
    )
    .option('--adapter-folder <path>', 'let clients load adapters from this folder')
    .addOption(
      wholeOption('--texts-per-request <n>', 'most texts of a request, prompts × n (default: 2048)', 1),
    )
    .addOption(
      wholeOption(
        '--stored-answers <n>',
        'most answers of /v1/responses kept in memory; 0: none (default: 1000)',
        0,
      ),
    )
    .addOption(
      wholeOption(
        '--stored-answer-bytes <n>',
        'most bytes of the JSON of these answers (default: 67108864)',
        0,
      ),
    )
    .option('--strict', 'refuse fields that no route reads, rather than ignore them')
    .option('--no-page', 'no page at /')
    .option('--metrics-prefix <text>', 'prefix of the names at /metrics (default: quern:)')
    .option('--no-log', 'no line of JSON per request on stderr')
    .action(serve);
