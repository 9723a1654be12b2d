import { join } from 'node:path';
import { readRegularFile } from '@quern/quant';
import type { Tokenizer } from '../tokenizer/index.js';
import { BUILTIN_TEMPLATES, type BuiltinTemplate } from './builtin-templates.js';
import { ChatTemplate, type TemplateTokens } from './chat-template.js';
import { ChatTemplateError } from './error.js';

export interface LoadTemplateOptions {
  /** Use this template instead of the model's own. */
  builtin?: BuiltinTemplate;
  /** Which of the model's templates, where it has several ("tool_use"); default "default". */
  name?: string;
}

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
  const { name = 'default' } = options;
  const key = name === 'default' ? 'tokenizer.chat_template' : `tokenizer.chat_template.${name}`;
  const source = metadata.get(key);
  return choose(typeof source === 'string' ? source : undefined, tokenizer, options, `no ${key} in the file`);
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
  const source = options.builtin ? undefined : await folderTemplate(folder, options.name ?? 'default');
  const missing = `${folder} has neither chat_template.jinja nor a chat_template in tokenizer_config.json`;
  return choose(source, tokenizer, options, missing);
}

function choose(
  source: string | undefined,
  tokenizer: Tokenizer,
  { builtin }: LoadTemplateOptions,
  missing: string,
): ChatTemplate {
  if (builtin !== undefined) return ChatTemplate.builtin(builtin, tokensOf(tokenizer));
  if (source !== undefined) return ChatTemplate.from(source, tokensOf(tokenizer));
  const names = Object.keys(BUILTIN_TEMPLATES).join(', ');
  throw new ChatTemplateError(
    'NO_TEMPLATE',
    `the model has no chat template (${missing}), so it may not be a chat model: generate from plain text, or choose a builtin template (${names})`,
  );
}

function tokensOf(tokenizer: Tokenizer): TemplateTokens {
  const { bos, eos } = tokenizer;
  return {
    ...(bos !== undefined && { bosToken: tokenizer.tokenText(bos) }),
    ...(eos !== undefined && { eosToken: tokenizer.tokenText(eos) }),
  };
}

/** The chat template of a Hugging Face model folder as text, or undefined. @throws ChatTemplateError BAD_TEMPLATE */
export const templateOfFolder = (folder: string): Promise<string | undefined> =>
  folderTemplate(folder, 'default');

async function folderTemplate(folder: string, name: string): Promise<string | undefined> {
  const file =
    name === 'default' ? 'chat_template.jinja' : join('additional_chat_templates', `${name}.jinja`);
  const source = await readIfThere(join(folder, file));
  if (source !== undefined) return source;
  const config = await readIfThere(join(folder, 'tokenizer_config.json'));
  return config === undefined ? undefined : configTemplate(parseConfig(folder, config), name);
}

/** A string, or a list of {name, template}. */
function configTemplate(config: unknown, name: string): string | undefined {
  if (!isObject(config)) return undefined;
  const templates = config.chat_template;
  if (typeof templates === 'string') return name === 'default' ? templates : undefined;
  if (!Array.isArray(templates)) return undefined;
  const entry = templates.filter(isObject).find((each) => each.name === name);
  return typeof entry?.template === 'string' ? entry.template : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

function parseConfig(folder: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ChatTemplateError('BAD_TEMPLATE', `${join(folder, 'tokenizer_config.json')} is not JSON`, {
      cause,
    });
  }
}

const MOST_BYTES = 512 * 2 ** 20; // tokenizer_config.json may list every added token

async function readIfThere(path: string): Promise<string | undefined> {
  return readRegularFile(path, MOST_BYTES).catch((cause: unknown) => {
    throw new ChatTemplateError('BAD_TEMPLATE', `${path} cannot be read`, { cause });
  });
}
