import type { Engine } from '../engine/engine.js';
import { RuntimeError } from '../error.js';
import type { Tokenizer } from '../tokenizer/index.js';

/** A model's vocabulary. */
export interface WithVocabulary {
  readonly path: string;
  readonly tokenizer: Tokenizer | undefined;
  readonly config: { readonly vocabulary: number };
}

/** The draft model's services for speculation. */
export interface DraftSource {
  readonly engine: Engine;
  readonly context: number;
  /** Cost of one of its tokens, in tokens of the target model. */
  readonly cost: number;
  /** See `LoadOptions.deterministic`. */
  readonly deterministic: boolean;
}

/** The target of a draft model. */
export interface DraftTarget extends WithVocabulary {
  /** Bytes of the weights. */
  readonly weightBytes: number;
}

/** A model that can draft, from `loadModel`. */
export interface DraftingModel extends WithVocabulary {
  draftFor(target: DraftTarget): DraftSource;
}

/** Pairs already found equal: a comparison takes milliseconds. */
const same = new WeakMap<Tokenizer, WeakSet<Tokenizer>>();

/** Token ids must mean the same in both models. @throws RuntimeError BAD_OPTION */
export function needSameVocabulary(draft: WithVocabulary, target: WithVocabulary): void {
  const difference = sizes(draft, target) ?? tokens(draft.tokenizer, target.tokenizer);
  if (!difference) return;
  throw new RuntimeError(
    'BAD_OPTION',
    `${draft.path} cannot draft for ${target.path}: a draft model must have the same vocabulary, but ${difference}`,
  );
}

function sizes(draft: WithVocabulary, target: WithVocabulary): string | undefined {
  const [own, other] = [draft.config.vocabulary, target.config.vocabulary];
  return own === other ? undefined : `it has ${own} tokens, and the other ${other}`;
}

/** The first difference, if any. Models without a vocabulary are not checked. */
function tokens(draft: Tokenizer | undefined, target: Tokenizer | undefined): string | undefined {
  if (!draft && !target) return undefined;
  if (!draft || !target) return `only ${draft ? 'the draft' : 'the other'} model's file has one`;
  if (draft === target || same.get(target)?.has(draft)) return undefined;
  if (draft.vocabSize !== target.vocabSize)
    return `they spell ${draft.vocabSize} and ${target.vocabSize} tokens`;
  for (let id = 0; id < target.vocabSize; id++)
    if (draft.tokenText(id) !== target.tokenText(id))
      return `token ${id} is ${JSON.stringify(draft.tokenText(id))}, and ${JSON.stringify(target.tokenText(id))} in the other`;
  same.set(target, (same.get(target) ?? new WeakSet()).add(draft));
  return undefined;
}
