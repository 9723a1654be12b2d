import { parentPort } from 'node:worker_threads';
import { type DenseWeight, referenceDriver } from '@quern/backend-reference';
import { QuernError } from '@quern/core';
import type { Answer, Ran, Request, Told } from '../protocol.js';
import { DeviceChain } from './device-chain.js';
import { DeviceMemory } from './device-memory.js';
import { DevicePlan, forgetRuns } from './device-plan.js';

let state: Int32Array = new Int32Array(2);
let pace = 0;
let memory = new DeviceMemory();
const captured = new Map<number, { readonly plan: DevicePlan; readonly chain: DeviceChain | undefined }>();
const { loadWeight } = referenceDriver();

const chainOf = (id: number): DeviceChain => captured.get(id)!.chain!;

function open(request: Request & { readonly kind: 'open' }): void {
  ({ state, pace } = request);
  memory = new DeviceMemory();
  captured.clear();
  forgetRuns();
}

async function load({ id, source }: Request & { readonly kind: 'load' }): Promise<number> {
  const weight = (await loadWeight(source)) as DenseWeight;
  memory.keep(id, { weight, shape: source.shape, format: source.format });
  return weight.byteLength;
}

function replay({ id, dirty, control }: Request & { readonly kind: 'replay' }): Ran {
  const { plan } = captured.get(id)!;
  plan.upload(dirty);
  return plan.run(control, state);
}

function replayChain(ticket: number, request: Request & { readonly kind: 'chain' }): Ran {
  captured.get(request.id)!.plan.upload(request.dirty);
  const tell = (told: Told) => parentPort!.postMessage({ ticket, told } satisfies Answer);
  const { id, limits, stops, control, tells } = request;
  return chainOf(id).run(limits, stops, control, state, tells ? tell : undefined);
}

function capture({ id, plan: message, chain }: Request & { readonly kind: 'capture' }): void {
  const plan = new DevicePlan(message, memory, pace);
  captured.set(id, { plan, chain: chain && new DeviceChain(plan, chain) });
}

function execute({ plan: message, inputs, control }: Request & { readonly kind: 'execute' }): Ran {
  const plan = new DevicePlan(message, memory, pace);
  plan.upload([{ from: 0, bytes: inputs }]);
  return plan.run(control, state);
}

function handle(ticket: number, request: Request): unknown {
  switch (request.kind) {
    case 'open':
      return open(request);
    case 'allocate':
      return memory.allocate(request.id, request.byteLength, request.spec);
    case 'free':
      return memory.free(request.id);
    case 'write':
      return memory.write(request.id, request.piece);
    case 'read':
      return memory.read(request.id, request.range);
    case 'load':
      return load(request);
    case 'unload':
      return memory.unload(request.id);
    case 'execute':
      return execute(request);
    case 'capture':
      return capture(request);
    case 'replay':
      return replay(request);
    case 'chain':
      return replayChain(ticket, request);
    case 'release':
      return captured.delete(request.id);
  }
}

async function answer(ticket: number, request: Request): Promise<Answer> {
  try {
    const result = handle(ticket, request);
    return { ticket, result: result instanceof Promise ? await result : result };
  } catch (error) {
    const code = error instanceof QuernError ? error.code : 'DEVICE_FAILED';
    return { ticket, code, message: error instanceof Error ? error.message : String(error) };
  }
}

parentPort!.on('message', async ([ticket, request]: readonly [number, Request]) => {
  parentPort!.postMessage(await answer(ticket, request));
});
