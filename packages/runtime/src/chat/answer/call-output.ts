import { randomInt } from 'node:crypto';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Nine letters and digits: the only form that Mistral's templates take. */
export const newCallId = (): string =>
  Array.from({ length: 9 }, () => alphabet[randomInt(alphabet.length)]).join('');

/** A tool, as far as the parsers need it. */
export interface AnswerTool {
  readonly name: string;
  /** JSON schema of the arguments. */
  readonly parameters?: unknown;
  /** Formats of its schema that cannot be enforced are refused. */
  readonly strict?: boolean | undefined;
}

/** Takes what the readers of calls find. */
export interface CallSink {
  text(text: string): void;
  /** A call begins; the arguments that follow are its own. */
  call(name: string): void;
  arguments(text: string): void;
  /** Only white space has come since a call. */
  readonly behindCall: boolean;
  /** The tools that may be called; undefined: not known. */
  readonly tools: readonly AnswerTool[] | undefined;
}

/** Whether text without marks around it may be a call of `name`. */
export const isTool = ({ tools }: CallSink, name: string): boolean =>
  !tools || tools.some((tool) => tool.name === name);

/** Reads calls, from behind the mark that announces them. */
export interface CallReader {
  /** True where the reader takes no more text. */
  readonly ended: boolean;
  /** What the reader took that belongs to no call, not even to its marks: text of the answer. */
  readonly rest: string;
  /** Takes text from `at` on; returns where the text begins that it did not take: `text.length` unless `ended`. */
  read(text: string, at: number): number;
  /** The answer ends here. */
  end?(): void;
}
