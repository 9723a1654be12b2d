import { wavFile } from '../../runtime/test/audio/sound-files.js';

/** A second of a tone, as a WAV file of 16 kHz. */
export const tone = (): Buffer =>
  wavFile([Array.from({ length: 16_000 }, (_, i) => 0.27 * Math.sin(i / 7))], { bits: 16 });
