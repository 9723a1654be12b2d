/** What the progress of each long work has besides `phase`, `done` and `total`, whose unit is in parentheses. */
interface Phases {
  /**
   * Downloading a model (bytes). Bytes and files that were there before count too. `waitingFor`: the process that
   * downloads already; absent where this process does.
   */
  readonly download: {
    readonly finishedFiles: number;
    readonly files: number;
    readonly waitingFor?: number;
  };
  /** Finding and starting a backend (1). */
  readonly backend: unknown;
  /** Loading weights (bytes of the files). */
  readonly weights: unknown;
  /** Computing a prompt (tokens). */
  readonly prefill: unknown;
  /** Embedding texts (texts). `tokens`: of the finished ones. */
  readonly embed: { readonly tokens: number };
  /** Ranking texts (texts). `tokens`: of the finished ones. */
  readonly rerank: { readonly tokens: number };
  /** Transcribing (seconds of sound). `temperature`: of the attempt at the current window; absent between windows. */
  readonly transcribe: { readonly temperature?: number };
  /** Writing a quantized model (bytes of the source). */
  readonly quantize: unknown;
  /** Evaluating a text (tokens). */
  readonly perplexity: unknown;
}

/** A kind of long work. */
export type Phase = keyof Phases;

/** Progress of a long work: `done` of `total`. The unit is the phase's. */
export type Progress<P extends Phase = Phase> = {
  [Name in P]: Phases[Name] & { readonly phase: Name; readonly done: number; readonly total: number };
}[P];

/** Called with the progress of calls that have these phases. */
export type ProgressListener<P extends Phase = Phase> = (progress: Progress<P>) => void;
