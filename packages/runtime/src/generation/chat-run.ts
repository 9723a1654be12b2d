import { onAbort } from '@quern/core';
import type { AnswerCall } from '../chat/answer/index.js';
import type { ChatMessage } from '../chat/index.js';
import { codeOf } from '../error.js';
import { giveNotice, type NoticeListener } from '../notice.js';
import type { Production } from '../read-once.js';
import { type CallResult, type ChatPiece, type ChatResult, joinResults } from './chat-result.js';
import { ChatRound, type RoundParts } from './chat-round.js';
import type { ChatOptions, EndReason } from './generate-options.js';
import { type CallOutcome, canRun, readable, runCalls } from './run-tools.js';
import type { NamedTool } from './tool-options.js';

/** The model's services for a chat. */
export interface ChatSource<Value = unknown, Text extends string = string> {
  /** The tools that the model may call. */
  readonly tools: readonly NamedTool[];
  /** The template writes one call per message. */
  readonly oneCallPerMessage: boolean;
  readonly onNotice?: NoticeListener;
  /** Begins the answer to messages. `first`: no tool has run. */
  begin(messages: readonly ChatMessage[], first: boolean): Promise<RoundParts<Value, Text>>;
}

/** The next answer's text begins behind an empty line. */
const SEPARATOR = '\n\n';

/** What the program is told of a call. */
const shown = (outcome: CallOutcome | undefined) => {
  if (!outcome) return {};
  const { error, result } = outcome;
  return error ? { error } : { result };
};

/** A running chat: answers, and between them the tools that they call. */
export class ChatRun<Value = unknown, Text extends string = string>
  implements Production<ChatPiece, ChatResult<Value, Text>>
{
  private readonly rounds: ChatRound<Value, Text>[] = [];
  /** What became of the calls of all rounds but the last, in their order. */
  private readonly outcomes: CallOutcome[] = [];
  /** What the chat has added to the messages. */
  private readonly added: ChatMessage[] = [];
  private readonly stop = new AbortController();
  /** The last answer has ended and is among the messages. */
  private over = false;
  /** Its calls have run, and the next answer has not begun. */
  private ran = false;
  private aborted = false;

  static async begin<Value, Text extends string>(
    source: ChatSource<Value, Text>,
    messages: readonly ChatMessage[],
    options: ChatOptions,
  ): Promise<ChatRun<Value, Text>> {
    const run = new ChatRun(source, messages, options);
    await run.beginRound();
    return run;
  }

  private constructor(
    private readonly source: ChatSource<Value, Text>,
    private readonly messages: readonly ChatMessage[],
    private readonly options: ChatOptions,
  ) {}

  async next(): Promise<ChatPiece | undefined> {
    while (!this.over) {
      if (this.ran) await this.beginRound();
      const piece = await this.round.next();
      if (piece) return this.placed(piece);
      const results = await this.endRound();
      if (results) return { text: '', thinking: '', tokens: [], calls: [], results };
    }
    return undefined;
  }

  cancel(): void {
    this.stop.abort();
    this.round.cancel();
  }

  close(): void | Promise<void> {
    this.stop.abort();
    return this.round.close();
  }

  result(): ChatResult<Value, Text> {
    const { round, added } = this;
    const all = this.rounds.map((round) => round.result()).reduce(joinResults);
    return {
      ...all,
      text: this.join('text') as Text,
      thinking: this.join('thinking'),
      calls: this.calls.map((call, index) => ({ ...call, ...shown(this.outcomes[index]) })),
      reason: this.reason(all.reason),
      messages: this.over || this.ran ? added : [...added, round.message(round.calls)],
    };
  }

  private get round(): ChatRound<Value, Text> {
    return this.rounds[this.rounds.length - 1]!;
  }

  private get calls(): AnswerCall[] {
    return this.rounds.flatMap(({ calls }) => calls);
  }

  private reason(last: EndReason): EndReason {
    if (this.aborted || this.ran) return 'abort';
    return this.round.calling ? 'calls' : last;
  }

  private async beginRound(): Promise<void> {
    const { source, messages, added, options } = this;
    const parts = await source.begin([...messages, ...added], this.rounds.length === 0);
    const mostCalls = options.parallelCalls === false ? 1 : Number.POSITIVE_INFINITY;
    this.rounds.push(new ChatRound(parts, mostCalls));
    this.ran = false;
    if (this.stop.signal.aborted) this.round.cancel();
  }

  /** Runs the tools that the answer calls, and gives what became of the calls; or ends the chat. */
  private async endRound(): Promise<readonly CallResult[] | undefined> {
    const { round } = this;
    const { tools } = this.source;
    const { maxRounds = 8 } = this.options;
    const goesOn = round.calling && canRun(round.calls, tools) && this.rounds.length < maxRounds;
    const outcomes = goesOn ? await this.run(round.calls) : undefined;
    if (outcomes) {
      this.ran = true;
      this.added.push(...this.exchange(round, outcomes));
      const first = this.outcomes.length;
      this.outcomes.push(...outcomes);
      return outcomes.map((outcome, i) => {
        const { id, name } = round.calls[i]!;
        return { index: first + i, id, name, ...outcome };
      });
    }
    this.over = true;
    this.added.push(round.message(round.calls));
    return undefined;
  }

  /** Tells the program of a call without a result. What the model did wrong is no notice: it is told, and may try again. */
  private readonly report = (error: Error, call: AnswerCall): void => {
    const { onToolError } = this.options;
    if (onToolError) onToolError(error, call);
    else if (codeOf(error) !== 'BAD_CALL')
      giveNotice(
        this.source.onNotice,
        `the tool '${call.name}' failed: ${error.message}. The model is told so; \`onToolError\` gets the error`,
      );
  };

  /** The results of the tools; undefined where the caller aborts or leaves meanwhile. */
  private async run(calls: readonly AnswerCall[]): Promise<readonly CallOutcome[] | undefined> {
    const { signal } = this.options;
    const ends: ReturnType<typeof onAbort>[] = [];
    const aborted = new Promise<undefined>((resolve) => {
      const abort = () => {
        this.aborted = true;
        this.stop.abort(signal?.reason);
        resolve(undefined);
      };
      if (signal?.aborted || this.stop.signal.aborted) abort();
      else for (const each of [signal, this.stop.signal]) if (each) ends.push(onAbort(each, abort));
    });
    try {
      return this.aborted
        ? undefined
        : await Promise.race([runCalls(calls, this.source.tools, this.stop.signal, this.report), aborted]);
    } finally {
      for (const end of ends) end();
    }
  }

  /** The calls of an answer and their results as messages. */
  private exchange(round: ChatRound<Value, Text>, outcomes: readonly CallOutcome[]): ChatMessage[] {
    const calls = round.calls.map(readable);
    const answers = calls.map(({ id, name }, i) => ({
      role: 'tool',
      tool_call_id: id,
      name,
      content: outcomes[i]!.content,
    }));
    if (!this.source.oneCallPerMessage) return [round.message(calls), ...answers];
    return calls.flatMap((call, i) => {
      const message = round.message([call]);
      return [i === 0 ? message : { ...message, content: '' }, answers[i]!];
    });
  }

  /** A piece of the last answer among those before it. */
  private placed(piece: ChatPiece): ChatPiece {
    const earlier = this.rounds.slice(0, -1);
    if (earlier.length === 0) return piece;
    const first = earlier.reduce((sum, { calls }) => sum + calls.length, 0);
    const behind = (field: 'text' | 'thinking') => {
      const begins = piece[field] !== '' && this.round[field].length === piece[field].length;
      return begins && earlier.some((round) => round[field] !== '') ? SEPARATOR + piece[field] : piece[field];
    };
    const calls = piece.calls.map((call) => ({ ...call, index: first + call.index }));
    return { ...piece, text: behind('text'), thinking: behind('thinking'), calls };
  }

  private join(field: 'text' | 'thinking'): string {
    return this.rounds
      .map((round) => round[field])
      .filter((text) => text !== '')
      .join(SEPARATOR);
  }
}
