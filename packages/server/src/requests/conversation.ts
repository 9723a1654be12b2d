import type { ChatMessage, MessageCall } from '@quern/runtime';
import { stringifyJson } from '@quern/runtime';
import { badField } from '../errors.js';
import {
  type Content,
  type Item,
  isForeign,
  type OtherItem,
  textOf,
  thoughtsOf,
  unreadPart,
} from './response-items.js';
import { shownName } from './response-tools.js';
import { needArguments } from './tools.js';

/** The items of an answer and of the chat before it, as the templates know them. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
  /** Types of items that no template has a place for, and of parts that are no text. */
  readonly leftOut: ReadonlySet<string>;
}

/** A conversation in the form of chat completions; the items of one answer are one message. */
export function conversationOf(items: readonly Item[], instructions: string | undefined): Conversation {
  const builder = new Builder();
  if (instructions !== undefined) builder.add({ type: 'message', role: 'system', content: instructions });
  for (const item of items) builder.add(item);
  return builder.end();
}

/**
 * @throws ApiError 400 for arguments of calls that are no object, for thoughts that only another server can read and that
 * have no summary, and for a question that has more than text. Images and files of earlier messages are left out: the
 * conversation goes on without them.
 */
export function needReadable(items: readonly Item[]): void {
  for (const [index, item] of items.entries()) {
    if (item.type === 'function_call') needArguments(item.arguments, `input.${index}.arguments`);
    if (item.type === 'reasoning' && isForeign(item) && thoughtsOf(item) === '') throw unreadable(index);
  }
  const last = items.findLastIndex((item) => item.type === 'message' && item.role === 'user');
  const question = items[last];
  const type = question?.type === 'message' ? unreadPart(question.content) : undefined;
  if (type === undefined) return;
  const param = `input.${last}.content`;
  throw badField(
    param,
    `${param} has a part of the type ${type}: this model reads no images, sounds or files`,
  );
}

const unreadable = (index: number) =>
  badField(
    `input.${index}.encrypted_content`,
    `input.${index}.encrypted_content is not of this server, or was changed: leave the item out`,
    'invalid_encrypted_content',
  );

/** An answer of the assistant whose items still come. */
interface Turn {
  readonly texts: string[];
  readonly thoughts: string[];
  readonly calls: MessageCall[];
}

class Builder {
  private readonly messages: ChatMessage[] = [];
  private readonly leftOut = new Set<string>();
  private turn: Turn | undefined;

  add(item: Item): void {
    switch (item.type) {
      case 'message':
        if (item.role === 'assistant') this.open().texts.push(this.text(item.content));
        else
          this.push({
            role: item.role === 'developer' ? 'system' : item.role,
            content: this.text(item.content),
          });
        break;
      case 'reasoning':
        if (isForeign(item)) this.leftOut.add('encrypted_content');
        this.open().thoughts.push(thoughtsOf(item));
        break;
      case 'function_call':
        this.call(item.call_id, shownName(item), item.arguments);
        break;
      case 'custom_tool_call':
        this.call(item.call_id, shownName(item), JSON.stringify({ input: item.input }));
        break;
      case 'function_call_output':
      case 'custom_tool_call_output':
        this.push({ role: 'tool', tool_call_id: item.call_id, content: this.text(item.output) });
        break;
      case 'other':
        this.addOther(item);
    }
  }

  end(): Conversation {
    this.close();
    return { messages: this.messages, leftOut: this.leftOut };
  }

  /** Calls of other tools, and their results, are shown as calls of functions. */
  private addOther({ name, raw }: OtherItem): void {
    const id = raw.call_id ?? raw.id;
    if (typeof id === 'string' && name.endsWith('_output')) {
      const { type, id: _, call_id, status, ...rest } = raw;
      const content = rest.output ?? rest;
      this.push({
        role: 'tool',
        tool_call_id: id,
        content: typeof content === 'string' ? content : json(content),
      });
    } else if (typeof raw.call_id === 'string' && name.endsWith('_call')) {
      const given = raw.action ?? raw.operation ?? raw.arguments ?? {};
      const args = typeof given === 'object' && !Array.isArray(given) ? given : { input: given };
      this.call(raw.call_id, name.slice(0, -'_call'.length), json(args));
    } else this.leftOut.add(name);
  }

  private text(content: Content): string {
    const type = unreadPart(content);
    if (type !== undefined) this.leftOut.add(type);
    return textOf(content);
  }

  private call(id: string, name: string, args: string): void {
    this.open().calls.push({ id, type: 'function', function: { name, arguments: args } });
  }

  private push(message: ChatMessage): void {
    this.close();
    this.messages.push(message);
  }

  private open(): Turn {
    this.turn ??= { texts: [], thoughts: [], calls: [] };
    return this.turn;
  }

  /** Thoughts without a text or a call are no message. */
  private close(): void {
    const { texts = [], thoughts = [], calls = [] } = this.turn ?? {};
    this.turn = undefined;
    if (texts.length === 0 && calls.length === 0) return;
    const thought = joined(thoughts);
    this.messages.push({
      role: 'assistant',
      content: joined(texts),
      ...(thought !== '' && { reasoning_content: thought }),
      ...(calls.length > 0 && { tool_calls: calls }),
    });
  }
}

const json = (value: unknown): string => stringifyJson(value) ?? 'null';

const joined = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n\n');
