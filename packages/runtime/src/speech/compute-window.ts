import { BackendError } from '@quern/core';
import type { WhisperModel } from '@quern/models';
import { type AudioInput, readSamples } from '../audio/read-samples.js';
import { needFiniteLogits } from '../broken-numbers.js';
import { RuntimeError } from '../error.js';
import { MelFrames } from './mel-frames.js';
import { SpeechSession } from './session.js';

/** The model's results for the first window of a sound and a few tokens. */
export interface ComputedWindow {
  /** The encoder's hidden states [n, D]. */
  readonly encoded: Float32Array;
  /** One per token, [V] each. */
  readonly logits: readonly Float32Array[];
}

/** Tokens of every Whisper vocabulary. All but the last run in one step; the last runs alone. */
const someTokens = [0, 7, 42, 3] as const;

/** Rejects with AudioError, BackendError, RuntimeError ABORTED or BAD_LOGITS. */
export async function computeWindow(
  model: WhisperModel,
  audio: AudioInput,
  signal: AbortSignal | undefined,
): Promise<ComputedWindow> {
  using session = SpeechSession.open(model, 1, undefined);
  const sequence = session.sequence();
  try {
    const mel = await MelFrames.of(await readSamples(audio, signal), model, signal);
    const window = mel.window(0, 2 * model.config.encoder.context);
    const encoded = (await session.hear(window, true, signal))!;
    const [first, last] = [someTokens.slice(0, -1), someTokens.slice(-1)];
    const together = await session.logits({ sequence, tokens: first }, [...first.keys()], signal);
    const alone = await session.logits({ sequence, tokens: last }, [0], signal);
    const logits = [...rowsOf(together, model.config.vocabulary), alone];
    await needFiniteLogits(logits, 0);
    return { encoded, logits };
  } catch (error) {
    if (signal?.aborted || (error instanceof BackendError && error.code === 'ABORTED'))
      throw new RuntimeError('ABORTED', 'computing a window was aborted', { cause: error });
    throw error;
  } finally {
    sequence.release();
  }
}

const rowsOf = (values: Float32Array, length: number): Float32Array[] =>
  Array.from({ length: values.length / length }, (_, row) => values.slice(row * length, (row + 1) * length));
