import type { GenerationResult, PromptCounts } from '@quern/runtime';
import type { PromptEvent } from '../chat/after-prompt.js';
import { type AnswerEnd, type Block, type BlockEvent, isCut } from '../chat/blocks.js';
import { argumentsOf } from '../chat/call-arguments.js';
import { event } from '../sse.js';

type EndEvent = Extract<BlockEvent, { readonly type: 'end' }>;

/** What is the same in the first event of a stream and in a whole answer. */
export interface MessageHead {
  readonly id: string;
  readonly model: string;
  /** Whether the request has edits for its context: none is applied. */
  readonly managed: boolean;
}

const headOf = ({ id, model, managed }: MessageHead) => ({
  id,
  type: 'message',
  role: 'assistant',
  model,
  container: null,
  diagnostics: null,
  context_management: managed ? { applied_edits: [] } : null,
});

/** A whole answer. */
export const messageOf = (head: MessageHead, blocks: readonly Block[], end: AnswerEnd) => ({
  ...headOf(head),
  content: blocks.map(show),
  ...stopOf(end.result, blocks),
  usage: { ...endUsageOf(end), ...service },
});

/** Tokens: those of the prompt that the cache held count apart; writing the cache costs nothing. */
const usageOf = ({ promptTokens, cachedTokens }: PromptCounts, tokens: number, thinking: number) => ({
  input_tokens: promptTokens - cachedTokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: cachedTokens,
  output_tokens: tokens,
  output_tokens_details: { thinking_tokens: thinking },
  server_tool_use: null,
  iterations: null,
  fallback_credit: null,
});

const endUsageOf = ({ result, thinkingTokens }: AnswerEnd) =>
  usageOf(result, result.tokens.length, thinkingTokens);

/** What their types require of the usage of a message beside tokens; its last event has none of it. */
const service = {
  cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 0 },
  service_tier: 'standard',
  inference_geo: null,
  speed: null,
};

const reasons = {
  eos: 'end_turn',
  calls: 'tool_use',
  stop: 'stop_sequence',
  length: 'max_tokens',
  context: 'model_context_window_exceeded',
  abort: 'max_tokens',
} as const;

function stopOf(result: GenerationResult, blocks: readonly Block[]) {
  const calls = blocks.some(({ kind }) => kind === 'call') && !isCut(result) && result.reason !== 'abort';
  return {
    stop_reason: calls ? 'tool_use' : reasons[result.reason],
    stop_sequence: result.stop ?? null,
    stop_details: null,
  };
}

/** Theirs proves that thoughts are their model's; clients send it back, and need not understand it. */
const signature = 'quern';

function show(block: Block) {
  const { kind, id, name, text } = block;
  if (kind === 'text') return { type: 'text', text, citations: null };
  if (kind === 'thinking') return { type: 'thinking', thinking: text, signature };
  return { type: 'tool_use', id, name, input: argumentsOf(text), caller: { type: 'direct' } };
}

/** A block that opens: what it has comes in deltas, the signature too. */
const empty = (block: Block) => ({
  ...show({ ...block, text: '' }),
  ...(block.kind === 'thinking' && { signature: '' }),
});

function delta({ kind }: Block, text: string) {
  if (kind === 'text') return { type: 'text_delta', text };
  return kind === 'thinking'
    ? { type: 'thinking_delta', thinking: text, estimated_tokens: null }
    : { type: 'input_json_delta', partial_json: text };
}

const send = (type: string, data: object) => event({ type, ...data }, type);

const noStop = { stop_reason: null, stop_sequence: null, stop_details: null };

/** The events of a stream. The first one has the counts of the prompt. */
export async function* messageEvents(
  head: MessageHead,
  events: AsyncIterable<PromptEvent | BlockEvent>,
): AsyncGenerator<string> {
  for await (const each of events)
    switch (each.type) {
      case 'prompt':
        yield send('message_start', {
          message: { ...headOf(head), content: [], ...noStop, usage: { ...usageOf(each, 0, 0), ...service } },
        });
        break;
      case 'end':
        yield* endEvents(head, each);
        break;
      default:
        yield* blockEvents(each);
    }
}

function* endEvents(head: MessageHead, { blocks, ...end }: EndEvent): Generator<string> {
  const { container, context_management } = headOf(head);
  yield send('message_delta', {
    delta: { ...stopOf(end.result, blocks), container },
    usage: endUsageOf(end),
    context_management,
  });
  yield send('message_stop', {});
}

function* blockEvents(each: Exclude<BlockEvent, EndEvent>): Generator<string> {
  const { index, kind } = each.block;
  const more = (delta: object) => send('content_block_delta', { index, delta });
  if (each.type === 'open') yield send('content_block_start', { index, content_block: empty(each.block) });
  else if (each.type === 'delta') yield more(delta(each.block, each.text));
  else {
    if (kind === 'thinking') yield more({ type: 'signature_delta', signature });
    yield send('content_block_stop', { index });
  }
}
