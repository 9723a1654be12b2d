import { type Block, type BlockEvent, blocksOf } from '../chat/blocks.js';
import { CustomInput, customInput } from '../chat/custom-input.js';
import { textPartLogprobs } from '../chat/logprobs.js';
import type { TurnEvent } from '../chat/turn.js';
import type { ApiError } from '../errors.js';
import { event } from '../sse.js';
import {
  begunResponse,
  calleeOf,
  endedResponse,
  failedResponse,
  idOf,
  itemOf,
  partOf,
  type ResponseOf,
} from './response-object.js';

type Named = readonly [type: string, data: object];
type Ended = ReturnType<typeof endedResponse>;

/** Writes a response as OpenAI's events, which are numbered. */
export class ResponseStream {
  private count = 0;
  private readonly blocks: Block[] = [];
  /** The text of the open call of a custom tool. */
  private input = new CustomInput();

  /** @param onEnd called before the last event, with its response */
  constructor(
    private readonly of: ResponseOf,
    private readonly onEnd: (response: Ended) => void,
  ) {}

  async *write(events: AsyncIterable<TurnEvent>): AsyncGenerator<string> {
    const response = begunResponse(this.of);
    yield this.send(['response.created', { response }]);
    yield this.send(['response.in_progress', { response }]);
    for await (const each of blocksOf(events)) for (const one of this.eventsOf(each)) yield this.send(one);
  }

  /** An error, as two events: OpenAI's clients throw at the first one, and Codex reads the second one. */
  readonly fail = (error: ApiError): string => {
    const { code, message, param } = error.body.error;
    const response = failedResponse(this.of, this.blocks, error);
    return (
      this.send(['error', { code, message, param, error: error.body.error }]) +
      this.send(['response.failed', { response }])
    );
  };

  private send([type, data]: Named): string {
    return event({ type, sequence_number: this.count++, ...data }, type);
  }

  private eventsOf(each: BlockEvent): Named[] {
    if (each.type === 'end') {
      const response = endedResponse(this.of, each.blocks, each);
      this.onEnd(response);
      return [[`response.${response.status}`, { response }]];
    }
    if (each.type === 'open') return this.opened(each.block);
    return each.type === 'delta' ? this.added(each) : this.closed(each.block, each.isCut);
  }

  private opened(block: Block): Named[] {
    this.blocks.push(block);
    this.input = new CustomInput();
    const item = itemOf(this.of, block, 'in_progress');
    const added: Named = ['response.output_item.added', { output_index: block.index, item }];
    if (block.kind === 'call') return [added];
    const part = partOf(this.of, { ...block, text: '', logprobs: [] });
    return [added, ['response.content_part.added', { ...this.place(block), part }]];
  }

  private added({ block, text, logprobs }: Extract<BlockEvent, { type: 'delta' }>): Named[] {
    if (this.isCustom(block)) return this.addedInput(block, this.input.add(text));
    const withLogprobs = block.kind === 'text' && { logprobs: textPartLogprobs(this.of.model, logprobs) };
    return [[`response.${names[block.kind]}.delta`, { ...this.place(block), delta: text, ...withLogprobs }]];
  }

  private addedInput(block: Block, delta: string): Named[] {
    return delta === '' ? [] : [['response.custom_tool_call_input.delta', { ...this.place(block), delta }]];
  }

  private closed(block: Block, isCut: boolean): Named[] {
    const item = itemOf(this.of, block, isCut ? 'incomplete' : 'completed');
    const done: Named = ['response.output_item.done', { output_index: block.index, item }];
    return [...(block.kind === 'call' ? this.closedCall(block) : this.closedText(block)), done];
  }

  private closedCall(block: Block): Named[] {
    const place = this.place(block);
    if (this.isCustom(block)) {
      const input = customInput(block.text);
      const rest = input.slice(this.input.text.length);
      return [...this.addedInput(block, rest), ['response.custom_tool_call_input.done', { ...place, input }]];
    }
    const { name } = calleeOf(this.of, block);
    return [['response.function_call_arguments.done', { ...place, name, arguments: block.text }]];
  }

  private closedText(block: Block): Named[] {
    const place = this.place(block);
    const part = partOf(this.of, block);
    const withLogprobs = part.type === 'output_text' && { logprobs: part.logprobs };
    return [
      [`response.${names[block.kind]}.done`, { ...place, text: block.text, ...withLogprobs }],
      ['response.content_part.done', { ...place, part }],
    ];
  }

  private isCustom(block: Block): boolean {
    return block.kind === 'call' && calleeOf(this.of, block).type === 'custom';
  }

  private place(block: Block): object {
    const item = { item_id: idOf(this.of, block), output_index: block.index };
    return block.kind === 'call' ? item : { ...item, content_index: 0 };
  }
}

const names = { text: 'output_text', thinking: 'reasoning_text', call: 'function_call_arguments' } as const;
