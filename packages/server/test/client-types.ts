import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const path = fileURLToPath(new URL('emitted.ts', import.meta.url));

/** What a server sent, and its type in OpenAI's or Anthropic's client. */
export interface Sent {
  /** As in `OpenAI.Chat.ChatCompletion`. */
  readonly type: string;
  readonly value: object;
}

/**
 * The clients, the fields that this server adds to their types, and the types that the clients lack: a part of a
 * completion, a response as it is sent. Anthropic's fields of its beta are in all answers.
 */
const head = `
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

type OrNull<T, K extends keyof T> = Omit<T, K> & { [P in K]: T[P] | null };
type Timings = { timings?: Record<string, number> };
type Progress = { prompt_progress?: { total: number; cache: number; processed: number; time_ms: number } };
type Thoughts = { reasoning?: string; reasoning_content?: string };
type Cut = { cut_prompt_tokens?: number };

declare module 'openai/resources/chat/completions/completions' {
  interface ChatCompletion extends Timings {}
  interface ChatCompletionMessage extends Thoughts {}
  interface ChatCompletionChunk extends Timings, Progress {}
  namespace ChatCompletionChunk {
    namespace Choice {
      interface Delta extends Thoughts {}
    }
  }
}

declare module 'openai/resources/completions' {
  interface Completion extends Timings, Progress {}
}
type CompletionChunk = Omit<OrNull<OpenAI.Completion, 'usage'>, 'choices'> & {
  choices: OrNull<OpenAI.CompletionChoice, 'finish_reason'>[];
};

declare module 'openai/resources/responses/responses' {
  interface Response {
    max_tool_calls?: number | null;
    store?: boolean;
  }
  interface ResponseCustomToolCall {
    status?: 'in_progress' | 'completed' | 'incomplete';
  }
  interface ResponseErrorEvent {
    error?: OpenAI.ErrorObject;
  }
  interface WebSearchTool {
    external_web_access?: boolean;
    search_content_types?: string[];
  }
  namespace ResponseTextDeltaEvent {
    interface Logprob {
      bytes?: number[];
    }
    namespace Logprob {
      interface TopLogprob {
        bytes?: number[];
      }
    }
  }
  namespace ResponseTextDoneEvent {
    interface Logprob {
      bytes?: number[];
    }
    namespace Logprob {
      interface TopLogprob {
        bytes?: number[];
      }
    }
  }
}
type TooLong = { code: 'context_length_exceeded'; message: string };
type Response = Omit<OpenAI.Responses.Response, 'output_text' | 'usage' | 'error'> & {
  usage: OpenAI.Responses.ResponseUsage | null;
  error: OpenAI.Responses.ResponseError | TooLong | null;
};
type WithResponse<T> = T extends { response: unknown } ? Omit<T, 'response'> & { response: Response } : T;
type ResponseEvent = WithResponse<OpenAI.Responses.ResponseStreamEvent>;

declare module 'openai/resources/models' {
  interface Model {
    kind?: 'generation' | 'embedding' | 'speech';
    max_model_len?: number;
    context_length?: number;
    context_window?: number;
    max_context_length?: number;
    meta?: Record<string, number> | null;
    backend?: string;
    plan?: object[];
    alias_of?: string;
    state?: string;
    status?: { value: string; failed?: true };
    architecture?: { input_modalities: readonly string[]; output_modalities: readonly string[] };
  }
}

declare module 'openai/resources/audio/transcriptions' {
  interface Transcription extends Cut {}
  interface TranscriptionVerbose extends Cut {
    task?: 'transcribe';
  }
  interface TranscriptionTextDeltaEvent {
    start?: number;
    end?: number;
  }
}
declare module 'openai/resources/audio/translations' {
  interface Translation extends Cut {
    usage?: OpenAI.Audio.Transcription.Duration;
  }
  interface TranslationVerbose extends Cut {
    task?: 'translate';
    usage?: OpenAI.Audio.Transcription.Duration;
    words?: OpenAI.Audio.TranscriptionWord[];
  }
}

type Managed = { context_management?: Anthropic.Beta.BetaContextManagementResponse | null };
type BetaUsage = { iterations?: null; fallback_credit?: null };
type Page<T> = { data: T[]; has_more: boolean; first_id: string | null; last_id: string | null };
declare module '@anthropic-ai/sdk/resources/messages/messages' {
  interface Message extends Managed {}
  interface RawMessageDeltaEvent extends Managed {}
  interface MessageTokensCount extends Managed {}
  interface Usage extends BetaUsage {}
  interface MessageDeltaUsage extends BetaUsage {}
  interface ThinkingDelta {
    estimated_tokens?: null;
  }
}
declare module '@anthropic-ai/sdk/resources/models' {
  interface ModelInfo {
    allowed_fallback_models?: null;
  }
}
`;

/**
 * Faults that the compiler finds in values as literals of their types: what is missing, what has another type, and what
 * the type lacks. One program checks all values: it takes seconds. Of values that differ in numbers and texts alone it
 * gets one.
 */
export function faultsOf(sent: readonly Sent[]): string[] {
  const different = new Map(sent.map((each) => [shapeOf(each), each]));
  const lines = [...different.values()].map(
    ({ type, value }, i) => `const v${i}: ${type} = ${JSON.stringify(value)};`,
  );
  return compile(`${head}${lines.join('\n')}`);
}

/** A value without its numbers and texts; what may be a word of an enumeration stays. */
const shapeOf = ({ type, value }: Sent): string =>
  type +
  JSON.stringify(value, (_, each) => {
    if (typeof each === 'number') return 0;
    return typeof each === 'string' && !/^[a-z]+([._][a-z]+)*$/.test(each) ? '' : each;
  });

const options: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ESNext,
  lib: ['lib.esnext.d.ts'], // without the types of browsers: half the time
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: [],
};

/** @returns the faults, each with its line */
function compile(source: string): string[] {
  const lines = source.split('\n');
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.fileExists = (name) => name === path || ts.sys.fileExists(name);
  host.getSourceFile = (name, target) =>
    name === path ? ts.createSourceFile(name, source, target, true) : read(name, target);
  const program = ts.createProgram([path], options, host);
  const file = program.getSourceFile(path)!;
  const faults = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
  return faults.map(({ messageText, start = 0 }) => {
    const { line } = file.getLineAndCharacterOfPosition(start);
    return `${ts.flattenDiagnosticMessageText(messageText, '\n')}\n${lines[line]}`;
  });
}
