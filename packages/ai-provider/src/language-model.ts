import { randomUUID } from 'node:crypto';
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3StreamResult,
  SharedV3Warning,
} from '@ai-sdk/provider';
import type { ChatGeneration, ChatResult, Model } from '@quern/runtime';
import { chatOptions } from './language-options.js';
import { chatMessages } from './messages.js';
import { StreamParts } from './stream-parts.js';
import { finishReasonOf, noUsage, usageOf } from './usage.js';

/** A chat model of the runtime for `generateText`, `streamText` … */
export class QuernLanguageModel implements LanguageModelV3 {
  readonly specificationVersion = 'v3';
  readonly supportedUrls = {};

  constructor(
    readonly provider: string,
    readonly modelId: string,
    private readonly model: Model,
  ) {}

  async doGenerate(call: LanguageModelV3CallOptions): Promise<LanguageModelV3GenerateResult> {
    const { generation, warnings } = this.begin(call);
    const result = await generation.result;
    call.abortSignal?.throwIfAborted();
    return {
      content: contentOf(result),
      finishReason: finishReasonOf(result),
      usage: usageOf(result),
      response: this.metadata(),
      warnings,
    };
  }

  /** Generates as the stream is read; cancelling the stream ends the generation. */
  async doStream(call: LanguageModelV3CallOptions): Promise<LanguageModelV3StreamResult> {
    const { generation, warnings } = this.begin(call);
    return { stream: ReadableStream.from(this.parts(generation, warnings, call.abortSignal)) };
  }

  private begin(call: LanguageModelV3CallOptions) {
    const { options, warnings } = chatOptions(call);
    return { generation: this.model.chat(chatMessages(call.prompt), options), warnings };
  }

  private async *parts(
    generation: ChatGeneration,
    warnings: SharedV3Warning[],
    signal: AbortSignal | undefined,
  ): AsyncGenerator<LanguageModelV3StreamPart, void, undefined> {
    yield { type: 'stream-start', warnings };
    yield { type: 'response-metadata', ...this.metadata() };
    const parts = new StreamParts();
    try {
      for await (const piece of generation) yield* parts.next(piece);
      const result = await generation.result;
      signal?.throwIfAborted();
      yield* parts.close();
      yield { type: 'finish', finishReason: finishReasonOf(result), usage: usageOf(result) };
    } catch (error) {
      signal?.throwIfAborted();
      yield { type: 'error', error };
      yield { type: 'finish', finishReason: { unified: 'error', raw: undefined }, usage: noUsage };
    }
  }

  private metadata() {
    return { id: `quern-${randomUUID()}`, timestamp: new Date(), modelId: this.modelId };
  }
}

function contentOf({ thinking, text, calls }: ChatResult): LanguageModelV3Content[] {
  return [
    ...(thinking === '' ? [] : [{ type: 'reasoning' as const, text: thinking }]),
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(({ id, name, arguments: input }) => ({
      type: 'tool-call' as const,
      toolCallId: id,
      toolName: name,
      input,
    })),
  ];
}
