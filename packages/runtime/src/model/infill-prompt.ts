import { checkArgument, checkOptions, type Rule, rules, type Schema } from '@quern/core';
import { badArgument, badOption, RuntimeError } from '../error.js';
import type { FimTokens, Tokenizer } from '../tokenizer/index.js';
import { needRoom, needTokenizer, type PromptRules } from './prompt.js';

/** Another file of the repository, as context. */
export interface InfillFile {
  readonly name: string;
  readonly text: string;
}

/** Options of `infillTokens`. */
export interface InfillOptions {
  /** Other files, written before the text with the gap. Default: none. */
  readonly files?: readonly InfillFile[] | undefined;
  /** Name of the repository, beside `files`; default 'myproject', as in llama.cpp. */
  readonly repository?: string | undefined;
  /** Name of the file with the gap, beside `files`; default 'filename', as in llama.cpp. */
  readonly name?: string | undefined;
}

const file: Rule<InfillFile> = {
  must: 'an object with a name and a text',
  holds: (value): value is InfillFile =>
    rules.isObject(value) && typeof value.name === 'string' && typeof value.text === 'string',
};

/** What each option must be, and its default. */
export const infillSchema = {
  files: {
    ...rules.listOf('files, each with a name and a text', file),
    about: 'other files, written before the text with the gap',
    absent: 'none',
  },
  repository: { ...rules.text, about: 'name of the repository, beside files', byDefault: 'myproject' },
  name: { ...rules.text, about: 'name of the file with the gap, beside files', byDefault: 'filename' },
} as const satisfies Schema<InfillOptions>;

/** @throws RuntimeError NO_FIM */
function needFim({ fim }: Tokenizer, path: string): FimTokens {
  if (fim) return fim;
  throw new RuntimeError(
    'NO_FIM',
    `the vocabulary of ${path} has no tokens for filling in the middle of a text: use a model that was trained for it, as many code models are`,
  );
}

const bare = { addBos: false, addEos: false } as const;

/** What separates files where no token does, as in llama.cpp. */
const snippet = '\n\n--- snippet ---\n\n';

/**
 * The prompt for the text between `prefix` and `suffix`: [repository name, files] prefix, suffix, middle. No text becomes a
 * control token. With `files`: the format of repositories (Hui et al. 2024), where the vocabulary has the tokens.
 * @throws RuntimeError NO_FIM, NO_TOKENIZER, PROMPT_TOO_LONG, BAD_ARGUMENT, BAD_OPTION
 */
export async function infillPrompt(
  [prefix, suffix]: readonly [prefix: string, suffix: string],
  options: InfillOptions,
  path: string,
  { tokenizer: found, context }: PromptRules,
): Promise<readonly number[]> {
  checkArgument('infillTokens', 'prefix', prefix, rules.text, badArgument);
  checkArgument('infillTokens', 'suffix', suffix, rules.text, badArgument);
  checkOptions('infillTokens', options, infillSchema, badOption);
  const tokenizer = needTokenizer(found);
  const fim = needFim(tokenizer, path);
  const start = tokenizer.encode('', { addEos: false });
  const before = await filesBefore(tokenizer, fim, options);
  const left = await tokenizer.encodeInTurns(prefix, bare);
  const right = await continued(tokenizer, suffix);
  const ids = [start, before, [fim.prefix], left, [fim.suffix], right, [fim.middle]].flat();
  needRoom(ids.length, context);
  return ids;
}

async function filesBefore(
  tokenizer: Tokenizer,
  fim: FimTokens,
  { files = [], repository = 'myproject', name = 'filename' }: InfillOptions,
): Promise<readonly number[]> {
  if (files.length === 0) return [];
  const encode = (text: string) => tokenizer.encodeInTurns(text, bare);
  const { file: separator } = fim;
  const lists: (readonly number[])[] = [];
  if (fim.repository !== undefined) lists.push([fim.repository], await encode(`${repository}\n`));
  for (const each of files)
    if (separator === undefined) lists.push(await encode(`${snippet}${each.text}`));
    else lists.push([separator], await encode(`${each.name}\n${each.text}`));
  if (separator !== undefined) lists.push([separator], await encode(`${name}\n`));
  return lists.flat();
}

/** The tokens of a text that goes on in the middle of another one: without the space that SentencePiece adds. */
async function continued(tokenizer: Tokenizer, text: string): Promise<readonly number[]> {
  const ids = await tokenizer.encodeInTurns(tokenizer.addSpacePrefix ? `\n${text}` : text, bare);
  if (!tokenizer.addSpacePrefix) return ids;
  const line = tokenizer.encode('\n', bare);
  return line.every((id, i) => ids[i] === id) ? ids.slice(line.length) : tokenizer.encodeInTurns(text, bare);
}
