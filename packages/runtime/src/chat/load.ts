import { join } from 'node:path';
import { checkArgument, checkOptions, type Rule, rules, type Schema } from '@quern/core';
import { readRegularFile } from '@quern/quant';
import type { Tokenizer } from '../tokenizer/index.js';
import { BUILTIN_TEMPLATES, type BuiltinTemplate } from './builtin-templates.js';
import { ChatTemplate, type TemplateTokens, tokenizerRule } from './chat-template.js';
import { badArgument, badOption, ChatTemplateError } from './error.js';
import { tokensOfConfig, tokensOfGguf } from './special-tokens.js';

export interface LoadTemplateOptions {
  /** Builtin template in place of the model's own. */
  builtin?: BuiltinTemplate | undefined;
  /** Jinja source in place of the model's own template. */
  source?: string | undefined;
  /** Name of the template, for models with several ("tool_use"); default "default". */
  name?: string | undefined;
}

/** What each option must be, and its default. */
export const loadTemplateSchema = {
  builtin: {
    ...rules.text,
    must: 'the name of a builtin template',
    holds: (value): value is BuiltinTemplate => typeof value === 'string',
    about: "builtin template in place of the model's own",
    absent: "the model's own",
  },
  source: {
    ...rules.text,
    about: "Jinja source in place of the model's own template",
    absent: "the model's own",
  },
  name: {
    ...rules.text,
    about: "name of the template, for models with several ('tool_use')",
    byDefault: 'default',
  },
} as const satisfies Schema<LoadTemplateOptions>;

const readMetadata: Rule<ReadonlyMap<string, unknown>> = {
  must: 'the metadata of a GGUF file: a Map',
  holds: (value): value is ReadonlyMap<string, unknown> =>
    rules.isObject(value) && typeof value.get === 'function',
};

/**
 * The chat template of a GGUF file, from its metadata.
 *
 * @throws ChatTemplateError NO_TEMPLATE, UNKNOWN_BUILTIN or BAD_TEMPLATE
 */
export function chatTemplateFromGguf(
  metadata: ReadonlyMap<string, unknown>,
  tokenizer: Tokenizer,
  options: LoadTemplateOptions = {},
): ChatTemplate {
  checkArgument('chatTemplateFromGguf', 'metadata', metadata, readMetadata, badArgument);
  checkArgument('chatTemplateFromGguf', 'tokenizer', tokenizer, tokenizerRule, badArgument);
  checkOptions('chatTemplateFromGguf', options, loadTemplateSchema, badOption);
  const { name = 'default' } = options;
  const key = name === 'default' ? 'tokenizer.chat_template' : `tokenizer.chat_template.${name}`;
  const source = options.source ?? metadata.get(key);
  const found = typeof source === 'string' ? source : undefined;
  return choose(found, tokensOfGguf(metadata, tokenizer), options, `no ${key} in the file`);
}

/**
 * The chat template of a Hugging Face model folder: chat_template.jinja, or `chat_template` in tokenizer_config.json.
 *
 * @throws ChatTemplateError NO_TEMPLATE, UNKNOWN_BUILTIN or BAD_TEMPLATE
 */
export async function chatTemplateFromHuggingFace(
  folder: string,
  tokenizer: Tokenizer,
  options: LoadTemplateOptions = {},
): Promise<ChatTemplate> {
  checkArgument('chatTemplateFromHuggingFace', 'folder', folder, rules.path, badArgument);
  checkArgument('chatTemplateFromHuggingFace', 'tokenizer', tokenizer, tokenizerRule, badArgument);
  checkOptions('chatTemplateFromHuggingFace', options, loadTemplateSchema, badOption);
  const source =
    options.source ?? (options.builtin ? undefined : await folderTemplate(folder, options.name ?? 'default'));
  const missing = `${folder} has neither chat_template.jinja nor a chat_template in tokenizer_config.json`;
  const config = {
    ...(await readJson(folder, 'special_tokens_map.json')),
    ...(await readJson(folder, 'tokenizer_config.json')),
  };
  return choose(source, tokensOfConfig(config, tokenizer), options, missing);
}

function choose(
  source: string | undefined,
  tokens: TemplateTokens,
  { builtin }: LoadTemplateOptions,
  missing: string,
): ChatTemplate {
  if (builtin !== undefined) return ChatTemplate.builtin(builtin, tokens);
  if (source !== undefined) return ChatTemplate.from(source, tokens);
  const names = Object.keys(BUILTIN_TEMPLATES).join(', ');
  throw new ChatTemplateError(
    'NO_TEMPLATE',
    `the model has no chat template (${missing}), so it may not be a chat model: generate from plain text, or choose a builtin template (${names})`,
  );
}

/** The chat template of a Hugging Face model folder as text, or undefined. @throws ChatTemplateError BAD_TEMPLATE */
export const templateOfFolder = (folder: string): Promise<string | undefined> =>
  folderTemplate(folder, 'default');

async function folderTemplate(folder: string, name: string): Promise<string | undefined> {
  const file =
    name === 'default' ? 'chat_template.jinja' : join('additional_chat_templates', `${name}.jinja`);
  const source = await readIfThere(join(folder, file));
  if (source !== undefined) return source;
  return configTemplate(await readJson(folder, 'tokenizer_config.json'), name);
}

/** `field`: a string, or a list of {name, template}. */
function configTemplate(
  { chat_template: templates }: Readonly<Record<string, unknown>>,
  name: string,
): string | undefined {
  if (typeof templates === 'string') return name === 'default' ? templates : undefined;
  if (!Array.isArray(templates)) return undefined;
  const entry = templates.filter(isObject).find((each) => each.name === name);
  return typeof entry?.template === 'string' ? entry.template : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** A JSON file as an object; empty where the file does not exist. */
async function readJson(folder: string, name: string): Promise<Readonly<Record<string, unknown>>> {
  const path = join(folder, name);
  const text = await readIfThere(path);
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch (cause) {
    throw new ChatTemplateError('BAD_TEMPLATE', `${path} is not JSON`, { cause });
  }
}

const MOST_BYTES = 512 * 2 ** 20; // tokenizer_config.json may list every added token

async function readIfThere(path: string): Promise<string | undefined> {
  return readRegularFile(path, MOST_BYTES).catch((cause: unknown) => {
    throw new ChatTemplateError('BAD_TEMPLATE', `${path} cannot be read`, { cause });
  });
}
