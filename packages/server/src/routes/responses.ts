import { randomUUID } from 'node:crypto';
import type { GenerationResult } from '@quern/runtime';
import { begun } from '../chat/begun.js';
import { type Block, type BlockEvent, blocksOf, isCut, wholeAnswer } from '../chat/blocks.js';
import { answer, type TurnEvent, turn } from '../chat/turn.js';
import type { Call, ServerContext } from '../context.js';
import type { ApiError } from '../errors.js';
import { generatorFor } from '../models.js';
import { samplingOptions } from '../requests/generate-options.js';
import { parse, readJson } from '../requests/parse.js';
import {
  conversationOf,
  type ResponsesRequest,
  responsesRequest,
  structureOfText,
} from '../requests/responses.js';
import { flatToolOptions } from '../requests/tools.js';
import { event, eventStream } from '../sse.js';
import { wholeJson } from '../whole.js';

/** POST /v1/responses, without a store */
export async function responses(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(responsesRequest, await readJson(request), call);
  const served = generatorFor(context.options, body.model);
  const options = {
    ...samplingOptions(body),
    ...structureOfText(body),
    ...flatToolOptions(body),
    maxTokens: body.max_output_tokens,
    signal: call.signal,
    onNotice: call.notice,
  };
  const structuredBy = body.tools?.length ? 'tools' : 'text.format';
  const events = turn(served, answer(conversationOf(body), options), context.metrics, structuredBy);
  const head = headOf(body, served.name);
  if (body.stream) {
    const numbers = new Numbers();
    return eventStream(streamOf(await begun(events, call), head, numbers), call, (error) =>
      failed(error, numbers),
    );
  }
  const whole = wholeAnswer(events).then(({ blocks, result }) => ended(head, blocks, result));
  return wholeJson(whole, call);
}

const headOf = (body: ResponsesRequest, model: string) => ({
  id: `resp_${randomUUID()}`,
  object: 'response',
  created_at: Math.floor(Date.now() / 1000),
  model,
  instructions: body.instructions ?? null,
  max_output_tokens: body.max_output_tokens ?? null,
  temperature: body.temperature ?? 1,
  top_p: body.top_p ?? 1,
  parallel_tool_calls: body.parallel_tool_calls ?? true,
  tool_choice: body.tool_choice ?? 'auto',
  tools: body.tools ?? [],
  text: { format: body.text?.format ?? { type: 'text' } },
  metadata: {},
  previous_response_id: null,
  store: false,
  error: null,
});

type Head = ReturnType<typeof headOf>;

function ended(head: Head, blocks: readonly Block[], result: GenerationResult) {
  const { promptTokens, cachedTokens, tokens } = result;
  const status = isCut(result) ? 'incomplete' : 'completed';
  return {
    ...head,
    status,
    incomplete_details: isCut(result) ? { reason: 'max_output_tokens' } : null,
    output: blocks.map((block) => item(head, block, block === blocks.at(-1) ? status : 'completed')),
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: cachedTokens },
      output_tokens: tokens.length,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: promptTokens + tokens.length,
    },
  };
}

/** A block as an item of the output; 'incomplete': the last one of a cut answer. */
function item(head: Head, block: Block, status: 'in_progress' | 'completed' | 'incomplete') {
  const id = idOf(head, block);
  const { kind, name, text } = block;
  if (kind === 'call') return { type: 'function_call', id, call_id: block.id, name, arguments: text, status };
  if (kind === 'thinking')
    return { type: 'reasoning', id, summary: [], content: [{ type: 'reasoning_text', text }], status };
  const content = status === 'in_progress' ? [] : [part(text)];
  return { type: 'message', id, role: 'assistant', content, status };
}

const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });

const prefixes = { text: 'msg', thinking: 'rs', call: 'fc' } as const;
const idOf = ({ id }: Head, { kind, index }: Block): string => `${prefixes[kind]}_${id.slice(5)}_${index}`;

/** The events of a stream are numbered. */
class Numbers {
  private count = 0;

  next(): number {
    return this.count++;
  }
}

function failed({ message, body }: ApiError, numbers: Numbers): string {
  const { code, param } = body.error;
  return event({ type: 'error', sequence_number: numbers.next(), code, message, param }, 'error');
}

async function* streamOf(
  events: AsyncIterable<TurnEvent>,
  head: Head,
  numbers: Numbers,
): AsyncGenerator<string> {
  const send = ([type, data]: Named) => event({ type, sequence_number: numbers.next(), ...data }, type);
  const begun = { ...head, status: 'in_progress', incomplete_details: null, output: [], usage: null };
  yield send(['response.created', { response: begun }]);
  yield send(['response.in_progress', { response: begun }]);
  for await (const each of blocksOf(events)) for (const one of eventsOf(each, head)) yield send(one);
}

type Named = readonly [type: string, data: object];

function eventsOf(each: BlockEvent, head: Head): Named[] {
  if (each.type === 'end') {
    const response = ended(head, each.blocks, each.result);
    return [[response.status === 'completed' ? 'response.completed' : 'response.incomplete', { response }]];
  }
  const { block } = each;
  const at = { item_id: idOf(head, block), output_index: block.index };
  const content = { ...at, content_index: 0 };
  if (each.type === 'open')
    return [
      ['response.output_item.added', { output_index: block.index, item: item(head, block, 'in_progress') }],
      ...(block.kind === 'text'
        ? [['response.content_part.added', { ...content, part: part('') }] as const]
        : []),
    ];
  if (each.type === 'delta')
    return [
      [
        `response.${names[block.kind]}.delta`,
        {
          ...(block.kind === 'call' ? at : content),
          delta: each.text,
          ...(block.kind === 'text' && { logprobs: [] }),
        },
      ],
    ];
  const done: Named[] =
    block.kind === 'call'
      ? [['response.function_call_arguments.done', { ...at, name: block.name, arguments: block.text }]]
      : [
          [
            `response.${names[block.kind]}.done`,
            { ...content, text: block.text, ...(block.kind === 'text' && { logprobs: [] }) },
          ],
        ];
  if (block.kind === 'text')
    done.push(['response.content_part.done', { ...content, part: part(block.text) }]);
  const whole = item(head, block, each.isCut ? 'incomplete' : 'completed');
  return [...done, ['response.output_item.done', { output_index: block.index, item: whole }]];
}

const names = { text: 'output_text', thinking: 'reasoning_text', call: 'function_call_arguments' } as const;
