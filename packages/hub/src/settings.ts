import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { badOption } from './error.js';
import type { Environment, HubOptions } from './options.js';

/** Options with the values of the environment and the defaults. */
export interface Settings {
  readonly cacheDir: string;
  /** Without '/' at its end. */
  readonly endpoint: string;
  readonly token: string | undefined;
  readonly offline: boolean;
  readonly connections: number;
  readonly partBytes: number;
  readonly attempts: number;
  readonly retryDelayMs: number;
  readonly idleTimeoutMs: number;
  readonly env: Environment;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: HubOptions['onProgress'];
  readonly onNotice: HubOptions['onNotice'];
}

const mebi = 2 ** 20;

/** @throws HubError BAD_OPTION */
export function settingsOf(options: HubOptions): Settings {
  const env = options.env ?? process.env;
  return {
    cacheDir: resolve(options.cacheDir ?? defaultCacheDir(env)),
    endpoint: endpointOf(options.endpoint ?? (env.HF_ENDPOINT || 'https://huggingface.co')),
    token: tokenOf(options.token, env),
    offline: options.offline ?? isSet(env.HF_HUB_OFFLINE),
    connections: options.connections ?? 4,
    partBytes: options.partBytes ?? 16 * mebi,
    attempts: options.attempts ?? 5,
    retryDelayMs: options.retryDelayMs ?? 500,
    idleTimeoutMs: options.idleTimeoutMs ?? 30_000,
    env,
    signal: options.signal,
    onProgress: options.onProgress,
    onNotice: options.onNotice,
  };
}

/** As Hugging Face's tools read flags. */
const isSet = (value: string | undefined): boolean => /^(1|on|yes|true)$/i.test(value ?? '');

const expanded = (path: string): string => path.replace(/^~(?=$|[/\\])/, () => homedir());

/** `HF_HOME`, else `XDG_CACHE_HOME`/huggingface, else ~/.cache/huggingface. */
const homeOf = (env: Environment): string =>
  expanded(env.HF_HOME || join(env.XDG_CACHE_HOME || '~/.cache', 'huggingface'));

/** The cache folder of Hugging Face's tools. */
export const defaultCacheDir = (env: Environment): string =>
  expanded(env.HF_HUB_CACHE || env.HUGGINGFACE_HUB_CACHE || join(homeOf(env), 'hub'));

function endpointOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw badOption(
      `the endpoint (HF_ENDPOINT) is ${JSON.stringify(text)}; it must be an http or https URL, as https://huggingface.co`,
      'endpoint',
    );
  if (url.username || url.password || url.search || url.hash)
    throw badOption(
      'the endpoint (HF_ENDPOINT) has a user, a password, a query or a hash; it must be a host with an optional path',
      'endpoint',
    );
  return url.href.replace(/\/+$/, '');
}

/** The given token, else HF_TOKEN, else the file that `hf auth login` writes. `false`: none. */
function tokenOf(given: string | false | undefined, env: Environment): string | undefined {
  if (given === false) return undefined;
  const implicit = isSet(env.HF_HUB_DISABLE_IMPLICIT_TOKEN)
    ? undefined
    : env.HF_TOKEN ||
      env.HUGGING_FACE_HUB_TOKEN ||
      tokenInFile(expanded(env.HF_TOKEN_PATH || join(homeOf(env), 'token')));
  const token = (given ?? implicit)?.trim();
  if (token === undefined || token === '') return undefined;
  if (!/^[\x21-\x7e]+$/.test(token))
    throw badOption(
      'the token (HF_TOKEN) has a space or a character beyond ASCII: copy it again from https://huggingface.co/settings/tokens',
      'token',
    );
  return token;
}

function tokenInFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // no file, or not ours to read: public repositories need no token
  }
}
