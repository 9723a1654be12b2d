import type { Naming } from '../weights/weight-file.js';

/** What files call the architecture. */
export const speechNames: Readonly<Record<Naming, readonly string[]>> = {
  gguf: ['whisper'],
  huggingFace: ['WhisperForConditionalGeneration', 'whisper'],
};
