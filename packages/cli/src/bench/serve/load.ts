import { type Length, nextArrival, randomOf, textOf } from './draw.js';
import { type Outcome, type Planned, request, type Target } from './request.js';

export interface LoadOptions {
  readonly requests: number;
  /** Arrivals per second, as a Poisson process: an open loop. Undefined: `clients` that ask again at once. */
  readonly rate: number | undefined;
  readonly clients: number;
  readonly promptTokens: Length;
  readonly outputTokens: Length;
  /** Tokens at the beginning that all prompts share. */
  readonly sharedTokens: number;
  /** Share of clients that leave at a random time, and of requests that are malformed. */
  readonly disconnect: number;
  readonly malformed: number;
  readonly seed: number;
}

/** A load's result. */
export interface LoadResult {
  readonly outcomes: readonly Outcome[];
  readonly seconds: number;
}

/** Longest stay of a client that leaves, in milliseconds. */
const longestStay = 2000;

/** Sends a load. `onEnd`: called after each request. */
export async function sendLoad(
  target: Target,
  options: LoadOptions,
  onEnd: (done: number) => void,
  signal: AbortSignal,
): Promise<LoadResult> {
  const random = randomOf(options.seed);
  const shared = options.sharedTokens > 0 ? `${textOf(options.sharedTokens, random)} ` : '';
  const plans = Array.from({ length: options.requests }, () => plan(options, shared, random));
  const outcomes: Outcome[] = [];
  const send = async (planned: Planned, arrival: number): Promise<void> => {
    outcomes.push(await request(target, planned, arrival));
    onEnd(outcomes.length);
  };
  const begin = performance.now();
  await (options.rate === undefined
    ? closedLoop(plans, options.clients, send, signal)
    : openLoop(plans, options.rate, random, send, signal));
  return { outcomes, seconds: (performance.now() - begin) / 1000 };
}

function plan(options: LoadOptions, shared: string, random: () => number): Planned {
  const own = textOf(options.promptTokens(random), random);
  const tokens = options.outputTokens(random);
  const leaves = random() < options.disconnect;
  const leavesAfter = random() * longestStay;
  const malformed = random() < options.malformed;
  return { prompt: shared + own, tokens, leavesAfter: leaves ? leavesAfter : undefined, malformed };
}

type Send = (planned: Planned, arrival: number) => Promise<void>;

/** Every client sends its next request when the one before has ended. */
async function closedLoop(
  plans: readonly Planned[],
  clients: number,
  send: Send,
  signal: AbortSignal,
): Promise<void> {
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < plans.length && !signal.aborted) await send(plans[next++]!, performance.now());
  };
  await Promise.all(Array.from({ length: clients }, client));
}

/** Requests arrive whether or not earlier ones have ended. A late start counts from the planned arrival. */
async function openLoop(
  plans: readonly Planned[],
  rate: number,
  random: () => number,
  send: Send,
  signal: AbortSignal,
): Promise<void> {
  const running: Promise<void>[] = [];
  let arrival = performance.now();
  for (const planned of plans) {
    arrival += nextArrival(rate, random);
    const wait = arrival - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    if (signal.aborted) break;
    running.push(send(planned, arrival));
  }
  await Promise.all(running);
}
