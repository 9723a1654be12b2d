import { checkArgument, checkOptions, type Rule, rules, type Schema } from '@quern/core';
import { RuntimeError, type SpeculateOptions } from '@quern/runtime';
import { isAllowedHost } from './hosts.js';
import { isServedModel, type ServedModels } from './kinds.js';
import { knownNames } from './offer.js';
import { ModelPool } from './pool/pool.js';

/** Receives one line of the log: a plain object, ready for JSON. */
export type Log = (entry: Readonly<Record<string, unknown>>) => void;

export interface HandlerOptions {
  /**
   * The models, by the names that clients use; or a `ModelPool`, which loads each at its first request. The caller disposes
   * them.
   */
  readonly models: ServedModels | ModelPool;
  /**
   * Further names of models and adapters, as in `{ 'claude-sonnet-4-5': 'my-model' }`: for clients that name models of
   * their own. Answers have the name that the request has.
   */
  readonly aliases?: Readonly<Record<string, string>> | undefined;
  /** A name that nothing has means the first model of the kind that a route needs. Default: status 404. */
  readonly anyModel?: boolean | undefined;
  /** Keys that clients must send, one at least; default: none is needed. */
  readonly apiKeys?: readonly string[] | undefined;
  /** Origins (`https://example.com`) that browsers may call from; '*': all. Default: only pages of this server. */
  readonly cors?: string | readonly string[] | undefined;
  /**
   * Names and addresses by which browsers may reach the server, as `quern.example`; `.quern.example`: also all names
   * below it; '*': any. Others get 403, and so do pages of other origins than `cors` allows. Loopback names and
   * addresses are always allowed. Default: `serve` without `apiKeys` allows no others, and where it listens on other
   * addresses than loopback, also all addresses and this machine's name; `createHandler`, and `serve` with `apiKeys`,
   * check nothing.
   */
  readonly allowedHosts?: string | readonly string[] | undefined;
  /** Most bytes of a request's body; default 4 MiB, of audio 64 MiB. */
  readonly bodyBytes?: number | undefined;
  readonly audioBytes?: number | undefined;
  /**
   * Most bytes of the bodies of all requests together, those under way included; further ones get 429, first those of
   * which nothing has come for the longest time. Default 512 MiB.
   */
  readonly totalBodyBytes?: number | undefined;
  /**
   * Milliseconds that a request's body has, and one second more for each 16 KiB of it; also the most in which nothing of
   * it comes. Then 408; default 30 s.
   */
  readonly bodyMs?: number | undefined;
  /** Longest time of a request in milliseconds, once its body has come; default 10 minutes. */
  readonly requestMs?: number | undefined;
  /**
   * Milliseconds between signs of life while nothing is generated, so that clients and proxies do not give up: comments
   * in streams (Anthropic's `ping`), white space before whole answers. 0: none, for clients that choke on them. Default
   * 10 s.
   */
  readonly keepAliveMs?: number | undefined;
  /** Most requests at a time; further ones get 429. A request counts when its body has come. Default 1024. */
  readonly requests?: number | undefined;
  /** Most texts that a request generates: prompts × `n`. They share the model as one request. Default 2048. */
  readonly textsPerRequest?: number | undefined;
  /**
   * Clients may load and unload LoRA adapters from this folder (`/v1/load_lora_adapter`, `/v1/unload_lora_adapter`).
   * Default: they may not.
   */
  readonly adapterFolder?: string | undefined;
  /**
   * Drafts for the texts of all requests, also of those with a schema, a tool that must be called or log-probabilities.
   * An answer is the same as without drafts, or drawn from the same distribution. Default: none.
   */
  readonly speculate?: SpeculateOptions | undefined;
  /**
   * Most answers of `/v1/responses` that are kept for `previous_response_id` and references, in memory; the least
   * recently used ones go first. A client reaches those of its own key. 0: none. Default 1000.
   */
  readonly storedAnswers?: number | undefined;
  /** Most bytes of their JSON; default 64 MiB. */
  readonly storedAnswerBytes?: number | undefined;
  /** Refuse fields that no route reads, with 400. Default: they are ignored, logged once per name, and counted. */
  readonly strict?: boolean | undefined;
  /** Whether `GET /` is for browsers the page with chat, embeddings and speech. Default true. */
  readonly page?: boolean | undefined;
  /** Prefix of the names at /metrics; default 'quern:'. 'vllm:' for dashboards of vLLM. */
  readonly metricsPrefix?: string | undefined;
  /** Default: nothing is logged. */
  readonly log?: Log | undefined;
}

export interface ServeOptions extends HandlerOptions {
  /** An address or a list of addresses; 'localhost' is 127.0.0.1 and ::1. Default 127.0.0.1: only this machine. */
  readonly host?: string | readonly string[] | undefined;
  /** Default 8080; 0: any free port. */
  readonly port?: number | undefined;
  /** Most milliseconds that running requests have when the server closes; default 30 s. */
  readonly drainMs?: number | undefined;
}

export const defaults = {
  bodyBytes: 4 << 20,
  audioBytes: 64 << 20,
  totalBodyBytes: 512 << 20,
  bodyMs: 30_000,
  requestMs: 600_000,
  keepAliveMs: 10_000,
  requests: 1024,
  textsPerRequest: 2048,
  storedAnswers: 1000,
  storedAnswerBytes: 64 << 20,
  metricsPrefix: 'quern:',
  host: '127.0.0.1',
  port: 8080,
  drainMs: 30_000,
} as const;

/** `setTimeout` fires at once for longer times. */
const mostMs = 2 ** 31 - 1;
const mostPort = 65_535;

const loaded = (value: unknown): value is ServedModels =>
  rules.isObject(value) && !Array.isArray(value) && Object.values(value).every(isServedModel);

const models: Rule<ServedModels | ModelPool> = {
  must: "an object with loaded models by their names, as in { demo: await loadModel('demo') }, or a ModelPool",
  holds: (value): value is ServedModels | ModelPool => isPool(value) || loaded(value),
};

/** By its methods, not its class: CommonJS and ESM have copies of it. A model that is called 'acquire' is an object. */
const isPool = (value: unknown): value is ModelPool =>
  rules.isObject(value) && ['acquire', 'find'].every((name) => typeof value[name] === 'function');

/** Loaded models as a pool that never unloads them. */
export const poolOf = (given: HandlerOptions['models']): ModelPool =>
  isPool(given) ? given : ModelPool.fixed(given);

const names: Rule<Readonly<Record<string, string>>> = {
  must: "an object of names of models by their further names, as in { 'claude-sonnet-4-5': 'my-model' }",
  holds: (value): value is Readonly<Record<string, string>> =>
    rules.isObject(value) &&
    !Array.isArray(value) &&
    Object.entries(value).every(([name, own]) => name !== '' && typeof own === 'string'),
};

/** Clients cannot send spaces at the ends of a header. */
const key: Rule<string> = {
  must: 'a key, not empty and without spaces around it',
  holds: (value): value is string => typeof value === 'string' && value !== '' && value.trim() === value,
};

const keys: Rule<readonly string[]> = {
  ...rules.listOf('keys', key, 1),
  must:
    'a list of keys, each not empty and without spaces around it; of an empty list no key would be accepted; ' +
    'leave apiKeys out for an open server',
};

/** As browsers send it: in lower case, without a path. */
const origin: Rule<string> = {
  must: "'*' or an origin: scheme://host or scheme://host:port, in lower case, without a slash at the end",
  holds: (value): value is string =>
    typeof value === 'string' && /^(\*|[a-z][a-z\d+.-]*:\/\/[^\s/?#@*A-Z]+)$/.test(value),
};

const origins: Rule<string | readonly string[]> = {
  ...rules.either(origin, rules.listOf('origins', origin)),
  must: `${origin.must}, or a list of these`,
};

const allowedHost: Rule<string> = {
  must: "'*' or a name or address without scheme, port and path, as quern.example; .quern.example: with all names below it",
  holds: (value): value is string => typeof value === 'string' && isAllowedHost(value),
};

const allowedHosts: Rule<string | readonly string[]> = {
  ...rules.either(allowedHost, rules.listOf('hosts', allowedHost)),
  must: `${allowedHost.must}; or a list of these`,
};

/** What Prometheus allows at the front of a name. */
const metricsPrefix: Rule<string> = {
  must: 'letters, digits, _ and :, without a digit at its front',
  holds: (value): value is string => typeof value === 'string' && /^([a-zA-Z_:][\w:]*)?$/.test(value),
};

const address: Rule<string> = {
  must: 'an address or name of this machine, as 127.0.0.1',
  holds: (value): value is string => rules.path.holds(value),
};

const addresses: Rule<string | readonly string[]> = {
  ...rules.either(address, rules.listOf('addresses', address, 1)),
  must: `${address.must}, or a list of these`,
};

/** What each option must be, and its default. */
export const handlerSchema = {
  models: { ...models, about: 'the models, by the names that clients use', required: true },
  aliases: { ...names, about: 'further names of models and adapters', absent: 'none' },
  anyModel: {
    ...rules.flag,
    about: 'a name that nothing has means the first model of the kind that a route needs',
    byDefault: false,
  },
  apiKeys: { ...keys, about: 'keys that clients must send', absent: 'none is needed' },
  cors: { ...origins, about: "origins that browsers may call from; '*': all", absent: 'none' },
  allowedHosts: {
    ...allowedHosts,
    about: "names and addresses by which browsers may reach the server; '*': any",
    absent: 'loopback names and addresses',
  },
  bodyBytes: { ...rules.whole(1), about: "most bytes of a request's body", byDefault: defaults.bodyBytes },
  audioBytes: {
    ...rules.whole(1),
    about: 'most bytes of a body with sound',
    byDefault: defaults.audioBytes,
  },
  totalBodyBytes: {
    ...rules.whole(1),
    about: 'most bytes of the bodies of all requests together',
    byDefault: defaults.totalBodyBytes,
  },
  bodyMs: {
    ...rules.whole(1, mostMs),
    about:
      "milliseconds that a request's body has, and a second more per 16 KiB; also the most without any of it",
    byDefault: defaults.bodyMs,
  },
  requestMs: {
    ...rules.whole(1, mostMs),
    about: 'longest time of a request in milliseconds',
    byDefault: defaults.requestMs,
  },
  keepAliveMs: {
    ...rules.whole(0, mostMs),
    about: 'milliseconds between signs of life while nothing is generated; 0: none',
    byDefault: defaults.keepAliveMs,
  },
  requests: { ...rules.whole(1), about: 'most requests at a time', byDefault: defaults.requests },
  textsPerRequest: {
    ...rules.whole(1),
    about: 'most texts that a request generates: prompts × n',
    byDefault: defaults.textsPerRequest,
  },
  adapterFolder: {
    ...rules.path,
    about: 'clients may load and unload LoRA adapters from this folder',
    absent: 'they may not',
  },
  speculate: { ...rules.object, about: 'drafts for the texts of all requests', absent: 'none' },
  storedAnswers: {
    ...rules.whole(0),
    about: 'most answers of /v1/responses that are kept in memory; 0: none',
    byDefault: defaults.storedAnswers,
  },
  storedAnswerBytes: {
    ...rules.whole(0),
    about: 'most bytes of the JSON of these answers',
    byDefault: defaults.storedAnswerBytes,
  },
  strict: { ...rules.flag, about: 'refuse fields that no route reads', byDefault: false },
  page: { ...rules.flag, about: 'serve the page at /', byDefault: true },
  metricsPrefix: {
    ...metricsPrefix,
    about: 'prefix of the names at /metrics',
    byDefault: defaults.metricsPrefix,
  },
  log: { ...rules.callback, about: 'receives one object per request', absent: 'no log' },
} as const satisfies Schema<HandlerOptions>;

const drainTime = rules.whole(0, mostMs);

export const serveSchema = {
  ...handlerSchema,
  host: {
    ...addresses,
    about: 'addresses to listen on; 0.0.0.0: all; localhost: 127.0.0.1 and ::1',
    byDefault: defaults.host,
  },
  port: {
    ...rules.whole(0, mostPort),
    about: 'port to listen on; 0: any free port',
    byDefault: defaults.port,
  },
  drainMs: {
    ...drainTime,
    about: 'most milliseconds that running requests have when the server closes',
    byDefault: defaults.drainMs,
  },
} as const satisfies Schema<ServeOptions>;

const badOption = (message: string) => new RuntimeError('BAD_OPTION', message);

/** @throws RuntimeError BAD_OPTION; its message never has a key */
export function needOptions(
  where: string,
  options: unknown,
  schema: typeof handlerSchema | typeof serveSchema,
): void {
  if (rules.isObject(options) && options.apiKeys !== undefined && !keys.holds(options.apiKeys))
    throw badOption(`[${where}] apiKeys must be ${keys.must}`);
  checkOptions(where, options, schema, badOption);
  needAliases(where, options as HandlerOptions);
}

/** @throws RuntimeError BAD_OPTION for an alias that is a name already, or that names nothing */
function needAliases(where: string, { models, aliases }: HandlerOptions): void {
  if (!aliases) return;
  const known = knownNames({ pool: poolOf(models) });
  for (const [alias, own] of Object.entries(aliases)) {
    if (known.includes(alias))
      throw badOption(`[${where}] aliases has '${alias}', which is a model's own name: choose another one`);
    if (!known.includes(own))
      throw badOption(
        `[${where}] aliases.${alias} is '${own}', which is no model; known models: ${known.join(', ')}`,
      );
  }
}

/** @throws RuntimeError BAD_ARGUMENT */
export const needDrainTime = (ms: number): void =>
  checkArgument('drain', 'ms', ms, drainTime, (message) => new RuntimeError('BAD_ARGUMENT', message));
