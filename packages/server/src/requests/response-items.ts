import * as z from 'zod';
import { decodeThoughts } from './encrypted-content.js';

const unread = z.unknown().optional();
const id = z.string().nullish();

/** What of an item or part is not read, under its own type. */
const other = z.strictObject({ type: z.literal('other'), name: z.string(), raw: z.looseObject({}) });

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Wraps values of types that are not read, so that a conversation may have them. */
const orOther = (types: ReadonlySet<string>) => (value: unknown) =>
  isObject(value) && typeof value.type === 'string' && !types.has(value.type)
    ? { type: 'other', name: value.type, raw: value }
    : value;

const texts = ['input_text', 'output_text', 'text', 'reasoning_text', 'summary_text'] as const;

const textPart = z.strictObject({
  type: z.enum(texts),
  text: z.string(),
  annotations: unread,
  logprobs: unread,
  prompt_cache_breakpoint: unread,
});

const refusalPart = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });

const part = z.preprocess(
  orOther(new Set([...texts, 'refusal'])),
  z.discriminatedUnion('type', [textPart, refusalPart, other]),
);

const content = z.union([z.string(), z.array(part)]);

const message = z.strictObject({
  type: z.literal('message'),
  id,
  status: unread,
  phase: unread,
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content,
});

const callFields = { id, call_id: z.string(), name: z.string(), namespace: z.string().nullish() };

const functionCall = z.strictObject({
  ...callFields,
  type: z.literal('function_call'),
  arguments: z.string(),
  status: unread,
  caller: unread,
});

const customCall = z.strictObject({
  ...callFields,
  type: z.literal('custom_tool_call'),
  input: z.string(),
  status: unread,
  caller: unread,
});

const callOutput = z.strictObject({
  type: z.enum(['function_call_output', 'custom_tool_call_output']),
  id,
  call_id: z.string(),
  name: unread,
  output: content,
  status: unread,
  caller: unread,
});

const reasoning = z.strictObject({
  type: z.literal('reasoning'),
  id,
  summary: z.array(part).nullish(),
  content: z.array(part).nullish(),
  encrypted_content: z.string().nullish(),
  status: unread,
});

const reference = z.strictObject({ type: z.literal('item_reference'), id: z.string() });

const known = [message, functionCall, customCall, callOutput, reasoning, reference] as const;
const knownTypes = new Set<string>(
  known.flatMap(({ shape: { type } }) => ('options' in type ? type.options : [...type.values])),
);
const orOtherItem = orOther(knownTypes);

/** Messages and references may lack their type. */
function withType(item: unknown): unknown {
  if (!isObject(item) || (item.type !== undefined && item.type !== null)) return orOtherItem(item);
  const isReference = item.role === undefined && typeof item.id === 'string';
  return { ...item, type: isReference ? 'item_reference' : 'message' };
}

/** An item of a conversation. Types that are not read are wrapped: see `shownItem`. */
export const item = z.preprocess(withType, z.discriminatedUnion('type', [...known, other]));

export type Item = z.output<typeof item>;
export type Content = z.output<typeof content>;
type Part = Exclude<Content, string>[number];
export type OtherItem = z.output<typeof other>;

const shownPart = (each: Part): object => (each.type === 'other' ? each.raw : each);

/** A text as a message of the user. */
export const userMessage = (text: string): Item => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
});

export const idOfItem = (each: Item): unknown => (each.type === 'other' ? each.raw.id : each.id);

/** An item as a client sees it again. */
export function shownItem(each: Item): object {
  if (each.type === 'other') return each.raw;
  if (each.type === 'message') {
    const type = each.role === 'assistant' ? 'output_text' : 'input_text';
    const parts = typeof each.content === 'string' ? [{ type, text: each.content }] : each.content;
    return {
      ...each,
      status: each.status ?? 'completed',
      content: parts.map((one) => shownPart(one as Part)),
    };
  }
  return 'output' in each && typeof each.output !== 'string'
    ? { ...each, output: each.output.map(shownPart) }
    : each;
}

/** What stands for a part that the model cannot read. */
function placeholder({ name, raw }: OtherItem): string {
  const kind = name.replace(/^(input|output)_/, '');
  const file = typeof raw.filename === 'string' ? ` ${JSON.stringify(raw.filename)}` : '';
  return `[${kind}${file} left out: this model reads text only]`;
}

function textOfPart(each: Part): string {
  if (each.type === 'other') return placeholder(each);
  return each.type === 'refusal' ? each.refusal : each.text;
}

export const textOf = (parts: Content, separator = ''): string =>
  typeof parts === 'string' ? parts : parts.map(textOfPart).join(separator);

type Reasoning = Extract<Item, { readonly type: 'reasoning' }>;

/** The thoughts of an item: as text, as this server's `encrypted_content`, or their summary. */
export function thoughtsOf({ content, summary, encrypted_content: encoded }: Reasoning): string {
  if (content?.length) return textOf(content, '\n\n');
  return (encoded ? decodeThoughts(encoded) : undefined) ?? textOf(summary ?? [], '\n\n');
}

/** Whether the thoughts are in a form of another server. */
export const isForeign = ({ content, encrypted_content: encoded }: Reasoning): boolean =>
  Boolean(encoded) && !content?.length && decodeThoughts(encoded!) === undefined;

/** The type of the first part that is no text. */
export const unreadPart = (parts: Content): string | undefined =>
  typeof parts === 'string' ? undefined : parts.find((each) => each.type === 'other')?.name;
