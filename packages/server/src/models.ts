import type { SpeculateOptions } from '@quern/runtime';
import type { Call, ServerContext, WaitForm } from './context.js';
import type { Kinds, ModelKindName } from './kinds.js';
import { type ChosenModel, chosenModel } from './offer.js';

/** A model in use, and the name that answers give it. */
export interface NamedModel<Kind extends ModelKindName> extends Omit<ChosenModel, 'pooled'> {
  readonly model: Kinds[Kind];
  /** How drafts are made for free text. */
  readonly speculate?: SpeculateOptions | undefined;
  /** Milliseconds that the request waited until the model was loaded; 0: it was there. */
  readonly waitMs: number;
  /** How long the model stays once the request has ended, in milliseconds, if no other request comes. */
  keepFor(idleMs: number): void;
}

/** What routes read of a request to find its model. */
export interface NamesModel {
  readonly model?: string | undefined;
  readonly stream?: boolean | null | undefined;
}

/** The model for a text that a request names. Rejects as `modelFor`. */
export const generatorFor = async (
  context: ServerContext,
  call: Call,
  body: NamesModel,
  form?: WaitForm,
): Promise<NamedModel<'generation'>> => ({
  ...(await modelFor(context, call, 'generation', body, form)),
  speculate: context.options.speculate,
});

/**
 * The model that a request names, once it is loaded; it stays loaded until the request has ended. Without a name: the only
 * model of this kind. Rejects with ApiError as `chosenModel`, and with PoolError where the model cannot be loaded.
 * @param form how the response is written, if the wait is long
 */
export async function modelFor<Kind extends ModelKindName>(
  { offer }: ServerContext,
  call: Call,
  kind: Kind,
  { model: name, stream }: NamesModel,
  form: WaitForm = stream ? 'events' : 'json',
): Promise<NamedModel<Kind>> {
  const { pooled, ...names } = chosenModel(offer, kind, name);
  const isThere = pooled.state === 'loaded';
  const begin = performance.now();
  const lease = await call.waitFor(offer.pool.acquire(pooled.name, { signal: call.signal }), form);
  call.hold(lease);
  const waitMs = isThere ? 0 : performance.now() - begin;
  return { ...names, model: lease.model as Kinds[Kind], waitMs, keepFor: lease.keepFor };
}
