import { type ChatMessage, stringifyJson } from '@quern/runtime';
import { badField } from '../errors.js';
import type { Block, BlockOf } from './anthropic-blocks.js';
import { type Notice, placeholder } from './unread.js';

/** A message of a request, and the prompt's first instructions. */
export interface Conversation {
  readonly system?: string | readonly { readonly text: string }[] | undefined;
  readonly messages: readonly AnthropicMessage[];
}

interface AnthropicMessage {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: string | readonly Block[];
}

type Readable = BlockOf<'text' | 'image' | 'document' | 'search_result'> | Reference;
type Reference = { readonly type: 'tool_reference'; readonly tool_name: string };

/** One line per block: templates put nothing between. */
const lines = (texts: readonly string[]): string => texts.join('\n');

/** What changes with every request of Claude Code: no text for a model, and the end of every shared prefix. */
const billing = /^x-anthropic-billing-header:[^\n]*(\n|$)/;

/**
 * The messages in OpenAI's form, as the templates know them. Turns of one role in a row are one, as in Anthropic's API.
 * @throws ApiError 400 for an image or a PDF in the user's last message
 */
export function chatMessages({ system, messages }: Conversation, notice: Notice): ChatMessage[] {
  needReadable(messages);
  const first = messages.findIndex(({ role }) => role !== 'system');
  const leading = messages.slice(0, first < 0 ? messages.length : first);
  const rules = [systemText(system, notice), ...leading.map(({ content }) => plain(content, notice))];
  const text = lines(rules.filter((each) => each !== ''));
  const others = messages.slice(leading.length).flatMap((message) => fromMessage(message, notice));
  return [...(text === '' ? [] : [{ role: 'system', content: text }]), ...joined(others)];
}

function systemText(system: Conversation['system'] = [], notice: Notice): string {
  const blocks = typeof system === 'string' ? [system] : system.map(({ text }) => text);
  const kept = blocks.map((text) => text.replace(billing, ''));
  if (kept.some((text, i) => text !== blocks[i])) notice('the billing line of the system prompt is left out');
  return lines(kept.filter((text) => text !== ''));
}

/** Blocks without a tool's as one text. */
const plain = (content: AnthropicMessage['content'], notice: Notice): string =>
  typeof content === 'string' ? content : lines(content.flatMap((each) => textsOf(each, notice)));

function fromMessage({ role, content }: AnthropicMessage, notice: Notice): ChatMessage[] {
  if (role === 'system') return [{ role: 'user', content: reminder(plain(content, notice)) }];
  if (typeof content === 'string') return [{ role, content }];
  return role === 'assistant' ? [fromAssistant(content, notice)] : fromUser(content, notice);
}

/** Templates take instructions at the start alone: later ones are text of the user, marked as Claude Code marks its own. */
const reminder = (text: string): string => `<system-reminder>\n${text}\n</system-reminder>`;

function fromUser(content: readonly Block[], notice: Notice): ChatMessage[] {
  const answers = content.filter(isOf('tool_result')).map((each) => ({
    role: 'tool',
    tool_call_id: each.tool_use_id,
    content: resultText(each, notice),
  }));
  const own = lines(content.flatMap((each) => textsOf(each, notice)));
  return own === '' && answers.length > 0 ? answers : [...answers, { role: 'user', content: own }];
}

function fromAssistant(content: readonly Block[], notice: Notice): ChatMessage {
  const calls = content.filter(isOf('tool_use'));
  const thoughts = content.filter(isOf('thinking')).map(({ thinking }) => thinking);
  return {
    role: 'assistant',
    content: content.flatMap((each) => textsOf(each, notice)).join(''),
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join('') }),
    ...(calls.length > 0 && { tool_calls: calls.map(toCall) }),
  };
}

const isOf =
  <Type extends Block['type']>(type: Type) =>
  (block: Block): block is BlockOf<Type> =>
    block.type === type;

const toCall = ({ id, name, input }: BlockOf<'tool_use'>) => ({
  id,
  type: 'function',
  function: { name, arguments: stringifyJson(input) ?? '{}' },
});

const resultText = ({ content }: BlockOf<'tool_result'>, notice: Notice): string =>
  typeof content === 'string' ? content : lines((content ?? []).map((each) => readableText(each, notice)));

/** What a block adds to the text of its message. */
function textsOf(block: Block, notice: Notice): readonly string[] {
  switch (block.type) {
    case 'text':
    case 'image':
    case 'document':
    case 'search_result':
      return [readableText(block, notice)];
    case 'compaction':
      return block.content ? [block.content] : [];
    case 'web_search_tool_result':
      return Array.isArray(block.content) ? block.content.map(({ title, url }) => `${title}: ${url}\n`) : [];
    case 'tool_use':
    case 'tool_result':
    case 'thinking':
      return [];
    default:
      notice(`blocks of the type ${block.type} are left out`);
      return [];
  }
}

function readableText(block: Readable, notice: Notice): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'tool_reference':
      return `The tool ${block.tool_name} is available.`;
    case 'search_result':
      return lines([`${block.title}: ${block.source}`, ...block.content.map(({ text }) => text)]);
    case 'document':
      return documentText(block, notice);
    case 'image':
      return placeholder('an image', notice);
  }
}

function documentText({ title, context, source }: BlockOf<'document'>, notice: Notice): string {
  return lines([title ?? '', context ?? '', sourceText(source, notice)].filter((text) => text !== ''));
}

function sourceText(source: BlockOf<'document'>['source'], notice: Notice): string {
  if (isUnreadable(source)) return placeholder('a file', notice);
  if (source.type === 'text') return source.data;
  const { content } = source;
  return typeof content === 'string' ? content : lines(content.map((each) => readableText(each, notice)));
}

type Source = BlockOf<'document'>['source'];

const isUnreadable = (source: Source): source is Extract<Source, { type: 'base64' | 'url' | 'file' }> =>
  source.type !== 'text' && source.type !== 'content';

/**
 * In the history a text stands for an image; what the user asks now would be answered without it.
 * @throws ApiError 400
 */
function needReadable(messages: readonly AnthropicMessage[]): void {
  const index = messages.findLastIndex(({ role }) => role === 'user');
  const content = messages[index]?.content ?? '';
  if (typeof content === 'string') return;
  for (const [at, block] of content.entries()) {
    const what = unreadable(block);
    if (what === undefined) continue;
    const param = `messages.${index}.content.${at}`;
    throw badField(
      param,
      `${param}: this model reads no ${what}: send its text instead`,
      'unsupported_content',
    );
  }
}

function unreadable(block: Block): string | undefined {
  if (block.type === 'image') return 'images';
  if (block.type !== 'document') return undefined;
  const { source } = block;
  if (isUnreadable(source)) return 'PDFs or files';
  const parts = source.type === 'content' && typeof source.content !== 'string' ? source.content : [];
  return parts.some(({ type }) => type === 'image') ? 'images' : undefined;
}

/** Neighbours of one role as one message; results of tools stay apart. */
function joined(messages: readonly ChatMessage[]): ChatMessage[] {
  const all: ChatMessage[] = [];
  for (const message of messages) {
    const before = all.at(-1);
    if (before?.role === message.role && message.role !== 'tool') all[all.length - 1] = both(before, message);
    else all.push(message);
  }
  return all;
}

function both(a: ChatMessage, b: ChatMessage): ChatMessage {
  const between = a.role === 'user' ? '\n' : '';
  const thoughts = `${a.reasoning_content ?? ''}${b.reasoning_content ?? ''}`;
  const calls = [...(a.tool_calls ?? []), ...(b.tool_calls ?? [])];
  return {
    role: a.role,
    content: `${a.content}${between}${b.content}`,
    ...(thoughts !== '' && { reasoning_content: thoughts }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}
