/** Where a load goes, and what each request asks. */
export interface Target {
  /** Up to and with '/v1'. */
  readonly url: string;
  readonly model: string | undefined;
  readonly key: string | undefined;
  readonly chat: boolean;
}

/** One request of a load. */
export interface Planned {
  readonly prompt: string;
  readonly tokens: number;
  /** Milliseconds after its start at which the client leaves; undefined: it stays. */
  readonly leavesAfter: number | undefined;
  /** A body that no server should accept. */
  readonly malformed: boolean;
}

/** What became of a request. Times in milliseconds, from its planned arrival. */
export interface Outcome {
  /** 'ok', 'left' (as planned), 'refused' (malformed, as it should be), or what went wrong. */
  readonly end: string;
  readonly firstToken: number | undefined;
  readonly gaps: readonly number[];
  readonly total: number;
  readonly tokens: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
}

interface Usage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number };
}

/** Notes the times of one request. */
class Watch {
  firstToken: number | undefined;
  readonly gaps: number[] = [];
  pieces = 0;
  usage: Usage = {};
  private last = 0;

  constructor(private readonly planned: number) {}

  get elapsed(): number {
    return performance.now() - this.planned;
  }

  piece(): void {
    const now = this.elapsed;
    if (this.firstToken === undefined) this.firstToken = now;
    else this.gaps.push(now - this.last);
    this.last = now;
    this.pieces++;
  }

  outcome(end: string): Outcome {
    const { usage, firstToken, gaps, pieces } = this;
    return {
      end,
      firstToken,
      gaps,
      total: this.elapsed,
      tokens: usage.completion_tokens ?? pieces,
      promptTokens: usage.prompt_tokens ?? 0,
      cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    };
  }
}

/** @param arrival `performance.now()` at which the request was planned: a late start counts */
export async function request(target: Target, planned: Planned, arrival: number): Promise<Outcome> {
  const watch = new Watch(arrival);
  const abort = new AbortController();
  const timer =
    planned.leavesAfter === undefined ? undefined : setTimeout(() => abort.abort(), planned.leavesAfter);
  try {
    return watch.outcome(await stream(target, planned, watch, abort.signal));
  } catch (error) {
    return watch.outcome(abort.signal.aborted ? 'left' : `connection: ${causeOf(error)}`);
  } finally {
    clearTimeout(timer);
  }
}

async function stream(target: Target, planned: Planned, watch: Watch, signal: AbortSignal): Promise<string> {
  const response = await fetch(`${target.url}/${target.chat ? 'chat/completions' : 'completions'}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(target.key !== undefined && { authorization: `Bearer ${target.key}` }),
    },
    body: JSON.stringify(bodyOf(target, planned)),
    signal,
  });
  if (!response.ok) {
    await response.body?.cancel();
    const isRefused = planned.malformed && response.status >= 400 && response.status < 500;
    return isRefused ? 'refused' : `status ${response.status}`;
  }
  if (planned.malformed) return 'accepted a malformed request';
  return readEvents(response, watch);
}

function bodyOf({ model, chat }: Target, { prompt, tokens, malformed }: Planned): object {
  return {
    model,
    ...(chat ? { messages: [{ role: 'user', content: prompt }] } : { prompt }),
    max_tokens: malformed ? 'many' : tokens,
    stream: true,
    stream_options: { include_usage: true },
    ignore_eos: true,
  };
}

async function readEvents(response: Response, watch: Watch): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const events = text.split('\n\n');
    text = events.pop()!;
    for (const event of events) {
      const end = readEvent(event, watch);
      if (end !== undefined) return end;
    }
  }
  return 'the stream ended without [DONE]';
}

/** How the stream ended; undefined: it goes on. */
function readEvent(event: string, watch: Watch): string | undefined {
  const line = event.split('\n').find((each) => each.startsWith('data:'));
  const data = line?.slice('data:'.length).trim();
  if (!data) return undefined;
  if (data === '[DONE]') return 'ok';
  try {
    return takeChunk(JSON.parse(data), watch);
  } catch {
    return 'an event that is not JSON';
  }
}

interface Chunk {
  readonly error?: { readonly message?: string };
  readonly usage?: Usage | null;
  readonly choices?: readonly {
    readonly text?: string;
    readonly delta?: { readonly content?: string | null };
  }[];
}

function takeChunk({ error, usage, choices = [] }: Chunk, watch: Watch): string | undefined {
  if (error) return `error: ${error.message ?? 'without a message'}`;
  if (usage) watch.usage = usage;
  const [choice] = choices;
  if (choice?.text || choice?.delta?.content) watch.piece();
  return undefined;
}

const causeOf = (error: unknown): string => {
  const { cause, message } = error as Error & { readonly cause?: { readonly code?: string } };
  return cause?.code ?? message;
};
