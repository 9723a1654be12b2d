import { type Cooperative, eachOf } from '@quern/core';
import type { Vocabulary } from './vocabulary.js';

/** The tokens of prompts for filling in the middle of a text (Bavarian et al. 2022). */
export interface FimTokens {
  /** Before the text that comes before the gap. */
  readonly prefix: number;
  /** Before the text that comes after the gap. */
  readonly suffix: number;
  /** Before the text in the gap: the last token of a prompt. */
  readonly middle: number;
  /** Before the name of a repository. */
  readonly repository?: number | undefined;
  /** Before the name of a file, and after the last token of another one. */
  readonly file?: number | undefined;
  /** After the text in the gap, in some models. */
  readonly pad?: number | undefined;
}

export type FimRole = keyof FimTokens;

/** Spellings in known model families: Qwen, StarCoder and Granite, SantaCoder, DeepSeek, CodeLlama, GLM, Falcon. */
const spellings = {
  prefix: [
    '<|fim_prefix|>',
    '<fim_prefix>',
    '<fim-prefix>',
    '<｜fim▁begin｜>',
    '▁<PRE>',
    '<PRE>',
    '<|code_prefix|>',
    '<|prefix|>',
  ],
  suffix: [
    '<|fim_suffix|>',
    '<fim_suffix>',
    '<fim-suffix>',
    '<｜fim▁hole｜>',
    '▁<SUF>',
    '<SUF>',
    '<|code_suffix|>',
    '<|suffix|>',
  ],
  middle: [
    '<|fim_middle|>',
    '<fim_middle>',
    '<fim-middle>',
    '<｜fim▁end｜>',
    '▁<MID>',
    '<MID>',
    '<|code_middle|>',
    '<|middle|>',
  ],
  repository: ['<|repo_name|>', '<|fim_repo|>', '<repo_name>', '<reponame>', '<fim-repo>', '<REPO>'],
  file: ['<|file_sep|>', '<file_sep>'],
  pad: ['<|fim_pad|>', '<fim_pad>', '<fim-pad>'],
} as const satisfies Record<FimRole, readonly string[]>;

const roles = Object.keys(spellings) as FimRole[];

/**
 * The tokens of a vocabulary for filling in the middle; undefined where one of the first three is missing.
 * @param declared what the model's file says
 */
export function* fimTokensOf(
  vocabulary: Vocabulary,
  declared: Partial<FimTokens> = {},
): Cooperative<FimTokens | undefined> {
  const wanted: ReadonlySet<string> = new Set(Object.values(spellings).flat());
  const ids = new Map<string, number>();
  yield* eachOf(vocabulary.spellings, (spelling, id) => {
    if (wanted.has(spelling) && !ids.has(spelling)) ids.set(spelling, id);
  });
  const found = roles.flatMap((role) => {
    const spelling = spellings[role].find((each) => ids.has(each));
    const id = declared[role] ?? (spelling === undefined ? undefined : ids.get(spelling));
    return id === undefined ? [] : [[role, id] as const];
  });
  const { prefix, suffix, middle, ...others }: Partial<FimTokens> = Object.fromEntries(found);
  if (prefix === undefined || suffix === undefined || middle === undefined) return undefined;
  return { prefix, suffix, middle, ...others };
}

/** Tokens that end the text in the gap: another file, another repository, padding. As in llama.cpp. */
export const endsOfFim = (fim: FimTokens | undefined): readonly number[] =>
  [fim?.pad, fim?.repository, fim?.file].filter((id) => id !== undefined);
