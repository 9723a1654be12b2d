import type { SpeculateOptions } from '@quern/runtime';
import type { ServedModels } from './models.js';

/** Receives one line of the log: a plain object, ready for JSON. */
export type Log = (entry: Readonly<Record<string, unknown>>) => void;

export interface HandlerOptions {
  /** The models, by the names that clients use. The caller disposes them. */
  readonly models: ServedModels;
  /** Keys that clients must send; default: none is needed. */
  readonly apiKeys?: readonly string[] | undefined;
  /** Origins that browsers may call from; '*': all. Default: only pages of this server. */
  readonly cors?: string | readonly string[] | undefined;
  /** Most bytes of a request's body; default 4 MiB, of audio 64 MiB. */
  readonly bodyBytes?: number | undefined;
  readonly audioBytes?: number | undefined;
  /** Longest time of a request in milliseconds; default 10 minutes. */
  readonly requestMs?: number | undefined;
  /** Most requests at a time; further ones get 429. Default 1024. */
  readonly requests?: number | undefined;
  /**
   * Clients may load and unload LoRA adapters from this folder (`/v1/load_lora_adapter`, `/v1/unload_lora_adapter`).
   * Default: they may not.
   */
  readonly adapterFolder?: string | undefined;
  /**
   * Drafts for the texts of all requests, where they are possible: not where a schema, a tool that must be called or
   * log-probabilities are asked for. Default: none.
   */
  readonly speculate?: SpeculateOptions | undefined;
  /** Default: nothing is logged. */
  readonly log?: Log | undefined;
}

export interface ServeOptions extends HandlerOptions {
  /** Default 127.0.0.1: only this machine. */
  readonly host?: string | undefined;
  /** Default 8080; 0: any free port. */
  readonly port?: number | undefined;
  /** Most milliseconds that running requests have when the server closes; default 30 s. */
  readonly drainMs?: number | undefined;
}

export const defaults = {
  bodyBytes: 4 << 20,
  audioBytes: 64 << 20,
  requestMs: 600_000,
  requests: 1024,
  host: '127.0.0.1',
  port: 8080,
  drainMs: 30_000,
} as const;
