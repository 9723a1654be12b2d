import { checkOptions, type ProgressListener, rules, type Schema } from '@quern/core';
import { badOption } from './error.js';

/** Variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Options of `resolveModel` and `pull`. */
export interface HubOptions {
  /** Cache folder. Default: HF_HUB_CACHE, else HF_HOME/hub, else XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub. */
  readonly cacheDir?: string | undefined;
  /** The Hub or a mirror. Default: HF_ENDPOINT, else https://huggingface.co. */
  readonly endpoint?: string | undefined;
  /** Token for the endpoint, sent to no other host. `false`: none. Default: HF_TOKEN, else the file that `hf auth login` writes. */
  readonly token?: string | false | undefined;
  /** True: no request; only files of the cache. Default: HF_HUB_OFFLINE, else false. */
  readonly offline?: boolean | undefined;
  /** Branch, tag or commit, where the name has none. Default: main. */
  readonly revision?: string | undefined;
  /** Most requests at a time. Default: 4. */
  readonly connections?: number | undefined;
  /** Bytes of a request; files beyond this size are fetched in parallel parts. Memory: at most `connections` parts. Default: 16 MiB. */
  readonly partBytes?: number | undefined;
  /** Attempts without a new byte before an error. Default: 5. */
  readonly attempts?: number | undefined;
  /** Milliseconds before the second attempt; doubled for each further one. Default: 500. */
  readonly retryDelayMs?: number | undefined;
  /** Milliseconds without a byte after which a connection counts as broken. Default: 30,000. */
  readonly idleTimeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with the bytes and files at hand; bytes that were there before count too. */
  readonly onProgress?: ProgressListener<'download'> | undefined;
  /** Called with notices: a pause before another attempt. Default: none. */
  readonly onNotice?: ((text: string) => void) | undefined;
  /** Variables of the environment. Default: process.env. */
  readonly env?: Environment | undefined;
}

/** What each option must be, and its default. */
export const hubSchema = {
  cacheDir: { ...rules.path, about: 'cache folder', absent: 'that of Hugging Face’s tools' },
  endpoint: {
    ...rules.text,
    about: 'the Hub or a mirror',
    absent: 'HF_ENDPOINT, else https://huggingface.co',
  },
  token: {
    ...rules.either(rules.text, rules.oneOf<never>([])),
    must: 'a string or false',
    holds: (value): value is string | false => typeof value === 'string' || value === false,
    about: 'token for the endpoint',
    absent: 'HF_TOKEN, else the token file',
  },
  offline: { ...rules.flag, about: 'only files of the cache', absent: 'HF_HUB_OFFLINE' },
  revision: { ...rules.text, about: 'branch, tag or commit', absent: 'main' },
  connections: { ...rules.whole(1, 64), about: 'most requests at a time', byDefault: 4 },
  partBytes: { ...rules.whole(1, 2 ** 30), about: 'bytes of a request', byDefault: 2 ** 24 },
  attempts: { ...rules.whole(1, 100), about: 'attempts without a new byte', byDefault: 5 },
  retryDelayMs: {
    ...rules.whole(0, 600_000),
    about: 'milliseconds before the second attempt',
    byDefault: 500,
  },
  idleTimeoutMs: { ...rules.whole(1, 2 ** 31 - 1), about: 'milliseconds without a byte', byDefault: 30_000 },
  signal: { ...rules.signal, about: 'aborts the call', absent: 'none' },
  onProgress: { ...rules.callback, about: 'called with the progress', absent: 'none' },
  onNotice: { ...rules.callback, about: 'called with notices, which are no errors', absent: 'none' },
  env: { ...rules.object, about: 'variables of the environment', absent: 'process.env' },
} as const satisfies Schema<HubOptions>;

/** @throws HubError BAD_OPTION */
export const assertHubOptions = (where: string, options: HubOptions): void =>
  checkOptions(where, options, hubSchema, badOption);
