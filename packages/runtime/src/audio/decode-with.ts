import module from 'node:module';
import { pathToFileURL } from 'node:url';
import { here } from '../here.js';
import { type Decoded, type DecodeJob, decodeInThread } from './decoder-thread.js';
import { AudioError } from './error.js';

/** A coding that an optional package decodes. */
export interface Coding {
  readonly name: string;
  /** The package, and the class of its decoder. */
  readonly package: string;
  readonly decoder: string;
}

/** Most samples of a sound: what one buffer of 2 GiB holds, nine hours at 16 kHz. */
const maxSamples = 2 ** 29 - 1;

/**
 * The sound of a file, decoded in a separate thread.
 * @param from source of the bytes, for messages
 * @throws AudioError DECODER_MISSING, DECODER_FAILED, DECODE_FAILED or TOO_LARGE; the signal's reason
 */
export async function decodeWith(
  coding: Coding,
  { pieces, options }: Pick<DecodeJob, 'pieces' | 'options'>,
  from: string,
  signal: AbortSignal | undefined,
): Promise<Decoded> {
  const url = decoderModule(coding, from);
  const job = { module: url, decoder: coding.decoder, pieces, maxSamples, ...(options && { options }) };
  const answer = await decodeInThread(job, signal);
  if ('unusable' in answer)
    throw new AudioError(
      'DECODER_FAILED',
      `${from}: ${coding.name} is decoded by ${coding.package}, which is installed but does not work: ${answer.unusable}`,
    );
  if ('broken' in answer) throw broken(coding, from, answer.broken);
  if ('tooLong' in answer)
    throw new AudioError(
      'TOO_LARGE',
      `${from}: has more than ${maxSamples} samples; split it into shorter files`,
    );
  return answer.decoded;
}

/** URL of the decoder package, resolved from this package. */
function decoderModule(coding: Coding, from: string): string {
  try {
    return pathToFileURL(module.createRequire(here).resolve(coding.package)).href;
  } catch (cause) {
    throw new AudioError(
      'DECODER_MISSING',
      `${from}: ${coding.name} is decoded by a package that is not installed: npm install ${coding.package}`,
      { cause },
    );
  }
}

export const broken = ({ name }: Pick<Coding, 'name'>, from: string, fault: string): AudioError =>
  new AudioError('DECODE_FAILED', `${from}: the ${name} data is broken or cut off: ${fault}`);
