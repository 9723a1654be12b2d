import type { ByteRange, KvSpec, PlanChain, WeightSource } from '@quern/core';

/** Bytes on their way to or from the device. */
export interface Piece {
  readonly from: number;
  readonly bytes: Uint8Array;
}

/** A plan as the device gets it. */
export interface PlanMessage {
  readonly words: Int32Array;
  /** `EncodedPlan.lifetimes`. */
  readonly lifetimes: Float64Array;
  readonly inputsBytes: number;
  readonly outputsBytes: number;
  /** Bytes of device memory that are free for it. */
  readonly free: number;
  readonly timed: boolean;
}

/** A chain without its memory of the host. */
export type ChainPlaces = Omit<PlanChain, 'results' | 'counts'> & { readonly most: number };

/** What the host asks of the device, in the order in which it is done. */
export type Request =
  /** First of all: nothing of the thread's earlier device remains. */
  | { readonly kind: 'open'; readonly state: Int32Array; readonly pace: number }
  | {
      readonly kind: 'allocate';
      readonly id: number;
      readonly byteLength: number;
      /** Of a cache. */
      readonly spec?: KvSpec;
    }
  | { readonly kind: 'free'; readonly id: number }
  | { readonly kind: 'write'; readonly id: number; readonly piece: Piece }
  | { readonly kind: 'read'; readonly id: number; readonly range: ByteRange }
  | { readonly kind: 'load'; readonly id: number; readonly source: WeightSource }
  | { readonly kind: 'unload'; readonly id: number }
  | {
      readonly kind: 'execute';
      readonly plan: PlanMessage;
      readonly inputs: Uint8Array;
      readonly control: Int32Array;
    }
  | {
      readonly kind: 'capture';
      readonly id: number;
      readonly plan: PlanMessage;
      readonly chain: ChainPlaces | undefined;
    }
  | {
      readonly kind: 'replay';
      readonly id: number;
      readonly dirty: readonly Piece[];
      readonly control: Int32Array;
    }
  | {
      readonly kind: 'chain';
      readonly id: number;
      readonly dirty: readonly Piece[];
      readonly control: Int32Array;
      readonly limits: Int32Array;
      readonly stops: Int32Array;
      /** Whether the host wants a message for each replay. */
      readonly tells: boolean;
    }
  | { readonly kind: 'release'; readonly id: number };

/** What a plan leaves. */
export interface Ran {
  readonly outputs: readonly Piece[];
  readonly fault: readonly [op: number, code: number] | undefined;
  readonly times: readonly number[] | undefined;
  /** Of a chain: its tokens, replay after replay, and the tokens of each row. */
  readonly tokens?: Int32Array;
  readonly counts?: Int32Array;
  /** When the device began and ended, in milliseconds of the machine's clock. */
  readonly span: readonly [begin: number, end: number];
  /** How often each kernel has run so far. */
  readonly runs: Readonly<Record<string, number>>;
}

/** A replay of a chain that goes on. */
export interface Told {
  /** Replays so far. */
  readonly done: number;
  /** [S] */
  readonly tokens: Int32Array;
  /** [S] */
  readonly counts: Int32Array;
}

/** The device's answer to request number `ticket`; each request has one, behind what is told of its chain. */
export type Answer = { readonly ticket: number } & (
  | { readonly told: Told }
  | { readonly result: unknown }
  | { readonly code: string; readonly message: string }
);
