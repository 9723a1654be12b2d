import type { GenerationResult, TokenLogprobs } from '@quern/runtime';
import { interleave } from './interleave.js';
import type { WatchedEvent } from './watch.js';

/** A whole answer. */
export interface Answer {
  text: string;
  thinking: string;
  readonly calls: { readonly id: string; readonly name: string; arguments: string }[];
  readonly logprobs: TokenLogprobs[];
  result: GenerationResult | undefined;
  thinkingTokens: number;
}

const nothing = (): Answer => ({
  text: '',
  thinking: '',
  calls: [],
  logprobs: [],
  result: undefined,
  thinkingTokens: 0,
});

/** All answers of a request, which are generated together. */
export async function collect(
  turns: readonly AsyncIterable<WatchedEvent>[],
): Promise<readonly (Answer & { readonly result: GenerationResult })[]> {
  const answers = turns.map(nothing);
  for await (const [index, event] of interleave(turns)) add(answers[index]!, event);
  return answers as (Answer & { readonly result: GenerationResult })[];
}

function add(answer: Answer, event: WatchedEvent): void {
  switch (event.type) {
    case 'text':
      answer.text += event.text;
      answer.logprobs.push(...(event.logprobs ?? []));
      break;
    case 'thinking':
      answer.thinking += event.text;
      break;
    case 'call':
      answer.calls.push({ id: event.id, name: event.name, arguments: '' });
      break;
    case 'arguments':
      answer.calls[event.index]!.arguments += event.text;
      break;
    case 'end':
      answer.result = event.result;
      answer.thinkingTokens = event.thinkingTokens;
  }
}
